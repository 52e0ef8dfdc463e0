package fleet

import (
	"context"
	"sync"

	"github.com/claude-agent-go/claude/store"
)

// turn is what a conversation that is awake works on. The lock of the fleet guards what
// can change.
type turn struct {
	prompt string // the prompt of the turn; empty between turns, when a CLI may work by itself
	step   step
	fence  store.Fence
	begun  bool // the CLI says so

	ctx        context.Context // ends with the turn, as soon as the CLI says so
	end        context.CancelFunc
	interrupts sync.WaitGroup // those that are being made
}

// works reports whether the CLI has something to do for the turn, although it may not
// have said that the turn has begun: it makes a deferred call before that.
func (t *turn) works() bool { return t.begun || t.step != send }

// over ends a turn that the conversation no longer works on, when no interrupt of it can
// reach the CLI any longer.
func (t *turn) over() {
	if t != nil {
		t.end()
		t.interrupts.Wait()
	}
}
