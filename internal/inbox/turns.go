package inbox

import (
	"slices"

	"github.com/claude-agent-go/claude/internal/wire"
)

// Progress is the stage that a prompt has reached.
type Progress int

const (
	Waiting Progress = iota // written, its turn has not begun
	Started                 // its turn runs
	Ended                   // it has a result, or will have none
)

// prompt is a user message that was sent.
type prompt struct {
	id        string
	progress  Progress
	opened    bool // its turn began with it; it was not folded in later
	abandoned bool
	stopped   bool // an interrupt of its turn was asked for
}

// turn is a stretch of frames, from init to result.
type turn struct {
	prompts   []*prompt
	guessed   bool // by position only: the CLI has named no prompt so far
	hasOutput bool // something was said in it: an echo from now on is that of a prompt folded in
}

// discarded reports whether the turn's frames are no longer wanted. A turn that
// answers none of our prompts is for every consumer.
func (t *turn) discarded() bool {
	return t != nil && len(t.prompts) > 0 && !slices.ContainsFunc(t.prompts, (*prompt).wanted)
}

func (p *prompt) wanted() bool { return !p.abandoned }

func (t *turn) add(p *prompt) {
	if !slices.Contains(t.prompts, p) {
		t.prompts = append(t.prompts, p)
	}
}

// turns follows the turns of a session by its frames.
type turns struct {
	pending []*prompt // sent and not ended, in order
	current *turn     // between init and result
	named   bool      // the CLI names the prompts it works on
	ready   bool      // the handshake was answered: a failure is no longer that of the start
	delayed bool      // results may come after their prompts are completed
	changed bool      // prompts have come into a turn, or gone
	kind    kind      // of the frame that was observed last
	unasked string    // the prompt that the CLI has given itself and works on
	work    work
}

func (t *turns) find(id string) *prompt {
	for _, p := range t.pending {
		if p.id == id {
			return p
		}
	}
	return nil
}

// oldestWaiting returns the oldest prompt that waits, nil if none does.
func (t *turns) oldestWaiting() *prompt {
	for _, p := range t.pending {
		if p.progress == Waiting {
			return p
		}
	}
	return nil
}

// remove takes a prompt out of the pending ones.
func (t *turns) remove(p *prompt) {
	p.progress = Ended
	t.pending = slices.DeleteFunc(t.pending, func(q *prompt) bool { return p == q })
}

// busy reports whether a turn, a prompt or a background agent is not done.
func (t *turns) busy() bool {
	return t.current != nil || t.unasked != "" || len(t.pending) > 0 || t.agentAtWork()
}

// shared reports whether an interrupt of a prompt's turn would hit another
// prompt that is wanted. Prompts that start before the init of their turn
// arrives may share that turn.
func (t *turns) shared(p *prompt) bool {
	return slices.ContainsFunc(t.pending, func(q *prompt) bool {
		return q != p && q.wanted() && q.progress == Started && (t.current == nil || slices.Contains(t.current.prompts, q))
	})
}

// observe takes the next frame of the wire and returns the item for it. It
// reports begun when the frame starts a turn for abandoned prompts.
func (t *turns) observe(f wire.Frame) (it Item, begun bool) {
	it.Frame, t.kind = f, otherFrame
	switch f.Type {
	case "system":
		switch f.Subtype {
		case "init":
			it.end, begun = t.beginTurn(f)
		case "background_tasks_changed":
			t.work.tasksChanged(f)
		case "session_state_changed":
			t.work.stateChanged(f)
			t.kind = stateFrame
			return it, false // it is about the session, whatever turn runs
		}
	case "assistant", "stream_event":
		if c := t.current; c != nil {
			c.hasOutput = c.hasOutput || f.Type == "assistant"
			if len(c.prompts) == 0 || c.guessed {
				t.join(f.Prompts())
			}
		}
	case "user":
		if t.noteEcho(f) {
			t.kind = echoFrame
		} else if t.current != nil {
			t.current.hasOutput = true
		}
	case "command_lifecycle":
		return t.lifecycle(f)
	case "result":
		return t.endTurn(f), false
	}
	it.turn = t.current
	return it, begun
}

// beginTurn starts a turn. CLIs that name no prompts take them one by one, in the
// order they were sent, so there the turn is that of the oldest that waits,
// until an echo contradicts it; and a turn that still runs has had its result, in
// a line that could not be read. It reports begun when every prompt of the turn
// is abandoned and no interrupt was asked for.
func (t *turns) beginTurn(f wire.Frame) (lost *ending, begun bool) {
	t.changed = true
	before := t.current
	t.current = new(turn)
	if ids := f.Prompts(); len(ids) > 0 {
		t.join(ids)
	} else if !t.named {
		if before != nil && len(before.prompts) > 0 {
			lost = &ending{prompts: before.prompts, how: Lost}
			for _, p := range before.prompts {
				t.remove(p)
			}
		}
		t.current.guessed = true
		if p := t.oldestWaiting(); p != nil {
			t.current.add(p)
		}
	}
	for _, p := range t.current.prompts {
		p.progress, p.opened = Started, true
	}
	return lost, t.current.interruptOnce()
}

// interruptOnce reports, once, that the turn is to be interrupted because it is no
// longer wanted.
func (t *turn) interruptOnce() (begun bool) {
	if !t.discarded() {
		return false
	}
	for _, p := range t.prompts {
		begun = begun || !p.stopped
		p.stopped = true
	}
	return begun
}

