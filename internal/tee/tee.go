package tee

import (
	"context"
	"io"
	"os"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/proc"
	"github.com/claude-agent-go/claude/internal/secret"
)

// Session is a program, its connections, and the place of its recording.
type Session struct {
	// Path, Args, Env and Dir are as in [proc.Command].
	Path string
	Args []string
	Env  []string
	Dir  string

	// Stdin, Stdout and Stderr are our side. Stdin and Stdout are closed when
	// the child closes its end, if they can be.
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer

	// Signals are passed on to the child.
	Signals <-chan os.Signal

	// Recording gets one line with each call.
	Recording io.Writer
	// Secrets are left out of the recording; nil leaves nothing out.
	Secrets *secret.Set
}

// Result is how a session ended.
type Result struct {
	// Code is the exit code; with a Signal that of a shell, 128 and its number.
	Code int
	// Signal is the signal that ended the child, nil if it exited.
	Signal os.Signal
	// Recording is the error of the recording, nil if it is complete.
	Recording error
}

// Run starts the program and returns when it has ended and everything it wrote
// has been passed on. An error means that it could not be started; then nothing
// was recorded. A read of Stdin may still be under way when Run returns.
func Run(ctx context.Context, s *Session) (*Result, error) {
	rec := newRecorder(s.Recording, s.Secrets)
	rec.argv(append([]string{s.Path}, s.Args...))
	p, err := proc.Start(ctx, &proc.Command{
		Path: s.Path, Args: s.Args, Env: s.Env, Dir: s.Dir,
		StderrTo: &tap{rec: rec, dir: dirStderr, next: s.Stderr},
	})
	if err != nil {
		return nil, err
	}
	rec.start()
	over := make(chan struct{})
	go s.passIn(p, rec)
	go s.passSignals(p, over)
	s.passOut(p, rec)
	_ = p.Wait() // how it ended is in the state
	close(over)
	r := &Result{Code: -1}
	if state := p.State(); state != nil {
		r.Code, r.Signal = outcome(state)
	}
	rec.exit(r)
	r.Recording = rec.close()
	return r, nil
}

// chunk is how much is passed on at once.
const chunk = 64 << 10

// passIn passes our input on, and its end.
func (s *Session) passIn(p *proc.Process, rec *recorder) {
	to := &tap{rec: rec, dir: claudetest.DirIn, next: p}
	if _, err := io.CopyBuffer(to, onlyReader{s.Stdin}, make([]byte, chunk)); err != nil {
		// The child wants no more: our writer should know.
		closeIfPossible(s.Stdin)
	}
	rec.end(claudetest.DirIn)
	_ = p.CloseWrite() // it may be closed already
}

// passOut passes the output on until it ends.
func (s *Session) passOut(p *proc.Process, rec *recorder) {
	to := &tap{rec: rec, dir: claudetest.DirOut, next: s.Stdout}
	if _, err := io.CopyBuffer(to, onlyReader{p}, make([]byte, chunk)); err != nil {
		p.CloseRead()
	}
	rec.end(claudetest.DirOut)
	closeIfPossible(s.Stdout)
}

func closeIfPossible(v any) {
	if c, ok := v.(io.Closer); ok {
		_ = c.Close() // there is no one to report it to
	}
}

// onlyReader hides other methods, so that every byte goes through our buffer.
type onlyReader struct{ io.Reader }

// passSignals passes signals on until the child is gone.
func (s *Session) passSignals(p *proc.Process, over <-chan struct{}) {
	for {
		select {
		case sig, ok := <-s.Signals:
			if !ok {
				return
			}
			_ = p.Signal(sig) // a child that is gone needs none
		case <-over:
			return
		}
	}
}

// tap passes bytes on and notes those that went through.
type tap struct {
	rec  *recorder
	dir  claudetest.Dir
	next io.Writer
}

func (t *tap) Write(b []byte) (int, error) {
	// Noted first: a reply must not be in the recording before its request.
	t.rec.record(t.dir, b)
	return t.next.Write(b)
}
