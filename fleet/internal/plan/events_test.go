package plan

import (
	"fmt"
	"reflect"
	"slices"
)

// kind is who causes an event.
type kind uint8

const (
	byItself kind = iota
	mishap        // crashes, suspensions
	people        // and operators
)

// event is one way from a world to another.
type event struct {
	name   string
	kind   kind
	to     world
	broken string // the invariant that it breaks
	starts bool   // a CLI
}

// scene makes the events of a world.
type scene struct {
	world
	steers []bool // of the second prompt: plain, steering; empty: there is none
	all    []event
}

// add adds an event unless it changes nothing.
func (s *scene) add(k kind, name string, change func(w *world) string) {
	n := s.world
	broken := change(&n)
	for _, o := range s.o { // an owner that stores a line in a turn has made progress
		if o.turn == 0 {
			continue
		}
		if p := &n.s.p[o.turn-1]; n.t != s.t && p.in == 1 && *p == s.s.p[o.turn-1] {
			p.moved = true
		}
	}
	n = n.folded()
	if n != s.world || broken != "" {
		s.all = append(s.all, event{name: name, kind: k, to: n, broken: broken})
	}
}

func (s *scene) events() []event {
	s.people()
	for o := range s.o {
		s.process(o)
	}
	return s.all
}

// people adds the events that people cause.
func (s *scene) people() {
	live := s.s.deleted == 0
	if !live {
		return
	}
	for i, p := range s.s.p {
		steers := []bool{false}
		if i == 1 {
			steers = s.steers
		}
		for _, steer := range steers {
			if p.in == 0 {
				s.add(people, fmt.Sprintf("send %s (steer %v)", promptNames[i], steer), func(w *world) string {
					w.s.p[i] = prompt{in: 1, steer: steer, late: s.s.p[1-i].in != 0}
					return ""
				})
			}
		}
		if p.in == 1 && !p.cancelled && (!p.sent || s.s.stuck == uint8(i+1)) {
			s.add(people, "cancel "+promptNames[i], func(w *world) string { w.s.p[i].cancelled = true; return "" })
		}
	}
	if s.s.stuck != 0 {
		s.add(people, "retry", func(w *world) string {
			p := &w.s.p[w.s.stuck-1]
			p.begun, p.resets, w.s.stuck = 0, 0, 0
			return ""
		})
	}
	if s.s.p[0].in != 0 || s.s.p[1].in != 0 {
		s.add(people, "delete", func(w *world) string { w.s.deleted = 1; return "" })
	}
	if s.s.q.asked && s.s.q.stage == Open {
		s.add(people, "allow", func(w *world) string { w.s.q.stage, w.s.q.allowed = Decided, true; return "" })
		s.add(people, "deny", func(w *world) string { w.s.q.stage = Decided; return "" })
		s.add(people, "time passes", func(w *world) string { w.s.q.stage, w.s.q.overdue = Over, true; return "" })
	}
	if p := s.s.p[0]; p.in == 1 && p.sent && !p.cancelled && !s.acked { // it may be stuck since they looked
		s.add(people, "interrupt A", func(w *world) string { w.s.p[0].interrupted, w.acked = true, true; return "" })
	}
}

// actor makes the events of one process.
type actor struct {
	*scene
	me     uint8
	mine   owner
	fenced bool
}

func (a *actor) do(k kind, name string, change func(w *world, o *owner) string) {
	a.add(k, fmt.Sprintf("%d %s", a.me, name), func(w *world) string { return change(w, &w.o[a.me-1]) })
}

func (s *scene) process(o int) {
	a := &actor{s, uint8(o + 1), s.o[o], s.lease == uint8(o+1)}
	a.do(mishap, "crashes", func(w *world, o *owner) string { *o = owner{}; return "" })
	if !a.mine.has {
		a.acquire(s.o[1-o])
		return
	}
	if !a.fenced {
		a.do(byItself, "notices that its lease is lost", func(w *world, o *owner) string { *o = owner{}; return "" })
	}
	switch {
	case a.mine.turn != 0:
		a.works()
	case a.mine.planned:
		a.begins()
	case a.fenced:
		a.plans()
	}
}

func (a *actor) acquire(other owner) {
	take := func(w *world, o *owner) string { w.lease, o.has = a.me, true; return "" }
	switch {
	case a.lease == 0:
		a.do(byItself, "acquires", take)
	case !other.has:
		a.do(byItself, "takes over", take)
	case a.lease != a.me:
		a.do(mishap, "takes over from one that is suspended", take)
	}
}

