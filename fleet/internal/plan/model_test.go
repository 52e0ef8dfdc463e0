package plan

import "fmt"

// The model is a small conversation with everything that can happen to it: up to two
// prompts, of which the second may steer; two calls in the turn of the first, of which
// call 0 needs a person; and two processes, each of which can die, be suspended, and be
// overtaken. Every value is comparable and small, so that states can be counted.

// world is the state of the store and of memory, and what has really happened.
type world struct {
	s     records
	t     lines
	lease uint8 // 0: free, else 1 + owner
	o     [2]owner
	runs  [2]uint8 // how often the tool of each call has run, whatever its id
	acked bool     // a person was told that the first turn is interrupted
	odd   bool     // a hook of a settings file has denied call 0
}

// records are the records of the conversation.
type records struct {
	deleted uint8 // 0: no, 1: begun, 2: its questions are gone, 3: nothing is left
	stuck   uint8 // 0: no, else 1 + prompt
	p       [2]prompt
	q       question // about call 0
	calls   [2]bool  // let go, and on record
}

type prompt struct {
	in                     uint8 // 0: not accepted yet, 1: in the queue, 2: out of it
	late                   bool  // accepted after the other
	sent, steer            bool
	cancelled, interrupted bool
	waits                  bool // for the question
	moved                  bool // its turn has a line since the attempt began
	begun, resets          uint8
	out                    Outcome
}

type question struct {
	asked   bool
	stage   Stage
	allowed bool
	overdue bool
	unused  bool // its decision is stored as not used
}

func (q question) over() bool { return !q.asked || q.stage == Over }

// lines is the transcript.
type lines struct {
	u     [2]bool   // it has the prompt
	mid   bool      // the second prompt was taken into the turn of the first
	c     [2]bool   // it has the call
	r     [2]Result // and its result
	n     [2]bool   // a note names the call
	after bool      // the note comes after calls without a result
	d     bool      // call 0 is deferred
	e     [2]bool   // the prompt is answered
}

// owner is a process. What it has is lost with it.
type owner struct {
	has     bool // it thinks that it has the lease
	planned bool
	line    bool // what is planned is a line
	step    Step // what is planned, or what the CLI was started for
	i       uint8
	snap    prompt
	turn    uint8 // that a CLI works on: 0: none, else 1 + prompt
	phase   [2]phase
	knows   [2]bool // the model can read about an earlier call
	given   uint8   // the second prompt: 1: given to the CLI, 2: taken in, 3: taken back
}

// phase is how far a call has come in the CLI of an owner.
type phase uint8

const (
	idle    phase = iota
	asks          // its hook waits
	freed         // its question is released, and it is not on record
	letGo         // the hook has allowed it
	hasRun        // and the tool has run
	refused       // or it was denied
)

// going reports whether a call has begun and not ended.
func (p phase) going() bool { return p == asks || p == freed || p == letGo }

var limits = Rules{Attempts: 2, Resets: 1}

// names of the model in a State.
var (
	promptNames = [2]string{"A", "B"}
	callNames   = [2]string{"call 0", "call 1"}
)

// state makes a State from the stored parts of the world.
func (w *world) state() State {
	s := State{
		Conversation: Conversation{Deleted: w.s.deleted != 0},
		Outcomes:     make(map[string]Outcome),
		Transcript:   Facts{Turns: make(map[string]Turn), Calls: make(map[string]Result), Noted: make(map[string]bool)},
	}
	if w.s.stuck != 0 {
		s.Conversation.Stuck = promptNames[w.s.stuck-1]
	}
	for _, i := range w.order() {
		s.Prompts = append(s.Prompts, w.prompt(i))
	}
	for i, p := range w.s.p {
		if p.in == 2 {
			s.Outcomes[promptNames[i]] = p.out
		}
		if w.t.u[i] {
			s.Transcript.Turns[promptNames[i]] = w.turnOf(i)
		}
	}
	if q := w.s.q; q.asked {
		s.Questions = []Question{{ID: "question", Call: callNames[0], Stage: q.stage, Overdue: q.overdue}}
	}
	for c, name := range callNames {
		if w.s.calls[c] {
			s.Calls = append(s.Calls, name)
		}
		if w.t.c[c] {
			s.Transcript.Calls[name] = w.t.r[c]
		}
		if w.t.n[c] {
			s.Transcript.Noted[name] = true
		}
	}
	return s
}

// order is that of acceptance.
func (w *world) order() (all []int) {
	first := 0
	if w.s.p[0].late {
		first = 1
	}
	for _, i := range []int{first, 1 - first} {
		if w.s.p[i].in == 1 {
			all = append(all, i)
		}
	}
	return all
}

