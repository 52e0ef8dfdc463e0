package inbox

import (
	"slices"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/wire"
)

// Standing is how far a prompt has come.
type Standing int

const (
	Waiting Standing = iota // written, its turn has not begun
	Started                 // its turn runs
	Ended                   // it has a result, or will have none
)

// prompt is a user message that was sent.
type prompt struct {
	id        string
	standing  Standing
	opened    bool // its turn began with it; it was not folded in later
	abandoned bool
}

// turn is a stretch of frames, from init to result.
type turn struct {
	prompts []*prompt
	guessed bool // by position only: the CLI has named no prompt so far
}

// discarded reports whether nobody wants the turn's frames any more. A turn
// that has no prompt of ours is everybody's.
func (t *turn) discarded() bool {
	return t != nil && len(t.prompts) > 0 &&
		!slices.ContainsFunc(t.prompts, func(p *prompt) bool { return !p.abandoned })
}

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
	tasks   []task    // background tasks that run
	moved   bool      // prompts have come into a turn, or gone
}

type task struct {
	Type string `json:"task_type"`
}

func (t *turns) find(id string) *prompt {
	for _, p := range t.pending {
		if p.id == id {
			return p
		}
	}
	return nil
}

// end takes a prompt out of the pending ones.
func (t *turns) end(p *prompt) {
	p.standing = Ended
	t.pending = slices.DeleteFunc(t.pending, func(q *prompt) bool { return p == q })
}

// observe takes the next frame of the wire and returns the item for it. It
// reports begun when the frame starts a turn for an abandoned prompt.
func (t *turns) observe(f wire.Frame) (it Item, begun bool) {
	it.Frame = f
	switch f.Type {
	case "system":
		switch f.Subtype {
		case "init":
			begun = t.begin(f)
		case "background_tasks_changed":
			t.tasks = nil
			_ = jsonx.Unmarshal(f.Member("tasks"), &t.tasks) // an odd list counts as none
		}
	case "assistant", "stream_event":
		if t.current != nil && (len(t.current.prompts) == 0 || t.current.guessed) {
			t.join(f.Prompts())
		}
	case "command_lifecycle":
		return t.lifecycle(f)
	case "result":
		return t.finish(f), false
	}
	it.turn = t.current
	return it, begun
}

// begin starts a turn. It reports true when every prompt of it is abandoned
// and at least one has not been seen to start before.
func (t *turns) begin(f wire.Frame) (begun bool) {
	t.current, t.moved = new(turn), true
	waiting := make(map[*prompt]bool)
	for _, p := range t.pending {
		waiting[p] = p.standing == Waiting
	}
	if ids := f.Prompts(); len(ids) > 0 {
		t.join(ids)
	} else if !t.named {
		t.current.guessed = true
		for _, p := range t.pending {
			t.current.add(p)
		}
	}
	for _, p := range t.current.prompts {
		p.standing, p.opened = Started, true
		begun = begun || waiting[p]
	}
	return begun && t.current.discarded()
}

// learn takes note that the CLI names prompts, and takes back a guess made
// before that was known: the turn that runs may be nobody's.
func (t *turns) learn() {
	t.named, t.moved = true, true
	if t.current == nil || !t.current.guessed {
		return
	}
	for _, p := range t.current.prompts {
		p.standing, p.opened = Waiting, false
	}
	t.current.prompts, t.current.guessed = nil, false
}

// join puts the named prompts into the current turn.
func (t *turns) join(ids []string) {
	if len(ids) == 0 {
		return
	}
	t.learn()
	for _, id := range ids {
		if p := t.find(id); p != nil {
			p.standing = Started
			t.current.add(p)
		}
	}
}

// finish ends the current turn with its result.
func (t *turns) finish(f wire.Frame) Item {
	t.moved = true
	it := Item{Frame: f, turn: t.current}
	var ends []*prompt
	ids := f.Prompts()
	if len(ids) > 0 {
		t.learn()
		if it.turn == nil {
			it.turn = new(turn)
		}
		for _, id := range ids {
			if p := t.find(id); p != nil {
				it.turn.add(p)
				ends = append(ends, p)
			}
		}
	} else if it.turn != nil {
		ends = slices.Clone(it.turn.prompts)
	}
	it.end = t.close(ends, WithResult)
	return it
}

// close ends prompts, and the turn.
func (t *turns) close(ends []*prompt, how End) *ending {
	for _, p := range ends {
		t.end(p)
	}
	t.current = nil
	return &ending{ends, how}
}

// lifecycle follows what the CLI says about one prompt. States that end a
// prompt after its result has come change nothing.
//
// A prompt that is sent while a tool runs is folded into the turn: it is
// completed before the result comes, which names it too. But when the prompt
// that opened the turn is completed, the result has been; if it was not seen
// it was lost, in a line that could not be read.
func (t *turns) lifecycle(f wire.Frame) (it Item, begun bool) {
	t.learn()
	it = Item{Frame: f, turn: t.current}
	p := t.find(f.Text("command_uuid"))
	if p == nil {
		return it, false
	}
	it.turn = &turn{prompts: []*prompt{p}}
	switch f.Text("state") {
	case "started":
		// Merged into a turn that somebody else awaits, it must not end it.
		begun = p.abandoned && p.standing == Waiting && (t.current == nil || t.current.discarded())
		p.standing = Started
		if t.current != nil {
			t.current.add(p)
		}
	case "cancelled", "discarded", "refused":
		it.end = &ending{it.turn.prompts, Cancelled}
		t.end(p)
	case "completed":
		if p.opened && t.current != nil {
			it.turn = t.current
			it.end = t.close(slices.Clone(t.current.prompts), Lost)
		}
	}
	return it, begun
}
