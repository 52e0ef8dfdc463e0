package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/ndjson"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/internal/wire"
	"github.com/claude-agent-go/claude/store"
)

// Bounds of the steps that end a session. A child process has bounds of its
// own; these hold for a user's Conn that does not.
const (
	readBound        = 5 * time.Second  // from the exit to the end of the output
	exitBound        = 5 * time.Second  // from the end of the output to the exit
	inputBound       = 1 * time.Second  // for closing stdin
	stopBound        = 20 * time.Second // for Stop
	brokenInputBound = 2 * time.Second  // from a failed write to the exit that explains it
)

// read starts reading the CLI's output.
func (s *Session) read() {
	r := ndjson.NewReader(s.conn)
	r.Limit = s.opts.Limits.Line
	r.ShortLived = wire.IsPartialMessage
	r.BeforeRead = func() {
		s.inbox.Flush()
		s.inbox.Throttle()
	}
	r.PauseLikely = func() bool { return !s.inbox.NeedsControl() }
	r.OnLongLine = func(size int) { s.log.Warn("a line has no end yet", "bytes", size) }
	s.peer.Serve(r, s.outputEnded)
}

// outputEnded is called at the end of the CLI's output. A process that then does not
// end by itself is stopped.
func (s *Session) outputEnded(err error) {
	err = s.lastLine(err)
	s.life.outputErr = err
	s.inbox.Flush() // what came with the end
	close(s.life.outputEnd)
	if errors.Is(err, peer.ErrFlood) || !waited(s.life.exited, exitBound) {
		s.log.Warn("the CLI is not read any more but still runs", "error", err)
		s.stop()
		waited(s.life.exited, inputBound) // Stop has returned, but watch may not have noticed
	}
	s.finish()
}

// lastLine delivers the last line of the output if only its line feed is
// missing: the line is a whole object, and the CLI exited with code 0. That is
// not an error. A line that was cut off may also look whole, so any other exit
// stays an error.
func (s *Session) lastLine(err error) error {
	cut, ok := errors.AsType[*ndjson.TruncatedError](err)
	if !ok {
		return err
	}
	line := cut.Line
	cut.Line = nil // because the error may be kept for long
	if !bytes.HasPrefix(line, []byte("{")) || !json.Valid(line) {
		return err
	}
	if !waited(s.life.exited, exitBound) || s.life.exitErr != nil {
		return err
	}
	s.log.Debug("the last line has no line feed")
	s.peer.RouteLastLine(line)
	return nil
}

// watch waits for the process to exit. If its output then does not end, watch
// cuts it.
func (s *Session) watch() {
	s.life.exitErr = s.conn.Wait()
	close(s.life.exited)
	if !waited(s.life.outputEnd, readBound) {
		s.log.Warn("the CLI has ended but its output has not")
		s.stop()
		waited(s.life.outputEnd, inputBound)
	}
	s.finish()
}

// stop stops the CLI, in bounded time whatever the Conn does.
func (s *Session) stop() {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		if err := s.conn.Stop(); err != nil {
			s.log.Error("the CLI could not be stopped", "error", err)
		}
	}()
	if !waited(stopped, stopBound) {
		s.log.Error("the CLI could not be stopped in time")
	}
}

// waited waits for a channel to be closed, at most d unless d is NoTimeout.
func waited(c <-chan struct{}, d time.Duration) bool {
	if d == NoTimeout {
		<-c
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	}
}

// shutdown ends the session because of cause. It does not wait.
func (s *Session) shutdown(cause error) {
	s.life.shutdown.Do(func() {
		idle := !s.inbox.Busy() && s.peer.Undecided() == 0
		s.mu.Lock()
		s.life.stopCause = cause
		idle = idle && s.life.state >= StateRunning
		s.life.cutOff = !idle
		s.mu.Unlock()
		s.peer.Close(cause)
		go s.runStopLadder(idle)
		go s.killLate()
	})
}

// runStopLadder runs the stop ladder: the end of stdin, patience, then Stop. A CLI
// that is at work or awaits an answer is stopped first, with its stdin open. At the
// end of stdin it would finish its turn, take an open question for a denied one, and
// call the model with that.
func (s *Session) runStopLadder(idle bool) {
	s.conn.Note() // whose shells they are, before the CLI ends them
	// The CLI may have read an answer and ended its turn before we know that the
	// answer is written. An answer still being written after that will never be read.
	idle = idle && waited(s.peer.Written(), inputBound)
	if !idle {
		s.stop()
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		s.closeInput()
	}()
	waited(closed, inputBound)
	if idle && !waited(s.life.exited, s.opts.Timeouts.Close) {
		s.stop()
	}
	close(s.life.ladderEnd)
	// From either end on, watch or read brings the session to its end and cuts
	// whatever does not end by itself.
	if !waited(s.life.exited, inputBound) && !waited(s.life.outputEnd, readBound) {
		s.finish() // for a Conn that keeps none of its promises
	}
}

// killLate kills a CLI that is still there when Timeouts.Kill is over, on whichever step
// of the stop ladder that is.
func (s *Session) killLate() {
	if d := s.opts.Timeouts.Kill; d > 0 && !waited(s.life.exited, d) {
		s.log.Warn("the CLI has not ended in time, killing it", "after", d)
		s.kill()
	}
}

