package plan

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
)

// second is the second prompt of the exploration. With it there are millions of worlds,
// which takes minutes and gigabytes.
var second = flag.String("second", "none", "explore with a second prompt: none, plain or steering")

// TestExplore visits every world that a small conversation can come to, and holds the
// invariants in each:
//
//	LONG_TESTS=1 go test ./fleet/internal/plan -v
//	LONG_TESTS=1 go test ./fleet/internal/plan -v -second steering
//
// On the quick level it visits those that are nearest to the beginning, and leaves out what
// only the whole shows: Rest and Bounded.
func TestExplore(t *testing.T) {
	steers, known := map[string][]bool{"none": nil, "plain": {false}, "steering": {true}}[*second]
	if !known {
		t.Fatalf("-second %s: want none, plain or steering", *second)
	}
	explore(t, steers, long.Pick(40_000, math.MaxInt))
}

// enough worlds were visited if an invariant is broken already.
const enough = 300_000

func explore(t *testing.T, steers []bool, most int) {
	x := &explorer{steers: steers, ids: make(map[world]int32), broken: make(map[string]trail)}
	x.visit(world{}, -1, "")
	for at := 0; at < min(len(x.worlds), most); at++ {
		if x.follow(int32(at)); len(x.worlds) > enough && len(x.broken) > 0 {
			break // rules that break grow without need
		}
	}
	rest := len(x.worlds) - len(x.byItself)
	if rest == 0 {
		x.rest()
		x.bounded()
	}
	t.Logf("%d worlds, %d events, depth %d; %d worlds are left", len(x.byItself), x.events, slices.Max(x.depth), rest)
	if len(x.worlds) < 1000 {
		t.Errorf("only %d worlds: the model does not move", len(x.worlds))
	}
	for what, way := range x.broken {
		t.Errorf("%s (%d times), first by:\n%s", what, way.count, x.way(way))
	}
}

// explorer visits worlds breadth first, so that the first way to each is a shortest one.
type explorer struct {
	steers []bool
	worlds []world
	ids    map[world]int32
	came   []step32
	depth  []int32
	events int
	broken map[string]trail

	byItself, unaided [][]int32 // where events lead that need no person; the latter with mishaps
	starts            [][2]int32
}

// step32 is the event by which a world was first reached.
type step32 struct {
	from int32
	name string
}

// trail leads to a broken invariant.
type trail struct {
	at    int32
	last  string
	count int
}

func (x *explorer) visit(w world, from int32, name string) int32 {
	if id, known := x.ids[w]; known {
		return id
	}
	id := int32(len(x.worlds))
	x.ids[w], x.worlds, x.came = id, append(x.worlds, w), append(x.came, step32{from, name})
	depth := int32(0)
	if from >= 0 {
		depth = x.depth[from] + 1
	}
	x.depth = append(x.depth, depth)
	return id
}

func (x *explorer) complain(what string, at int32, last string) {
	way, known := x.broken[what]
	if !known {
		way = trail{at: at, last: last}
	}
	way.count++
	x.broken[what] = way
}

func (x *explorer) follow(at int32) {
	w := x.worlds[at]
	if resting(&w) {
		if what := unfinished(&w); what != "" {
			x.complain(what, at, "rests")
		}
	}
	var alone, unaided []int32
	s := &scene{world: w, steers: x.steers}
	for _, e := range s.events() {
		x.events++
		to := x.visit(e.to, at, e.name)
		if e.broken != "" {
			x.complain(e.broken, at, e.name)
		}
		if e.kind == byItself {
			alone = append(alone, to)
		}
		if e.kind != people {
			unaided = append(unaided, to)
			if e.starts {
				x.starts = append(x.starts, [2]int32{at, to})
			}
		}
	}
	x.byItself, x.unaided = append(x.byItself, alone), append(x.unaided, unaided)
}

// resting reports whether nothing is left to do.
func resting(w *world) bool {
	for _, o := range w.o {
		if o.turn != 0 || o.planned {
			return false
		}
	}
	d := Next(w.state(), limits)
	return d.Line == nil && d.Changes == nil && (d.Step == Sleep || d.Step == Erase && w.s.deleted == 3)
}