// plans asks for the next decision. Changes are made at once, based on the revisions of
// all that was read; a line or a step comes later, and meanwhile things change.
func (a *actor) plans() {
	d := Next(a.state(), limits)
	brief := a.state()
	brief.Brief, brief.Questions, brief.Transcript.Turns = true, nil, nil
	if early := Next(brief, limits); early.Step != Read && !reflect.DeepEqual(early, d) {
		a.do(byItself, "plans too early", func(w *world, o *owner) string { return "the records alone lead to another decision" })
	}
	switch {
	case a.s.deleted != 0 && d.Step != Erase:
		a.do(byItself, "plans after the deletion", func(w *world, o *owner) string { return "Deleted: there is something to do" })
	case d.Line != nil:
		a.do(byItself, "plans a line", func(w *world, o *owner) string { o.planned, o.line = true, true; return "" })
	case d.Changes != nil:
		a.do(byItself, fmt.Sprintf("writes %T", d.Changes[0]), func(w *world, o *owner) string { return w.apply(d.Changes) })
		for n := 1; n < len(d.Changes); n++ {
			a.do(mishap, fmt.Sprintf("writes %d of %d and crashes, last %T", n, len(d.Changes), d.Changes[n-1]), func(w *world, o *owner) string {
				*o = owner{}
				return w.apply(d.Changes[:n])
			})
		}
	case d.Step == Erase && a.s.deleted == 1:
		a.do(byItself, "erases the questions", func(w *world, o *owner) string { w.s.q, w.s.deleted = question{}, 2; return "" })
	case d.Step == Erase && a.s.deleted == 2:
		a.do(byItself, "erases the rest", func(w *world, o *owner) string {
			for i := range w.s.p {
				if w.s.p[i].in == 1 {
					w.s.p[i] = prompt{in: 2, out: Cancelled}
				}
			}
			w.t, w.s.calls, w.s.deleted, w.s.stuck = lines{}, [2]bool{}, 3, 0
			return ""
		})
	case d.Step == Sleep || d.Step == Erase:
		a.do(byItself, "releases", func(w *world, o *owner) string { w.lease = 0; *o = owner{}; return "" })
	default:
		i := indexOf(d.Prompt.ID)
		a.do(byItself, "plans a step", func(w *world, o *owner) string {
			o.planned, o.step, o.i, o.snap = true, d.Step, uint8(i), a.s.p[i]
			return ""
		})
	}
}

// begins carries out the plan, if the records still lead to it.
func (a *actor) begins() {
	if a.mine.line {
		a.do(byItself, "appends the line", func(w *world, o *owner) string {
			*o = owner{has: true}
			if d := Next(w.state(), limits); a.fenced && d.Line != nil { // it has the id of the one that was planned
				w.append(d.Line)
			}
			return ""
		})
		return
	}
	i := int(a.mine.i)
	if !a.fenced || a.s.p[i] != a.mine.snap || a.s.deleted != 0 {
		a.do(byItself, "looks again", func(w *world, o *owner) string { *o = owner{has: a.fenced}; return "" })
		return
	}
	a.do(byItself, "begins "+promptNames[i], func(w *world, o *owner) string {
		st := a.state()
		d := st.begin(st.stand(a.prompt(i), limits), limits)
		if d.Line != nil || d.Changes != nil || d.Step != a.mine.step { // something else has changed
			*o = owner{has: true}
			return ""
		}
		p := &w.s.p[i]
		p.begun, p.resets = counted(d.Prompt.Begun, limits.Attempts), counted(d.Prompt.Resets, limits.Resets)
		p.sent, p.waits, p.moved = true, false, false
		*o = owner{has: true, step: d.Step, turn: uint8(i + 1)}
		for c := range 2 {
			told := slices.Contains(d.Tell, callNames[c])
			o.knows[c] = w.t.c[c] || w.t.n[c] || told
			if d.Step == Send && a.lost(c) && !told {
				return "Not blind: a prompt is sent and the model does not read of a call that was lost"
			}
		}
		if d.Step == Finish {
			o.phase[0] = asks
			if w.t.c[1] && w.t.r[1] == None { // the CLI forgets the other calls of the answer
				w.t.c[1], o.knows[1] = false, w.t.n[1]
			}
		}
		if d.Step == Resume {
			w.t.after = false
		}
		return a.order(i, d.Step)
	})
	if last := len(a.all) - 1; last >= 0 && a.all[last].to.o != a.o {
		a.all[last].starts = true
	}
}

// counted is a count in a world: behind its limit it stays, or rules that
// count without end would have worlds without end.
func counted(n, limit int) uint8 { return uint8(min(n, limit+1)) }

