package claude

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/claude-agent-go/claude/internal/inbox"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/message"
)

// exchange is a prompt and what has come of it.
type exchange struct {
	session   *Session
	id        string
	untilIdle bool // background agents belong to it

	ended   bool            // the prompt has its result, or will have none
	over    bool            // there is nothing more to come, or nobody awaits it
	result  *message.Result // the answer: the result of the prompt, or of a later turn that nobody asked for
	failure error           // of the prompt, or of that turn
}

// take takes the next frame and returns its message, nil if it has none.
func (e *exchange) take(it *inbox.Item) (msg message.Message, last bool) {
	msg = e.session.decode(it)
	r, ok := msg.(*message.Result)
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

// setAside reports whether a turn has only kept something for the next one. Of
// several agents that end at once the CLI answers the last in a turn that says
// something, and gives the others empty ones before it.
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
		err = e.failure
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

// abandon ends what still runs for the prompt. It does so once.
func (e *exchange) abandon() {
	if !e.over {
		e.over = true
		e.session.abandon(e.id, e.untilIdle)
	}
}

// next returns the next frame. Once the prompt has ended, nothing is waited for
// but background agents.
func (e *exchange) next(ctx context.Context) (inbox.Item, error) {
	if e.ended {
		return e.session.inbox.NextUntilIdle(ctx)
	}
	return e.session.inbox.Next(ctx)
}

// end is what the end of the stream means to one who awaits an answer.
func (e *exchange) end(err error) error {
	switch {
	case err == inbox.ErrIdle, err == io.EOF && e.ended:
		return e.failure
	case err == io.EOF:
		return fmt.Errorf("%w: it ended in good order", ErrNoResult)
	}
	return e.session.withRetries(err)
}

// outcome is the error a prompt ended with, nil if it went well.
func outcome(it *inbox.Item, id string, msg message.Message) error {
	r, ok := msg.(*message.Result)
	switch {
	case it.Ends(id) == inbox.Cancelled:
		return ErrCancelled
	case it.Ends(id) == inbox.Lost || !ok:
		return fmt.Errorf("%w: it could not be read", ErrNoResult)
	case r.Failed():
		return &ResultError{Result: r}
	}
	return nil
}

// abandon ends what runs for a prompt that nobody awaits any more: if its turn
// has begun by an interrupt, if it waits by taking it out of the queue; of a
// CLI that cannot do that the turn is interrupted when it begins. An interrupt
// also ends background agents, so it is sent for them too, if they belong to the
// prompt. A turn that somebody else wants is left alone. The request is written
// before abandon returns, so that a prompt sent afterwards is not hit, unless
// the CLI does not read at all; its reply is not waited for.
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
	case <-bound.C: // the CLI does not read; the request waits in its place
	}
}