// noteEcho takes note that the CLI has repeated a prompt where it took it, and
// reports whether the frame is such an echo: the first in a turn names the prompt
// of the turn, later ones a prompt that was folded into it. Slash commands are
// not echoed; for them the guess stands.
func (t *turns) noteEcho(f wire.Frame) bool {
	if len(t.pending) == 0 {
		return false
	}
	p := t.find(f.Text("uuid"))
	if p == nil {
		return false
	}
	c := t.current
	if t.named || c == nil || slices.Contains(c.prompts, p) {
		if c != nil {
			c.hasOutput = true
		}
		return true
	}
	t.changed = true
	if c.guessed && !c.hasOutput {
		t.undoGuess()
		p.opened = true
	}
	c.hasOutput = true
	p.progress = Started
	c.add(p)
	return true
}

// promptsAreNamed takes note that the CLI names prompts, and takes back a guess made
// before that was known: the running turn may answer no prompt.
func (t *turns) promptsAreNamed() {
	t.named, t.changed = true, true
	if t.current != nil && t.current.guessed {
		t.undoGuess()
		t.current.guessed = false
	}
}

// undoGuess takes the prompts out of the turn that runs.
func (t *turns) undoGuess() {
	for _, p := range t.current.prompts {
		p.progress, p.opened, p.stopped = Waiting, false, false
	}
	t.current.prompts = nil
}

// join puts the named prompts into the current turn.
func (t *turns) join(ids []string) {
	if len(ids) == 0 {
		return
	}
	t.promptsAreNamed()
	for _, id := range ids {
		if p := t.find(id); p != nil {
			p.progress = Started
			t.current.add(p)
		}
	}
}

// endTurn ends the current turn with its result.
func (t *turns) endTurn(f wire.Frame) Item {
	t.changed = true
	it := Item{Frame: f, turn: t.current}
	var ends []*prompt
	ids := f.Prompts()
	if len(ids) > 0 {
		t.promptsAreNamed()
		if it.turn == nil {
			it.turn = new(turn)
		}
		for _, id := range ids {
			if p := t.find(id); p != nil {
				it.turn.add(p)
				ends = append(ends, p)
			}
		}
	} else if it.turn != nil && len(it.turn.prompts) > 0 {
		ends = slices.Clone(it.turn.prompts)
	} else if p := t.oldestWaiting(); p != nil && !t.named && (t.ready || succeeded(f)) {
		// There is nothing to go by but the order.
		it.turn = &turn{prompts: []*prompt{p}}
		ends = it.turn.prompts
	}
	it.end = t.closeTurn(ends, WithResult)
	it.end.unprompted = len(ends) == 0 && len(ids) == 0
	if it.end.unprompted {
		t.unasked = ""
	}
	it.end.idle = !t.agentAtWork()
	return it
}

// succeeded reports whether a result is that of a success. A CLI that cannot
// start reports this in a result that answers nothing.
func succeeded(f wire.Frame) bool {
	return (f.Subtype == "" || f.Subtype == "success") && string(f.Member("is_error")) != "true"
}

// closeTurn ends prompts, and the turn.
func (t *turns) closeTurn(ends []*prompt, how End) *ending {
	for _, p := range ends {
		t.remove(p)
	}
	t.current = nil
	return &ending{prompts: ends, how: how}
}

// noteUnasked follows a prompt that is not ours. When a session is resumed the
// CLI gives itself one to continue with a deferred call. That call comes before the
// init of the turn.
func (t *turns) noteUnasked(id, state string) {
	switch {
	case state == "started":
		t.unasked = id
	case state != "queued" && id == t.unasked:
		t.unasked = ""
	}
}

// lifecycle follows the CLI's reports about one prompt. States that end a prompt
// after its result change nothing.
//
// A prompt that is sent while a tool runs is folded into the turn: it is
// completed before the result comes, which names it too. But when the prompt
// that opened the turn is completed, the result has been; if it was not seen
// it was lost, in a line that could not be read. Only a CLI whose input has
// ended holds its results back, until no background agent is at work.
//
// A prompt that is completed without having started has an id that the
// conversation knows, since it was resumed with the prompt in it. It has no other
// end.
func (t *turns) lifecycle(f wire.Frame) (it Item, begun bool) {
	t.promptsAreNamed()
	it = Item{Frame: f, turn: t.current}
	id := f.Text("command_uuid")
	p := t.find(id)
	if p == nil {
		t.noteUnasked(id, f.Text("state"))
		return it, false
	}
	it.turn = &turn{prompts: []*prompt{p}}
	switch f.Text("state") {
	case "started":
		p.progress = Started
		// If no turn runs yet, the init that follows names the other prompts in
		// it.
		if t.current != nil {
			t.current.add(p)
			begun = p.abandoned && t.current.interruptOnce()
		}
	case "cancelled", "discarded", "refused":
		it.end = &ending{prompts: it.turn.prompts, how: Cancelled}
		t.remove(p)
	case "completed":
		if p.progress == Waiting {
			it.end = &ending{prompts: it.turn.prompts, how: Answered}
			t.remove(p)
			break
		}
		if p.opened && t.current != nil && !t.delayed {
			it.turn = t.current
			it.end = t.closeTurn(slices.Clone(t.current.prompts), Lost)
		}
	}
	return it, begun
}
