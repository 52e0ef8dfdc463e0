package fleet

import (
	"fmt"
	"slices"
	"testing"
)

// interleave calls a function with every order of some sequences of steps.
func interleave(steps [][]func(*record), done []func(*record), check func([]func(*record))) {
	rest := false
	for i, s := range steps {
		if len(s) == 0 {
			continue
		}
		rest = true
		next := slices.Clone(steps)
		next[i] = s[1:]
		interleave(next, append(slices.Clone(done), s[0]), check)
	}
	if !rest {
		check(done)
	}
}

// Whatever callers choose at once, and in whichever order the CLI refuses what is mistyped, a
// model stays that was not refused: the one that was chosen, or else the one before.
func TestRefusedModelsAreNotKept(t *testing.T) {
	caller := func(model string, refused bool) []func(*record) {
		steps := []func(*record){func(r *record) { r.chooseModel(model) }}
		if refused {
			steps = append(steps, func(r *record) { r.refuseModel(model) })
		}
		return steps
	}
	for _, before := range []string{"", "opus"} {
		for _, tt := range []struct {
			want    string
			callers [][]func(*record)
		}{
			{before, [][]func(*record){caller("sonet", true)}},
			{before, [][]func(*record){caller("sonet", true), caller("opsu", true)}},
			{before, [][]func(*record){caller("sonet", true), caller("sonet", true), caller("opsu", true)}},
			{before, [][]func(*record){caller("sonet", true), caller("opsu", true), caller("hiaku", true)}},
			{"haiku", [][]func(*record){caller("sonet", true), caller("haiku", false), caller("opsu", true)}},
			{"haiku", [][]func(*record){caller("haiku", false), caller("sonet", true), caller("haiku", false)}},
		} {
			orders := 0
			interleave(tt.callers, nil, func(steps []func(*record)) {
				orders++
				r := record{Model: before}
				trail := ""
				for _, do := range steps {
					do(&r)
					trail += fmt.Sprintf(" %q%q", r.Model, r.Models)
				}
				if r.Model != tt.want {
					t.Errorf("after %q: %s, want %q", before, trail, tt.want)
				}
			})
			if orders == 0 {
				t.Error("nothing was tried")
			}
		}
	}
	// The names before do not pile up.
	r := record{}
	for i := range 100 {
		r.chooseModel(fmt.Sprint("m", i))
		r.chooseModel(fmt.Sprint("m", i))
	}
	if want := []string{"m98", "m97", "m96", "m95"}; !slices.Equal(r.Models, want) {
		t.Errorf("it remembers %q, want %q", r.Models, want)
	}
}