// wasCutOff reports whether we have ended the session in the middle of a turn.
func (s *Session) wasCutOff() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.life.cutOff
}

// inputBroken is called when nothing more can be written. Mostly the CLI is about
// to exit, and its exit is the better reason; if it lives on, it can neither be
// asked nor answered, so the session ends.
func (s *Session) inputBroken(err error) {
	if s.life.inputClosed.Load() {
		return
	}
	go func() {
		if !waited(s.life.exited, brokenInputBound) {
			s.shutdown(fmt.Errorf("claude: the CLI no longer accepts input: %w", err))
		}
	}()
}

func (s *Session) closeInput() {
	s.life.inputClosed.Store(true)
	if err := s.conn.CloseWrite(); err != nil {
		s.log.Debug("closing stdin", "error", err)
	}
}

// finish settles how the session ended and wakes all waiters. If the stop
// ladder ran, it has ended before. A second caller returns at once: a lock
// would be held across waits.
func (s *Session) finish() {
	if s.life.finished.Swap(true) {
		return
	}
	s.mu.Lock()
	stopping, wanted := s.life.stopCause != nil, s.life.aborted
	s.mu.Unlock()
	if stopping {
		<-s.life.ladderEnd
	}
	cause, stream := s.judge()
	if err := s.lastFlush(); err != nil {
		cause, wanted = errors.Join(cause, err), false
		if stream == io.EOF || stream == ErrClosed {
			stream = err
		}
	}
	s.life.cause = cause
	switch {
	case cause == nil:
		s.setState(StateStopped)
	case wanted:
		s.setState(StateFailed)
		s.log.Info("session aborted", "cause", cause)
	default:
		s.setState(StateFailed)
		s.log.Error("session failed", "error", cause)
	}
	s.inbox.Close(stream)
	if stream == io.EOF {
		stream = &ProcessError{Stderr: s.conn.StderrTail()} // too early for a pending call
	}
	s.peer.Close(stream)
	s.running.deadlines.stop()
	s.mcp.close(stream)
	if err := s.removeFiles(); err != nil {
		s.log.Warn("temporary files could not be removed", "error", err)
	}
	s.trace.end(cause)
	close(s.life.done)
}

// judge returns the error for Wait, nil for an orderly end, and the error for
// readers of the stream, io.EOF for an orderly end that was not ours.
func (s *Session) judge() (cause, stream error) {
	s.mu.Lock()
	stopped, early := s.life.stopCause, s.start.earlyResult
	s.mu.Unlock()
	exit, readErr := s.endErrors()
	if stopped != nil {
		if errors.Is(stopped, ErrClosed) && !errors.Is(readErr, errUnended) {
			return nil, ErrClosed
		}
		return errors.Join(stopped, readErr), stopped
	}
	if exit == nil && readErr == nil && early == nil {
		return nil, io.EOF
	}
	if exit == nil {
		exit = new(ProcessError)
	}
	if exit.Stderr == "" {
		exit.Stderr = s.conn.StderrTail()
	}
	exit.Result = early
	exit.Err = errors.Join(exit.Err, readErr)
	return exit, exit
}

// errUnended is in the error of a Conn that could not be ended.
var errUnended = errors.New("could not be ended")

// endErrors returns how the process and its output ended; nil means in good
// order.
func (s *Session) endErrors() (exit *ProcessError, read error) {
	select {
	case <-s.life.exited:
		exit = exitFailure(s.life.exitErr)
	default:
		return &ProcessError{ExitCode: -1}, errUnended
	}
	select {
	case <-s.life.outputEnd:
		return exit, s.life.outputErr
	default:
		return exit, errUnended
	}
}

// Close ends the session and its process and returns when both are gone, in
// bounded time. Callbacks are cancelled but not waited for. Close may be
// called more than once, concurrently, and from callbacks. It returns an error
// only if the process could not be ended, or if something could not be stored
// (a [*store.NotStoredError]).
func (s *Session) Close() error {
	s.shutdown(ErrClosed)
	<-s.life.done // every step on the way is bounded
	s.trace.settleAtEnd()
	if errors.Is(s.life.cause, errUnended) || errors.Is(s.life.cause, store.ErrNotStored) {
		return s.life.cause
	}
	return nil
}

// strayOutput returns the kept output, and the rest of a line that was cut by
// the end of the output.
func (s *Session) strayOutput() string {
	s.odd.mu.Lock()
	lines := append([]string(nil), s.odd.stray...)
	s.odd.mu.Unlock()
	select {
	case <-s.life.outputEnd:
		if cut, ok := errors.AsType[*ndjson.TruncatedError](s.life.outputErr); ok && !s.start.messageSeen.Load() {
			lines = append(lines, s.odd.head(cut.Head, maxStray/4))
		}
	default:
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// noResult is ErrNoResult with the CLI's output that is not JSON.
func (s *Session) noResult() error {
	if output := s.strayOutput(); output != "" {
		return fmt.Errorf("%w: it wrote: %s", ErrNoResult, output)
	}
	return ErrNoResult
}
