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
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/ndjson"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/message"
)

// Send sends a prompt and returns its id, without waiting for anything. The
// answer comes on the message stream: read it with Messages. Prompts that are
// sent while a turn runs wait, and the CLI may answer several with one result,
// which names them in Result.Prompts.
func (s *Session) Send(ctx context.Context, prompt string) (id string, err error) {
	return s.SendMessage(ctx, message.NewUser(message.Text(prompt)))
}

// SendMessage sends a prompt of any content, such as images. A UUID set in m
// becomes its id; it must not have been used before.
func (s *Session) SendMessage(ctx context.Context, m *message.User) (id string, err error) {
	own := *m
	own.Raw = nil
	if own.ClientComposed {
		if err := s.checkVerbatim(ctx); err != nil {
			return "", err
		}
	}
	own.ClientComposed = own.ClientComposed || s.opts.VerbatimPrompts // which was checked at the start
	if own.UUID == "" {
		own.UUID = newUUID()
	} else if err := s.claimID(own.UUID); err != nil {
		return "", err
	}
	line, err := jsonx.Marshal(own)
	if err != nil {
		return "", fmt.Errorf("claude: encode prompt: %w", err)
	}
	s.inbox.Sent(own.UUID)
	if err := s.peer.Send(ctx, line); err != nil {
		if ctx.Err() != nil && !errors.Is(err, ndjson.ErrNotBegun) {
			s.abandon(own.UUID) // it may stand on the stream all the same
		} else {
			s.inbox.Unsent(own.UUID)
			s.freeID(own.UUID)
		}
		return "", fmt.Errorf("claude: send prompt: %w", rename(s.broken(ctx, err)))
	}
	return own.UUID, nil
}

// freeID gives back an id of which nothing was sent.
func (s *Session) freeID(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.ownIDs, id)
}

// brokenBound is how long a failed write waits to learn why: a little longer
// than the session itself does.
const brokenBound = deafBound + time.Second

// broken turns the error of a write into the reason why the CLI no longer
// reads, if the session is found to have ended, or to be ending by us.
func (s *Session) broken(ctx context.Context, err error) error {
	if !errors.Is(err, ndjson.ErrBroken) {
		return err
	}
	if cause := s.peer.Cause(); cause != nil {
		return cause
	}
	ctx, cancel := context.WithTimeout(ctx, brokenBound)
	defer cancel()
	select {
	case <-s.done:
	case <-ctx.Done():
	}
	if cause := s.peer.Cause(); cause != nil {
		return cause // there is one also for an end in good order
	}
	return err
}

// claimID refuses an id that was used before: the CLI drops such a message
// without a word, and its answer would never come.
func (s *Session) claimID(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ownIDs[id] {
		return fmt.Errorf("claude: send prompt: message id %s was used before", id)
	}
	if s.ownIDs == nil {
		s.ownIDs = make(map[string]bool)
	}
	s.ownIDs[id] = true
	return nil
}

// Run sends a prompt when it is ranged over and yields everything the CLI says
// until the result of that prompt, which is the last message. What was unread
// before comes first. A result that is an error is yielded and then followed
// by (nil, *ResultError).
//
// Leaving the loop, by break, return, panic or because ctx has ended, ends the
// turn: it is interrupted, or taken out of the queue if it has not begun, and
// what is left of it is dropped. The session stays usable.
//
// The stream can be ranged over once; again it yields ErrUsed. It yields
// ErrBusy while the message stream has another reader.
func (s *Session) Run(ctx context.Context, prompt string) iter.Seq2[message.Message, error] {
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
		id, err := s.Send(ctx, prompt)
		if err != nil {
			yield(nil, err)
			return
		}
		s.follow(ctx, id, yield)
	}
}