// unfinished returns the invariant that a world at rest breaks.
func unfinished(w *world) string {
	waits := w.s.p[0].in == 1 && w.s.p[0].waits && w.s.q.asked && w.s.q.stage == Open && w.t.d
	for _, p := range w.s.p {
		switch {
		case p.in == 2 && p.out == Pending:
			return "Kept: a prompt is gone without an outcome"
		case p.in == 1 && (p.cancelled || p.interrupted):
			return "Prompts end: one rests that was cancelled or interrupted"
		case p.in == 1 && w.s.stuck == 0 && !waits:
			return "Prompts end: one rests and waits for nothing"
		}
	}
	q := w.s.q
	switch {
	case !q.over() && !waits && !(w.s.stuck != 0 && q.stage != Open && w.t.d): // it is used when the prompt is tried again
		return "Questions end: one stays"
	case !q.over() && w.s.deleted == 3:
		return "Deleted: a question stays"
	case w.t.d && w.t.r[0] == None && w.s.p[0].in == 2 && !q.over():
		return "Gated: the deferred call of a prompt that has ended can still be made"
	}
	return ""
}

// rest looks for worlds from which rest cannot be reached without help.
func (x *explorer) rest() {
	back := make([][]int32, len(x.worlds))
	for from, all := range x.byItself {
		for _, to := range all {
			back[to] = append(back[to], int32(from))
		}
	}
	reached := make([]bool, len(x.worlds))
	var queue []int32
	for i := range x.worlds {
		if resting(&x.worlds[i]) {
			reached[i] = true
			queue = append(queue, int32(i))
		}
	}
	for len(queue) > 0 {
		at := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, from := range back[at] {
			if !reached[from] {
				reached[from] = true
				queue = append(queue, from)
			}
		}
	}
	for i := range x.worlds {
		if !reached[i] {
			x.complain("Rest: it cannot be reached", int32(i), "")
		}
	}
}

// bounded looks for starts of CLIs that can follow each other without end and without a
// person: both ends of the event are in one strongly connected component.
func (x *explorer) bounded() {
	component := components(x.unaided)
	for _, e := range x.starts {
		if component[e[0]] == component[e[1]] {
			x.complain("Bounded: CLIs are started for a prompt without end", e[0], "")
		}
	}
}

// way is the shortest way to a broken invariant.
func (x *explorer) way(t trail) string {
	steps := []string{t.last}
	for at := t.at; x.came[at].from >= 0; at = x.came[at].from {
		steps = append(steps, x.came[at].name)
	}
	slices.Reverse(steps)
	var b strings.Builder
	for i, s := range steps {
		fmt.Fprintf(&b, "%3d %s\n", i+1, s)
	}
	fmt.Fprintf(&b, "    in %+v", x.worlds[t.at])
	return b.String()
}

// components returns the strongly connected component of each node: Tarjan's algorithm,
// with a stack of its own because the graph is deep.
func components(edges [][]int32) []int32 {
	index, low, component := make([]int32, len(edges)), make([]int32, len(edges)), make([]int32, len(edges))
	onStack := make([]bool, len(edges))
	var stack []int32
	var walk []place
	count, next := int32(0), int32(1)
	enter := func(n int32) {
		index[n], low[n], onStack[n] = next, next, true
		next++
		stack = append(stack, n)
		walk = append(walk, place{n, 0})
	}
	for root := range edges {
		if index[root] != 0 {
			continue
		}
		for enter(int32(root)); len(walk) > 0; {
			at := &walk[len(walk)-1]
			if at.edge < len(edges[at.node]) {
				to := edges[at.node][at.edge]
				at.edge++
				if index[to] == 0 {
					enter(to)
				} else if onStack[to] {
					low[at.node] = min(low[at.node], index[to])
				}
				continue
			}
			node := at.node
			walk = walk[:len(walk)-1]
			if len(walk) > 0 {
				parent := walk[len(walk)-1].node
				low[parent] = min(low[parent], low[node])
			}
			if low[node] != index[node] {
				continue
			}
			for top := int32(-1); top != node; {
				top = stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				onStack[top], component[top] = false, count
			}
			count++
		}
	}
	return component
}

// place is how far the edges of a node were followed.
type place struct {
	node int32
	edge int
}
