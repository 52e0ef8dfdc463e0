package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
)

// The screens of a list have every item once, in order, and lead to each other, whatever
// is asked for.
func TestPager(t *testing.T) {
	t.Parallel()
	for _, items := range []int{0, 1, maxCards - 1, maxCards, maxCards + 1, 3*maxCards + 7} {
		seen, address := 0, "/?q=x"
		for p := newPager("", items, address); ; p = newPager(p.Next[strings.LastIndex(p.Next, "=")+1:], items, address) {
			if p.from != seen || p.to-p.from > maxCards || p.Last != p.to || p.to > 0 && p.First != p.from+1 || (p.Previous == "") != (seen == 0) {
				t.Fatalf("%d items: %+v after %d", items, p, seen)
			}
			if seen = p.to; p.Next == "" {
				break
			}
		}
		if seen != items {
			t.Errorf("%d of %d items", seen, items)
		}
		for _, asked := range []string{"0", "-1", "x", "99999", "9999999999999999999999"} {
			if p := newPager(asked, items, "/"); p.from > p.to || p.to > items || p.from < 0 || items > 0 && p.from == p.to {
				t.Errorf("page %s of %d items: %+v", asked, items, p)
			}
		}
	}
}

// Approvals of a conversation follow each other, in the order of the conversation that
// has waited longest; each is there once.
func TestGroups(t *testing.T) {
	t.Parallel()
	var all []api.Approval
	for i, c := range strings.Split("b a b c a a", " ") {
		all = append(all, api.Approval{ID: fmt.Sprint(i), Conversation: c})
	}
	got := ""
	bare := func(a *api.Approval) card { return card{Approval: *a} }
	for _, g := range newPager("", len(all), "/").groups(all, bare) {
		got += g.ID + fmt.Sprint(g.Several()) + ":"
		for _, c := range g.Cards {
			got += c.ID
		}
		got += " "
	}
	if got != "btrue:02 atrue:145 cfalse:3 " {
		t.Error(got)
	}

	// Of two conversations that ask in turn, the first fills the first screen.
	all = nil
	for i := range 2 * maxCards {
		all = append(all, api.Approval{ID: fmt.Sprint(i), Conversation: strings.Split("a b", " ")[i%2]})
	}
	for screen, want := range map[string]string{"1": "a", "2": "b"} {
		if groups := newPager(screen, len(all), "/").groups(all, bare); len(groups) != 1 || groups[0].ID != want || len(groups[0].Cards) != maxCards {
			t.Errorf("screen %s has %d groups, want one of %s with %d cards", screen, len(groups), want, maxCards)
		}
	}
}

// Only calls of the same tool with the same members are alike.
func TestShape(t *testing.T) {
	t.Parallel()
	shape := func(tool, input string) string { return shapeOf(&api.Approval{Tool: tool, Input: []byte(input)}) }
	same := shape("Bash", `{"command":"a","timeout":1}`)
	if same != shape("Bash", `{"timeout":2,"command":"rm"}`) {
		t.Error("two of the same shape differ")
	}
	for _, other := range []string{shape("Bash", `{"command":"a"}`), shape("Edit", `{"command":"a","timeout":1}`), shape("Bash", `{"command":"a","timeout":1,"x":0}`), shape("Bash", `[]`), shape("Bash", `{`)} {
		if other == same {
			t.Error("two different shapes are the same")
		}
	}
}
