package claude_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/permission"
)

func TestTraceSurvivesItsFunctions(t *testing.T) {
	bubble(t, func(c *cli) { c.greet(); c.answer("hi"); c.idle() }, func(t *testing.T, o *claude.Options) {
		var last claude.State
		read := 0
		o.Trace = &claude.Trace{
			FrameRead:    func([]byte) { read++; panic("boom") },
			FrameWritten: func([]byte) { runtime.Goexit() },
			StateChanged: func(_, to claude.State) { last = to },
		}
		s := connect(t, o)
		if _, err := s.Ask(t.Context(), "hello"); err != nil {
			t.Error(err)
		}
		finish(t, s)
		if read < 3 || last != claude.StateStopped {
			t.Errorf("%d frames, last state %v", read, last)
		}
	})
}

func TestTraceHearsTheEndOfEverything(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		c.say("%s", bashRequest)
		c.hear() // an operation that is never answered
		<-c.stopped
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		callbacks, operations := 0, 0
		o.Trace = &claude.Trace{
			CallbackDone: func(claude.TraceCallback) { callbacks++ },
			RequestDone:  func(claude.TraceRequest) { operations++ },
		}
		o.CanUseTool = func(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
			<-ctx.Done()
			return permission.Pass(), context.Cause(ctx)
		}
		s := connect(t, o)
		pending := make(chan error, 1)
		go func() { pending <- s.Control(t.Context(), "slow", nil, nil) }()
		synctest.Wait()
		s.Close()
		<-pending
		s.Wait()
		if callbacks != 1 || operations != 2 {
			t.Errorf("heard of %d callbacks and %d operations, want 1 and 2", callbacks, operations)
		}
	})
}

// Unsent operations are told to the Trace like all others.
func TestTraceOfUnsentOperations(t *testing.T) {
	bubble(t, func(c *cli) { c.greet(); c.idle() }, func(t *testing.T, o *claude.Options) {
		var told []claude.TraceRequest
		o.Trace = &claude.Trace{RequestDone: func(r claude.TraceRequest) { told = append(told, r) }}
		s := connect(t, o)
		_, err := s.RewindFiles(t.Context(), "m")
		finish(t, s)
		if len(told) != 2 || told[1].Op != "rewind_files" || told[1].RequestID != "" || told[1].Err != err {
			t.Errorf("told %+v", told)
		}
	})
}
