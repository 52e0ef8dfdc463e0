package claude

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/claude-agent-go/claude/internal/inbox"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// Query starts a CLI for one prompt and yields all its messages. The stream
// ends when the process has ended, which is when all work started by the prompt
// is done. There are several results if the prompt started agents or shell
// commands in the background; the last one is the answer. An answer that is an
// error is yielded and followed, at the end, by (nil, *ResultError).
//
// Leaving the loop, or the end of ctx, ends the process; nothing is left
// running. You can range over the stream once; a second time it yields
// ErrUsed.
func Query(ctx context.Context, prompt string, opts *Options) iter.Seq2[message.Message, error] {
	var used atomic.Bool
	return func(yield func(message.Message, error) bool) {
		if used.Swap(true) {
			yield(nil, ErrUsed)
			return
		}
		q, err := ask(ctx, prompt, opts)
		if err != nil {
			yield(nil, err)
			return
		}
		defer q.session.Close()
		if left, _ := readAll(ctx, q, func(msg message.Message) bool { return yield(msg, nil) }); left {
			return
		}
		if err := q.end(ctx); err != nil {
			yield(nil, err)
		}
	}
}

// Ask starts a CLI for one prompt and returns its answer: the last result,
// once all work started by the prompt is done, including work in the
// background. A result that is an error is returned together with its
// *ResultError. The process has ended when Ask returns.
func Ask(ctx context.Context, prompt string, opts *Options) (*message.Result, error) {
	q, err := ask(ctx, prompt, opts)
	if err != nil {
		return nil, err
	}
	defer q.session.Close()
	_, _ = readAll(ctx, q, func(message.Message) bool { return true }) // end reports how it ended
	return q.result, q.end(ctx)
}

// query is one prompt to a process of its own.
type query struct {
	exchange
	sendErr error
}

// ask starts the process and sends the prompt. If nothing needs the control
// channel there is no handshake, and stdin ends with the prompt.
func ask(ctx context.Context, prompt string, opts *Options) (*query, error) {
	s, err := connect(ctx, opts, use{onePrompt: true})
	if err != nil {
		return nil, err
	}
	if s.plan.oneWay {
		s.inbox.InputEnds()
		s.setState(StateRunning)
	}
	s.inbox.Acquire()
	id, err := s.Send(ctx, prompt)
	if err != nil && ctx.Err() != nil {
		s.Close()
		return nil, err
	}
	// A CLI that has already ended gives its reason on its output: read it.
	s.mu.Lock()
	s.oneShot.sent = true
	s.mu.Unlock()
	if s.plan.oneWay {
		s.closeInput()
	}
	s.endInput()
	return &query{exchange{session: s, id: id, untilIdle: true}, err}, nil
}

// next returns the next frame, until the output has ended or ctx has.
func (q *query) next(ctx context.Context) (inbox.Item, error) { return q.session.next(ctx, false) }

// take takes a frame. No frame is the last: the end of the process ends the
// query.
func (q *query) take(it *inbox.Item) (msg message.Message, last bool) {
	msg, _ = q.exchange.take(it)
	return msg, false
}

// end returns how the query went: by its result, if there is one, whatever the
// exit code, unless background agents were still at work on the answer.
func (q *query) end(ctx context.Context) error {
	s := q.session
	select {
	case <-s.life.done:
	case <-ctx.Done():
		s.Close()
	}
	if ctx.Err() != nil && (q.result == nil || s.inbox.NeedsControl()) {
		return s.withRetries(fmt.Errorf("claude: query: %w", context.Cause(ctx)))
	}
	inOrder := s.life.cause == nil && !errors.Is(s.peer.Cause(), ErrClosed)
	switch {
	case q.result != nil && errors.Is(s.life.cause, store.ErrNotStored):
		return errors.Join(q.failure, s.life.cause)
	case q.failure != nil, q.result != nil && (inOrder || !s.inbox.NeedsControl()):
		return q.outcome()
	case s.life.cause == nil && !inOrder:
		return ErrClosed // one of its callbacks closed it
	case s.life.cause == nil:
		return &ProcessError{Stderr: s.conn.StderrTail(), Err: errors.Join(s.noResult(), q.sendErr)}
	}
	if exit, ok := errors.AsType[*ProcessError](s.life.cause); ok {
		if err := (opening{s}).refused(exit); err != nil {
			return err
		}
		own := *exit // others may hold the original
		own.Err = errors.Join(exit.Err, s.noResult())
		return &own
	}
	return s.life.cause
}
