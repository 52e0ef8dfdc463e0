package claude

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/claude-agent-go/claude/internal/inbox"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/message"
)

// Run sends a prompt when you range over it and yields the CLI's messages up to
// the result of that prompt, which is the last one. Messages left unread before
// come first. A result that is an error is yielded and then followed by (nil,
// *ResultError).
//
// The result of the prompt may not be the final answer: the CLI answers a
// subagent that works in the background in a later turn. Run leaves that turn
// to the next reader; [Session.RunUntilIdle] also reads it.
//
// Leaving the loop, by break, return, panic or because ctx has ended, ends the
// turn: it is interrupted, or removed from the queue if it has not begun, and
// the rest of it is dropped. A turn that also answers a prompt from another
// Send continues for that prompt. The session stays usable.
//
// You can range over the stream once; a second time it yields ErrUsed. It
// yields ErrBusy while the message stream has another reader.
func (s *Session) Run(ctx context.Context, prompt string) iter.Seq2[message.Message, error] {
	return s.run(ctx, &exchange{session: s}, message.NewUser(message.Text(prompt)))
}

// RunMessage is like Run with a prompt of any content, as in
// [Session.SendMessage]. A UUID set in m becomes its id. If the session was
// resumed and has answered that prompt before, the stream ends with
// ErrAnswered.
func (s *Session) RunMessage(ctx context.Context, m *message.User) iter.Seq2[message.Message, error] {
	return s.run(ctx, &exchange{session: s}, m)
}

// RunUntilIdle is like Run, but does not stop at the result of the prompt
// while background agents or workflows are working. It yields everything until
// all of them are done and the CLI has answered them. The last result is then
// the answer; if it is an error, (nil, *ResultError) comes last. It does not
// wait for background shell commands.
//
// Leaving the loop also stops the agents, unless that would stop the work on a
// prompt from another Send. CLIs before 2.1.325 never answer background
// agents; with them, RunUntilIdle is the same as Run.
func (s *Session) RunUntilIdle(ctx context.Context, prompt string) iter.Seq2[message.Message, error] {
	return s.run(ctx, &exchange{session: s, untilIdle: true}, message.NewUser(message.Text(prompt)))
}

// run sends a prompt and yields its answer.
func (s *Session) run(ctx context.Context, e *exchange, prompt *message.User) iter.Seq2[message.Message, error] {
	var used atomic.Bool
	return func(yield func(message.Message, error) bool) {
		if used.Swap(true) {
			yield(nil, ErrUsed)
			return
		}
		if !s.inbox.Acquire() {
			yield(nil, ErrBusy)
			return
		}
		defer s.inbox.Release()
		id, err := s.SendMessage(ctx, prompt)
		if err != nil {
			yield(nil, err)
			return
		}
		e.id = id
		e.follow(ctx, yield)
	}
}

// decode turns a frame into a message. A frame that is not a message is reported
// and skipped; one with odd fields is reported and delivered.
func (s *Session) decode(it *inbox.Item) message.Message {
	m, err := message.DecodeAs(it.Frame.Type, it.Frame.Subtype, it.Frame.Line)
	if err == nil {
		if path := message.Missing(m); path != "" {
			err = fmt.Errorf("message: %s: %s is missing", cmp.Or(it.Frame.Type, "line"), path)
		}
	}
	if err != nil {
		s.odd.diagnose(it.Frame.Line, err)
	}
	s.noteRetry(m)
	return m
}

// Ask sends a prompt and returns its answer. That is the last result, once
// background agents and workflows are done and answered, as with
// [Session.RunUntilIdle]. A result that is an error is returned together with
// its *ResultError.
func (s *Session) Ask(ctx context.Context, prompt string) (*message.Result, error) {
	e := &exchange{session: s, untilIdle: true}
	for _, err := range s.run(ctx, e, message.NewUser(message.Text(prompt))) {
		if err != nil && e.answered(err) {
			return e.result, err
		}
		if err != nil {
			return nil, err
		}
	}
	return e.result, nil
}

// answered reports whether there is an answer in spite of an error: one that
// means that the turn failed, or that the answer is not stored.
func (e *exchange) answered(err error) bool {
	_, failed := errors.AsType[*ResultError](err)
	return failed || e.missing != nil && errors.Is(err, e.missing)
}