// order returns the invariant that is broken if a prompt begins now.
func (a *actor) order(i int, step Step) string {
	p, other := a.s.p[i], a.s.p[1-i]
	before := other.in == 1 && !other.cancelled
	switch {
	case p.interrupted, i == 1 && a.t.mid && (a.s.p[0].interrupted || a.s.p[0].out.stops()):
		return "Stopped: a turn continues that was interrupted"
	case !a.s.q.over() && !(step == Finish && a.t.d && a.t.r[0] == None):
		return "Questions end: a CLI works, and one is open that it will not ask"
	case step == Finish && a.s.q.asked && a.s.q.stage == Over && a.s.q.overdue && a.t.d:
		return "Prompts end: a CLI works on one whose question has expired"
	case before && p.late && !p.steer && !p.sent && !other.steer:
		return "Ordered: a prompt overtakes one that was accepted before it"
	case before && step == Send && other.sent && a.t.u[1-i] && !a.t.e[1-i]:
		return "Ordered: a turn begins while that of another is not over"
	}
	return ""
}

// works adds the events of a CLI that works on a turn.
func (a *actor) works() {
	t := int(a.mine.turn) - 1
	a.do(mishap, "loses its CLI", func(w *world, o *owner) string { *o = owner{has: true}; return "" })
	if a.fenced {
		a.do(people, "closes in order", func(w *world, o *owner) string {
			if p := &w.s.p[t]; p.begun > 0 {
				p.begun-- // an attempt that ends in order does not count
			}
			w.lease = 0
			*o = owner{}
			return ""
		})
		if a.s.deleted != 0 {
			a.do(byItself, "stops for the deletion", func(w *world, o *owner) string { *o = owner{has: true}; return "" })
			return
		}
		a.stores(t)
	}
	if t == 0 {
		a.calls()
	}
}

// stores adds the writes of a CLI and its owner under the lease.
func (a *actor) stores(t int) {
	if !a.t.u[t] {
		a.do(byItself, "stores the prompt", func(w *world, o *owner) string {
			w.t.u[t] = true
			for c := range 2 { // what was told comes with it
				w.t.n[c] = w.t.n[c] || o.knows[c] && !w.t.c[c]
			}
			return ""
		})
		return
	}
	a.do(byItself, "stores a sentence", func(w *world, o *owner) string { w.s.p[t].moved = true; return "" })
	ready := true
	if t == 0 {
		ready = a.storesCalls()
		a.steersTurn()
	}
	if ready {
		a.do(byItself, "stores the answer", func(w *world, o *owner) string {
			w.t.e[t] = true
			*o = owner{has: true}
			return ""
		})
	}
}

// storesCalls adds the writes about the calls of the first turn. It reports whether the
// turn can end.
func (a *actor) storesCalls() (ready bool) {
	m := a.mine
	if a.s.p[0].interrupted && (m.phase[0].going() || m.phase[1].going()) {
		a.do(byItself, "interrupts the CLI", func(w *world, o *owner) string {
			for c := range 2 {
				if o.phase[c].going() {
					o.phase[c] = refused
				}
			}
			return ""
		})
	}
	ready = true
	for c := range 2 {
		if m.step == Resume && a.t.c[c] && a.t.r[c] == None && !a.fresh(c) {
			a.do(byItself, "stores that the outcome of "+callNames[c]+" is unknown", func(w *world, o *owner) string { w.t.r[c] = Lost; return "" })
			return false
		}
	}
	for c := range 2 {
		if m.phase[c] == idle {
			continue
		}
		if a.t.r[c] == None || !a.t.c[c] {
			ready = false
		}
		inOrder := c == 0 || m.phase[0] == idle || a.t.c[0] || !a.fresh(0)
		if !a.t.c[c] && a.fresh(c) && inOrder {
			a.do(byItself, "stores "+callNames[c], func(w *world, o *owner) string { w.t.c[c] = true; return "" })
		}
		if (m.phase[c] == hasRun || m.phase[c] == refused) && a.t.c[c] && a.t.r[c] == None {
			a.do(byItself, "stores the result of "+callNames[c], func(w *world, o *owner) string {
				w.t.r[c] = Ran
				if o.phase[c] == refused {
					w.t.r[c] = Refused
				}
				return ""
			})
		}
	}
	if q := a.s.q; q.asked && q.stage != Over && (m.phase[0] == hasRun && q.stage == Released || m.phase[0] != idle && a.t.r[0] != None) {
		a.do(byItself, "ends the question with its call", func(w *world, o *owner) string {
			w.s.q.unused = q.stage == Decided
			w.s.q.stage = Over
			return ""
		})
	}
	a.gate()
	return ready
}

