package fleet

import (
	"context"
)

func (w *tenure) newTurn(prompt string, s step) *turn {
	t := &turn{prompt: prompt, step: s, fence: w.lease.Fence}
	t.ctx, t.end = context.WithCancel(w.ctx)
	return t
}

// setTurn makes a turn the one that the conversation works on; nil: it sleeps.
func (w *tenure) setTurn(t *turn) {
	w.roster.mu.Lock()
	before := w.c.turn
	w.c.turn = t
	w.roster.mu.Unlock()
	before.over()
}

// begins notes that the turn of a prompt is about to begin, until done is called. If
// the attempt failed, a pending interrupt stays, and the prompt is not tried again.
func (w *tenure) begins(p *queued, s step) (done func(failed bool)) {
	w.setTurn(w.newTurn(p.ID, s))
	if !p.Interrupted.IsZero() { // and a CLI has it already, else it would have ended
		w.roster.leaveWord(w.c.key, p.ID)
	}
	return func(failed bool) {
		w.setTurn(w.newTurn("", sleep))
		w.roster.mu.Lock()
		defer w.roster.mu.Unlock()
		if !failed && w.c.interrupted == p.ID {
			w.c.interrupted = ""
		}
	}
}

// rests ends the turn of a prompt that waits for a person from now on. It returns false
// if an interrupt is pending. A later interrupt by a process that read the prompt
// before finds another turn, and reads it again.
func (w *tenure) rests(p *queued) bool {
	next := w.newTurn("", sleep)
	w.roster.mu.Lock()
	before := w.c.turn
	rests := w.c.interrupted != p.ID && p.Interrupted.IsZero()
	if rests {
		w.c.turn = next
	}
	w.roster.mu.Unlock()
	if rests {
		before.over()
	} else {
		next.end()
	}
	return rests
}

// turnEnded notes that the CLI has ended the turn. While its outcome is stored, the CLI
// may begin by itself with a prompt that came too late to steer it, and no interrupt of
// this turn may stop that one.
func (w *tenure) turnEnded() {
	w.roster.mu.Lock()
	defer w.roster.mu.Unlock()
	w.c.turn.end()
}

// wasInterrupted reports whether the turn of a prompt was interrupted.
func (w *tenure) wasInterrupted(p *queued) bool {
	w.roster.mu.Lock()
	defer w.roster.mu.Unlock()
	return w.c.interrupted == p.ID
}

// turnInterrupted reports whether the turn was interrupted. Then the CLI is given no
// prompt to steer it: the CLI would begin with that one by itself, and the turn may be
// interrupted more than once.
func (w *tenure) turnInterrupted() bool {
	w.roster.mu.Lock()
	defer w.roster.mu.Unlock()
	return w.c.turn.prompt != "" && w.c.interrupted == w.c.turn.prompt
}
