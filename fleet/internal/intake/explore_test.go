package intake_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/fleet/internal/intake"
	"github.com/claude-agent-go/claude/message"
)

// world is a fleet, its CLI, and the frames between them. The prompt "main" runs when it
// begins; the others steer.
type world struct {
	in intake.State[string]

	// The fleet.
	waiting []string       // recorded, not sent
	shut    bool           // a call is being deferred
	ended   map[string]int // how often a prompt was ended

	// The CLI.
	seen   []string // all that it ever got
	queue  []string // of them, those that it has not begun
	turn   string   // whose turn runs; empty: none
	took   []string // what the turn has taken in
	frames []string // not yet read: "queued a", "started a", "result main a"
	again  int      // frames that may still come twice
}

// key is the same only for worlds that nothing can distinguish.
func (w *world) key() string {
	return fmt.Sprint(w.in.Given(), w.in.Taken(), w.in.HasRoom(), w.in.Used("a"), w.in.Used("b"), w.in.Used("c"), w.waiting, w.shut, w.ended, w.seen, w.queue, w.turn, w.took, w.frames, w.again)
}

// play makes the world to which events lead. A State cannot be copied.
func play(t *testing.T, way []string) *world {
	w := &world{waiting: []string{"a", "b", "c"}, turn: "main", frames: []string{"started main"}, again: 1, ended: make(map[string]int)}
	for _, e := range way {
		w.on(t, e)
	}
	return w
}

// events are what can happen next.
func (w *world) events() (all []string) {
	if len(w.waiting) > 0 && w.in.HasRoom() {
		all = append(all, "give", "give and fail")
	}
	if w.shut {
		all = append(all, "open")
	} else {
		all = append(all, "shut")
	}
	if w.shut {
		for _, id := range w.in.Given() {
			all = append(all, "back "+id)
		}
	}
	if len(w.queue) > 0 {
		all = append(all, "begin")
	}
	if w.turn != "" {
		all = append(all, "end")
	}
	if len(w.frames) > 0 {
		all = append(all, "read")
		if w.again > 0 && strings.HasPrefix(w.frames[0], "started") {
			all = append(all, "read twice")
		}
	}
	return all
}

func (w *world) on(t *testing.T, event string) {
	what, id, _ := strings.Cut(event, " ")
	switch what {
	case "give":
		id := w.waiting[0]
		w.waiting = w.waiting[1:]
		if !w.in.Use(id) {
			return // for another CLI
		}
		w.in.Give(id, id)
		if event == "give and fail" { // and the CLI has not got it
			w.in.Forget(id)
			return
		}
		if slices.Contains(w.seen, id) {
			t.Errorf("%s is given twice", id)
		}
		if w.shut {
			t.Errorf("%s is given while a call is deferred", id)
		}
		w.seen, w.queue = append(w.seen, id), append(w.queue, id)
		w.frames = append(w.frames, "queued "+id)
		if len(w.queue) > 1 {
			t.Errorf("the CLI has %q and would put them into one turn", w.queue)
		}
	case "shut":
		w.in.Shut()
		w.shut = true
	case "open":
		w.in.Open()
		w.shut = false
	case "back":
		if i := slices.Index(w.queue, id); i >= 0 { // else the CLI has begun it
			w.queue = slices.Delete(w.queue, i, i+1)
			w.in.Forget(id)
			w.waiting = append(w.waiting, id)
		}
	case "begin":
		id := w.queue[0]
		w.queue = w.queue[1:]
		w.frames = append(w.frames, "started "+id)
		if w.turn == "" {
			w.turn = id
		} else {
			w.took = append(w.took, id)
		}
	case "end":
		w.frames = append(w.frames, strings.Join(append([]string{"result", w.turn}, w.took...), " "))
		w.turn, w.took = "", nil
	case "read":
		frame := w.frames[0]
		if event == "read twice" {
			w.again--
		} else {
			w.frames = w.frames[1:]
		}
		w.read(t, frame)
	}
}

// read takes a frame in, as a fleet does.
func (w *world) read(t *testing.T, frame string) {
	what, rest, _ := strings.Cut(frame, " ")
	if what != "result" {
		had := w.in.HasRoom()
		if room := w.in.On(&message.CommandLifecycle{CommandUUID: rest, State: message.CommandState(what)}); room && had {
			t.Errorf("%s makes room where there was some", frame)
		}
		return
	}
	r := &message.Result{Prompts: strings.Fields(rest)}
	if of := w.in.Turn(r); of != "" && of != r.Prompts[0] && r.Prompts[0] != "main" {
		t.Errorf("%s ends the turn of %s", frame, of)
	}
	if slices.Contains(w.in.Answered(r, ""), "main") {
		t.Errorf("%s answers a prompt that the CLI was not given while it ran", frame)
	}
	for _, id := range w.in.Answered(r, "main") {
		w.in.Forget(id)
		w.ended[id]++
	}
}

// hold checks what must hold in every world.
func (w *world) hold(t *testing.T) {
	for _, id := range w.in.Taken() {
		if !w.in.Has(id) {
			t.Errorf("%s is taken, and was not given", id)
		}
	}
	for id, n := range w.ended {
		if n > 1 || !slices.Contains(w.seen, id) {
			t.Errorf("%s has ended %d times", id, n)
		}
	}
	if len(w.frames)+len(w.queue) > 0 || w.turn != "" {
		return
	}
	if w.in.HasAny() {
		t.Errorf("the CLI is at rest, and %q have no end", w.in.Given())
	}
	if !w.shut && !w.in.HasRoom() {
		t.Error("the CLI is at rest, and gets nothing more")
	}
}

// Every order of events of three prompts that steer.
func TestExplore(t *testing.T) {
	seen := make(map[string]bool)
	deepest, events := 0, 0
	for next := [][]string{nil}; len(next) > 0 && !t.Failed(); {
		way := next[0]
		next = next[1:]
		w := play(t, way)
		if seen[w.key()] {
			continue
		}
		seen[w.key()] = true
		deepest = max(deepest, len(way))
		if w.hold(t); t.Failed() {
			t.Logf("by %q", way)
			break
		}
		for _, e := range w.events() {
			events++
			next = append(next, append(slices.Clone(way), e))
		}
	}
	t.Logf("%d worlds, %d events, depth %d", len(seen), events, deepest)
	if !t.Failed() && len(seen) < 1000 {
		t.Error("the model does not move")
	}
}