// fresh reports whether a call was made by this CLI, and is not the deferred one.
func (a *actor) fresh(c int) bool {
	return a.mine.phase[c] != idle && (a.mine.step != Finish || c != 0)
}

// steersTurn gives the second prompt to the turn of the first.
func (a *actor) steersTurn() {
	p := a.s.p[1]
	if p.in == 1 && p.steer && !p.sent && !p.cancelled && a.mine.given == 0 && !a.s.p[0].interrupted {
		a.do(byItself, "gives B to the CLI", func(w *world, o *owner) string {
			q := &w.s.p[1]
			q.sent, q.moved, q.begun, o.given = true, false, counted(int(q.begun)+1, limits.Attempts), 1
			return ""
		})
	}
	if a.mine.given != 1 {
		return
	}
	if a.t.r[0] != None || a.t.r[1] != None {
		a.do(byItself, "stores that B was taken in", func(w *world, o *owner) string { w.t.u[1], w.t.mid, o.given = true, true, 2; return "" })
	}
	a.do(byItself, "takes B back", func(w *world, o *owner) string {
		q := &w.s.p[1]
		q.sent, o.given = false, 3
		if q.begun > 0 {
			q.begun--
		}
		return ""
	})
}

// gate adds the events of the gate about call 0.
func (a *actor) gate() {
	m, q := a.mine, a.s.q
	if m.phase[0] != asks {
		return
	}
	if !q.asked && a.fresh(0) {
		a.do(byItself, "asks a person", func(w *world, o *owner) string { w.s.q = question{asked: true}; return "" })
	}
	alone := m.phase[1] == idle || a.t.c[1] && a.t.r[1] != None
	if q.asked && q.stage == Open && alone && m.given != 1 && a.t.c[0] {
		a.do(byItself, "defers", func(w *world, o *owner) string {
			w.t.d = true
			*o = owner{has: true}
			return ""
		})
	}
	if !q.asked || q.stage == Open {
		return
	}
	a.do(byItself, "acts on the decision", func(w *world, o *owner) string {
		if q.stage == Decided && q.allowed {
			w.s.q.stage, o.phase[0] = Released, freed
			return a.afterInterrupt()
		}
		if q.stage != Over {
			w.s.q.stage = Over
		}
		o.phase[0] = refused
		return ""
	})
}

// afterInterrupt returns the invariant that is broken if a call is let go now.
func (a *actor) afterInterrupt() string {
	if a.acked && !a.s.p[0].interrupted {
		return "Stopped: a call begins after its turn was interrupted"
	}
	return ""
}

// calls adds the events of calls with or without the lease.
func (a *actor) calls() {
	m := a.mine
	for c := range 2 {
		mayCall := m.phase[c] == idle && a.t.r[c] == None && !m.knows[c] && (m.step != Finish || a.t.r[0] != None)
		if mayCall && (a.t.u[0] || m.step == Send) {
			a.do(byItself, "makes "+callNames[c], func(w *world, o *owner) string {
				o.phase[c] = asks
				if c == 0 && a.fenced && !a.t.c[0] { // another id is another question
					left := !w.s.q.over()
					w.s.q = question{}
					if left {
						return "Questions end: one is left behind"
					}
				}
				return ""
			})
		}
		if m.phase[c] == letGo {
			a.runs(c)
		}
	}
	for c, from := range [2]phase{freed, asks} {
		if m.phase[c] == from && a.fenced {
			a.do(byItself, "lets "+callNames[c]+" go", func(w *world, o *owner) string {
				o.phase[c], w.s.calls[c] = letGo, !a.t.c[c]
				return a.afterInterrupt()
			})
		}
	}
	if m.phase[0] == asks && !a.odd {
		a.do(people, "another hook denies call 0", func(w *world, o *owner) string { o.phase[0], w.odd = refused, true; return "" })
	}
}

func (a *actor) runs(c int) {
	a.do(byItself, "runs "+callNames[c], func(w *world, o *owner) string {
		o.phase[c] = hasRun
		w.runs[c] = min(w.runs[c]+1, 2)
		switch {
		case w.runs[c] == 2 && !o.knows[c]:
			return "Not blind: " + callNames[c] + " runs again, and the model has not read of the first"
		case c == 0 && a.fenced && !a.s.q.allowed:
			return "Gated: a call runs undecided"
		}
		return ""
	})
}