func (w *world) prompt(i int) Prompt {
	p := w.s.p[i]
	made := Prompt{
		ID: promptNames[i], Sent: p.sent, Steer: p.steer, Cancelled: p.cancelled, Interrupted: p.interrupted,
		Begun: int(p.begun), Resets: int(p.resets),
	}
	if p.waits {
		made.Question = "question"
	}
	return made
}

func (w *world) turnOf(i int) Turn {
	turn := Turn{Standing: Cut, Of: promptNames[i]}
	of := i
	if i == 1 && w.t.mid {
		of, turn.Of = 0, promptNames[0]
	}
	if w.s.p[i].moved {
		turn.Last = "news"
	}
	if of == 0 {
		for c, name := range callNames {
			if w.t.c[c] && w.t.r[c] == None {
				turn.Open = append(turn.Open, name)
			}
		}
		turn.Noted = w.t.after
		if w.t.d && w.t.r[0] == None {
			turn.Standing, turn.Open = Deferred, callNames[:1]
		}
	}
	if w.t.e[of] {
		turn.Standing = Done
	}
	return turn
}

// apply makes changes. It returns the invariant that they break.
func (w *world) apply(all []Change) (broken string) {
	for _, c := range all {
		switch c := c.(type) {
		case End:
			i := indexOf(c.Prompt)
			p := &w.s.p[i]
			broken = w.endsAs(i, c.As)
			*p = prompt{in: 2, late: p.late, steer: p.steer, interrupted: p.interrupted, out: c.As}
		case Settle:
			if r := w.t.r[0]; w.s.q.stage != Released {
				broken = "Used or told: a question is settled whose call was not let go"
			} else if c.Result != r && (r != None || c.Result != Lost) {
				broken = "Used or told: a call is said to have ended otherwise than it did"
			}
			w.s.q.stage = Over
		case Withdraw:
			if w.s.q.stage == Released {
				broken = "Used or told: a question is withdrawn whose call may have run"
			}
			w.s.q.unused = w.s.q.stage == Decided
			w.s.q.stage = Over
		case Wait:
			p := &w.s.p[indexOf(c.Prompt)]
			p.waits, p.begun, p.resets = true, 0, 0
		case Stick:
			w.s.stuck = uint8(indexOf(c.Prompt) + 1)
		case Free:
			w.s.stuck = 0
		case Keep:
			for _, name := range c.Calls {
				w.s.calls[callOf(name)] = true
			}
		default:
			broken = fmt.Sprintf("the model does not know %T", c)
		}
	}
	return broken
}

// append adds a line of the plan to the transcript.
func (w *world) append(l Line) {
	switch l := l.(type) {
	case Defer:
		w.t.d = true
		if w.t.after { // it continues before the note
			w.t.n, w.t.after = [2]bool{}, false
		}
	case Note:
		for _, name := range l.Calls {
			w.t.n[callOf(name)] = true
		}
		for c := range w.t.c {
			w.t.after = w.t.after || w.t.c[c] && w.t.r[c] == None
		}
	}
}

// endsAs returns the invariant that is broken if a prompt ends in a way.
func (w *world) endsAs(i int, as Outcome) string {
	p, of := w.s.p[i], i
	if i == 1 && w.t.mid {
		of = 0
		if turn := w.s.p[0]; turn.in == 2 && turn.out.stops() && turn.out != as {
			return "Together: what a turn took in ends otherwise than the turn"
		}
	}
	right := false
	switch turn := w.s.p[of]; as {
	case Answered:
		right = w.t.e[of]
	case Cancelled:
		right = p.cancelled || turn.out == Cancelled
	case Interrupted:
		right = (p.interrupted || turn.out == Interrupted) && !(w.t.u[i] && w.t.e[of])
	case Expired:
		right = w.s.q.overdue && w.t.d || turn.out == Expired
	}
	if !right {
		return "Kept: a prompt ends otherwise than what has happened to it"
	}
	return ""
}

func indexOf(prompt string) int {
	if prompt == promptNames[1] {
		return 1
	}
	return 0
}

func callOf(name string) int {
	if name == callNames[1] {
		return 1
	}
	return 0
}

// lost reports whether a call was let go and the transcript does not show it.
func (w *world) lost(c int) bool {
	known := w.s.calls[c] || c == 0 && w.s.q.asked && w.s.q.stage == Released
	return known && !w.t.c[c] && !w.t.n[c]
}
