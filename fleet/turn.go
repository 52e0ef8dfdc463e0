package fleet

import (
	"context"
	"sync"

	"github.com/claude-agent-go/claude/store"
)

// turn is the current work of a conversation that is awake. The lock of the fleet
// guards what can change.
type turn struct {
	prompt string // the prompt of the turn; empty between turns, when a CLI may work by itself
	step   step
	fence  store.Fence
	begun  bool // the CLI has reported it

	ctx        context.Context // ends with the turn, as soon as the CLI reports the end
	end        context.CancelFunc
	interrupts sync.WaitGroup // those that are being made
}

// works reports whether the CLI has something to do for the turn, although it may not
// have reported its beginning: it makes a deferred call before that.
func (t *turn) works() bool { return t.begun || t.step != send }

// over ends a turn that the conversation no longer works on, once no interrupt of it
// can reach the CLI.
func (t *turn) over() {
	if t != nil {
		t.end()
		t.interrupts.Wait()
	}
}
