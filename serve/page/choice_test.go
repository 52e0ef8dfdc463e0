package page

import (
	"slices"
	"testing"
)

// A choice has exactly one selected option, the current value.
func TestOptionsOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		now, own string
		offered  []string
		want     []string // the selected one with a star
	}{
		{"", "", []string{"plan", "acceptEdits"}, []string{"*=Default", "plan=Plan only", "acceptEdits=Accept edits"}},
		{"plan", "", []string{"plan"}, []string{"=Default", "*plan=Plan only"}},
		{"", "default", []string{"default", "plan"}, []string{"*=Default (Ask before acting)", "plan=Plan only"}},
		{"default", "default", []string{"plan"}, []string{"*=Default (Ask before acting)", "plan=Plan only"}},
		{"acceptEdits", "default", []string{"plan"}, []string{"=Default (Ask before acting)", "plan=Plan only", "*acceptEdits=Accept edits"}},
		{"plan", "default", nil, []string{"=Default (Ask before acting)", "*plan=Plan only"}},
		{"", "default", []string{"default", "default"}, []string{"*=Default (Ask before acting)"}},
		{"", "", nil, []string{"*=Default"}},
	} {
		var got []string
		for _, o := range optionsOf(c.now, c.own, c.offered, modeName) {
			star := ""
			if o.Selected {
				star = "*"
			}
			got = append(got, star+o.Value+"="+o.Text)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q of %q and %q: %q, want %q", c.now, c.own, c.offered, got, c.want)
		}
	}
}