// follow yields until the prompt has ended, and abandons it when the loop is
// left before that.
func (s *Session) follow(ctx context.Context, id string, yield func(message.Message, error) bool) {
	over := false
	abandon := func() {
		if !over {
			over = true
			s.abandon(id)
		}
	}
	defer abandon()
	for {
		it, err := s.inbox.Next(ctx)
		if err != nil {
			if ctx.Err() != nil {
				abandon()
			}
			over = true
			yield(nil, s.streamError(err))
			return
		}
		// The turn is over from here on, also for a loop that breaks now.
		over = it.Ends(id) != inbox.NotYet
		msg := s.decode(&it)
		if msg != nil && !yield(msg, nil) {
			return
		}
		if over {
			if err := outcome(&it, id, msg); err != nil {
				yield(nil, err)
			}
			return
		}
	}
}

// outcome is the error a prompt ended with, nil if it went well.
func outcome(it *inbox.Item, id string, msg message.Message) error {
	r, ok := msg.(*message.Result)
	switch {
	case it.Ends(id) == inbox.Cancelled:
		return ErrCancelled
	case !ok:
		return fmt.Errorf("%w: it could not be read", ErrNoResult)
	case r.Failed():
		return &ResultError{Result: r}
	}
	return nil
}

// streamError is what the end of the stream means to one who awaits a result.
func (s *Session) streamError(err error) error {
	if err == io.EOF {
		return fmt.Errorf("%w: it ended in good order", ErrNoResult)
	}
	return err
}

// decode turns a frame into a message. A frame that is no message is reported
// and skipped; one with odd fields is reported and delivered.
func (s *Session) decode(it *inbox.Item) message.Message {
	m, err := message.DecodeAs(it.Frame.Type, it.Frame.Subtype, it.Frame.Line)
	if err == nil {
		if path := message.Missing(m); path != "" {
			err = fmt.Errorf("message: %s: %s is missing", cmp.Or(it.Frame.Type, "line"), path)
		}
	}
	if err != nil {
		s.diagnose(it.Frame.Line, err)
	}
	return m
}

// abandon ends what runs for a prompt that nobody awaits any more: if its turn
// has begun by an interrupt, if it waits by taking it out of the queue; of a
// CLI that cannot do that the turn is interrupted when it begins. The request
// is written before abandon returns, so that a prompt sent afterwards is not
// hit, unless the CLI does not read at all; its reply is not waited for.
func (s *Session) abandon(id string) {
	standing, named := s.inbox.Abandon(id)
	call := peer.Call{Timeout: max(s.opts.Timeouts.Control, 0)}
	switch {
	case standing == inbox.Started:
		call.Subtype = "interrupt"
	case standing == inbox.Waiting && named:
		call.Subtype = "cancel_async_message"
		call.Payload = map[string]string{"message_uuid": id}
	default:
		return
	}
	written := make(chan struct{})
	call.Written = func() { close(written) }
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

// Ask sends a prompt and returns its result. A result that is an error is
// returned together with its *ResultError.
func (s *Session) Ask(ctx context.Context, prompt string) (*message.Result, error) {
	var result *message.Result
	for msg, err := range s.Run(ctx, prompt) {
		if failed, ok := errors.AsType[*ResultError](err); ok {
			return failed.Result, err
		}
		if err != nil {
			return nil, err
		}
		if r, ok := msg.(*message.Result); ok {
			result = r // the last one is that of the prompt
		}
	}
	return result, nil
}

// Messages yields everything the CLI says, from the first unread message on,
// until the session is over: then it ends, after an error unless the end was
// in good order. Leaving the loop leaves the rest unread for the next reader.
func (s *Session) Messages(ctx context.Context) iter.Seq2[message.Message, error] {
	return func(yield func(message.Message, error) bool) {
		if !s.inbox.Acquire() {
			yield(nil, ErrBusy)
			return
		}
		defer s.inbox.Release()
		for {
			it, err := s.inbox.Next(ctx)
			if err != nil {
				if err != io.EOF && !(err == ErrClosed && ctx.Err() == nil) {
					yield(nil, err)
				}
				return
			}
			if msg := s.decode(&it); msg != nil && !yield(msg, nil) {
				return
			}
		}
	}
}
