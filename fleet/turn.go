package fleet

import (
	"context"
	"sync"

	"github.com/claude-agent-go/claude"
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

func (w *waking) newTurn(prompt string, s step) *turn {
	t := &turn{prompt: prompt, step: s, fence: w.lease.Fence}
	t.ctx, t.end = context.WithCancel(w.f.ctx)
	return t
}

// over ends a turn that the conversation no longer works on, when no interrupt of it can
// reach the CLI any longer.
func (t *turn) over() {
	if t != nil {
		t.end()
		t.interrupts.Wait()
	}
}

// setTurn makes a turn the one that the conversation works on; nil: it sleeps.
func (w *waking) setTurn(t *turn) {
	w.f.roster.mu.Lock()
	before := w.c.turn
	w.c.turn = t
	w.f.roster.mu.Unlock()
	before.over()
}

// begins notes that the turn of a prompt is about to begin, until done is called. If the
// attempt failed, word that was left stays, and the prompt is not tried again.
func (w *waking) begins(p *queued, s step) (done func(failed bool)) {
	w.setTurn(w.newTurn(p.ID, s))
	if !p.Interrupted.IsZero() { // and a CLI has it already, else it would have ended
		w.f.roster.leaveWord(w.c.key, p.ID)
	}
	return func(failed bool) {
		w.setTurn(w.newTurn("", sleep))
		w.f.roster.mu.Lock()
		defer w.f.roster.mu.Unlock()
		if !failed && w.c.interrupted == p.ID {
			w.c.interrupted = ""
		}
	}
}

// rests ends the turn of a prompt that waits for a person from now on, unless somebody has
// left word: then it returns false. Those who have read the prompt before it waited, and
// come later, find another turn, and read it again.
func (w *waking) rests(p *queued) bool {
	next := w.newTurn("", sleep)
	w.f.roster.mu.Lock()
	before := w.c.turn
	rests := w.c.interrupted != p.ID && p.Interrupted.IsZero()
	if rests {
		w.c.turn = next
	}
	w.f.roster.mu.Unlock()
	if rests {
		before.over()
	} else {
		next.end()
	}
	return rests
}

// begun notes that the CLI has begun with the turn, and interrupts it if somebody has
// left word.
func (w *waking) begun(s *claude.Session) {
	w.f.roster.mu.Lock()
	w.c.turn.begun = true
	w.f.roster.mu.Unlock()
	w.interruptIfWanted(s)
}

// turnEnded notes that the CLI has ended the turn. While its outcome is stored, the CLI may
// begin by itself with a prompt that came too late to steer it, and no interrupt of this
// turn may stop that one.
func (w *waking) turnEnded() {
	w.f.roster.mu.Lock()
	defer w.f.roster.mu.Unlock()
	w.c.turn.end()
}