// Messages yields everything the CLI sends, starting with the first unread
// message, until the session is over. If the session did not end normally, the
// last thing it yields is an error. Leaving the loop leaves the rest unread for
// the next reader.
func (s *Session) Messages(ctx context.Context) iter.Seq2[message.Message, error] {
	return func(yield func(message.Message, error) bool) {
		if !s.inbox.Acquire() {
			yield(nil, ErrBusy)
			return
		}
		defer s.inbox.Release()
		left, err := readAll(ctx, everything{s}, func(msg message.Message) bool { return yield(msg, nil) })
		if !left && err != io.EOF && !(err == ErrClosed && ctx.Err() == nil) {
			yield(nil, err)
		}
	}
}

// reader reads the message stream.
type reader interface {
	// next waits for a frame. Its error ends the loop.
	next(context.Context) (inbox.Item, error)
	// take makes a message of a frame, nil if there is none, and reports whether
	// it was the last to be read.
	take(*inbox.Item) (msg message.Message, last bool)
}

// readAll is the loop under Run, Query, Messages and Ask: it yields the
// messages of a reader up to the last one. It reports whether yield left the
// loop, and otherwise the error that ended it before the last message.
func readAll(ctx context.Context, r reader, yield func(message.Message) bool) (left bool, err error) {
	var it inbox.Item // one for all messages: it would be allocated for each
	for {
		if it, err = r.next(ctx); err != nil {
			return false, err
		}
		msg, last := r.take(&it)
		switch {
		case msg != nil && !yield(msg):
			return true, nil
		case last:
			return false, nil
		}
	}
}

// everything reads all of the CLI's messages.
type everything struct{ session *Session }

func (r everything) next(ctx context.Context) (inbox.Item, error) { return r.session.next(ctx, false) }

func (r everything) take(it *inbox.Item) (msg message.Message, last bool) {
	return r.session.decode(it), false
}

// noteRetry keeps the CLI's latest message about an API call that it retries,
// until the call gets through. Only the reader of the stream calls it.
func (s *Session) noteRetry(m message.Message) {
	switch m := m.(type) {
	case *message.APIRetry:
		s.retrying = m
	case *message.Assistant, *message.StreamEvent, *message.Result, *message.Init:
		s.retrying = nil
	}
}

// withRetries extends the error that ended the wait for an answer if the CLI was
// waiting for the API.
func (s *Session) withRetries(err error) error {
	r := s.retrying
	if r == nil {
		return err
	}
	why := string(r.Error)
	switch {
	case r.ErrorStatus != 0:
		why = fmt.Sprintf("%s, status %d", why, r.ErrorStatus)
	case r.Error == message.AssistantErrorUnknown:
		why = "no answer"
	}
	return fmt.Errorf("%w: the API has failed %d times (%s)", err, r.Attempt, why)
}

// exchange is a prompt and its answer so far.
type exchange struct {
	session   *Session
	id        string
	untilIdle bool // background agents belong to it

	ended   bool            // the prompt has its result, or never will
	over    bool            // nothing more will come, or no caller awaits it
	result  *message.Result // the answer: the result of the prompt, or of a later turn that no prompt asked for
	failure error           // of the prompt, or of that turn
	missing error           // a *store.NotStoredError, or why storing has ended
}

// take takes the next frame and returns its message, nil if it has none.
func (e *exchange) take(it *inbox.Item) (msg message.Message, last bool) {
	msg = e.session.decode(it)
	r, ok := msg.(*message.Result)
	if ok && it.Barrier() > 0 {
		e.missing = e.session.store.notStored
	}
	switch {
	case it.Ends(e.id) != inbox.NotYet:
		e.ended, e.result = true, r
		e.failure = outcome(it, e.id, msg)
	case ok && e.ended && it.Unprompted() && !setAside(r):
		e.result, e.failure = r, nil
		if r.Failed() {
			e.failure = &ResultError{Result: r}
		}
	}
	e.over = e.ended && (!e.untilIdle || e.result == nil || it.Ends(e.id) != inbox.NotYet && it.Idle())
	return msg, e.over
}

// setAside reports whether a turn has only kept something for the next one.
// When several agents end at once, the CLI answers the last of them in a turn
// with content, and the others in empty turns before it.
func setAside(r *message.Result) bool {
	return !r.Failed() && r.NumTurns == 0 && r.Text == "" && len(r.StructuredOutput) == 0
}

// follow yields until the exchange is over, and abandons it when the loop is
// left before that.
func (e *exchange) follow(ctx context.Context, yield func(message.Message, error) bool) {
	defer e.abandon()
	left, err := readAll(ctx, e, func(msg message.Message) bool { return yield(msg, nil) })
	if left {
		return
	}
	if err == nil {
		err = e.outcome()
	} else {
		if ctx.Err() != nil {
			e.abandon()
		}
		e.over = true
		err = e.end(err)
	}
	if err != nil {
		yield(nil, err)
	}
}

// abandon ends whatever still runs for the prompt, once.
func (e *exchange) abandon() {
	if !e.over {
		e.over = true
		e.session.abandon(e.id, e.untilIdle)
	}
}

// next returns the next frame. Once the prompt has ended, it waits only for
// background agents.
func (e *exchange) next(ctx context.Context) (inbox.Item, error) {
	return e.session.next(ctx, e.ended)
}

// end translates the end of the stream for a caller who awaits an answer.
func (e *exchange) end(err error) error {
	switch {
	case err == inbox.ErrIdle, err == io.EOF && e.ended:
		return e.outcome()
	case err == io.EOF:
		return fmt.Errorf("%w: it ended normally", ErrNoResult)
	}
	return e.session.withRetries(err)
}

// outcome returns the error of the answer, nil if there is none.
func (e *exchange) outcome() error {
	if e.missing == nil {
		return e.failure
	}
	return errors.Join(e.failure, e.missing)
}

// outcome returns the error that a prompt ended with, nil if it went well.
func outcome(it *inbox.Item, id string, msg message.Message) error {
	r, ok := msg.(*message.Result)
	switch {
	case it.Ends(id) == inbox.Cancelled:
		return ErrCancelled
	case it.Ends(id) == inbox.Answered:
		return ErrAnswered
	case it.Ends(id) == inbox.Lost || !ok:
		return fmt.Errorf("%w: it could not be read", ErrNoResult)
	case r.Failed():
		return &ResultError{Result: r}
	}
	return nil
}

// abandon ends the work on a prompt whose answer is no longer awaited. A turn
// that has begun is interrupted; a prompt that waits is taken out of the queue.
// If the CLI cannot do that, the turn is interrupted when it begins. An
// interrupt also ends background agents, so it is sent for them too, if they
// belong to the prompt. A turn that also answers another caller's prompt is left
// alone. The request is written before abandon returns, so that it cannot hit a
// prompt sent afterwards, unless the CLI does not read at all; its reply is not
// awaited.
func (s *Session) abandon(id string, agents bool) {
	resume := s.halt()
	defer resume()
	if s.withdraw(id) {
		return
	}
	place := s.inbox.Abandon(id)
	call := peer.Call{Timeout: max(s.opts.Timeouts.Control, 0)}
	switch {
	case place.Progress == inbox.Waiting && place.Named:
		call.Subtype = "cancel_async_message"
		call.Payload = map[string]string{"message_uuid": id}
	case place.Shared:
		return
	case place.Progress == inbox.Started, place.Progress == inbox.Ended && agents && place.AgentAtWork:
		call.Subtype = "interrupt"
	default:
		return
	}
	written := make(chan struct{})
	call.OnWritten = func() { close(written) }
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := s.peer.Call(context.Background(), call); err != nil {
			level := slog.LevelWarn
			if errors.Is(err, ErrClosed) {
				level = slog.LevelDebug // the turn ends with the session
			}
			s.log.Log(context.Background(), level, "ending an abandoned turn", "op", call.Subtype, "error", err)
		}
	}()
	bound := time.NewTimer(brokenBound)
	defer bound.Stop()
	select {
	case <-written:
	case <-done:
	case <-bound.C: // the CLI does not read; the request keeps its place
	}
}
