package page

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/show"
	"github.com/claude-agent-go/claude/serve/api"
)

// group holds the cards of one conversation, among those on the screen.
type group struct {
	ID, Where string // of the conversation
	Cards     []card
}

// Several reports whether the group has more than one card, and needs a heading.
func (g *group) Several() bool { return len(g.Cards) > 1 }

// byConversation sorts approvals, which come the oldest first, so that those of a
// conversation follow each other: the one whose oldest has waited longest is first.
func byConversation(all []api.Approval) []api.Approval {
	place := make(map[string]int)
	for i := range all {
		if _, known := place[all[i].Conversation]; !known {
			place[all[i].Conversation] = i
		}
	}
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b api.Approval) int { return cmp.Compare(place[a.Conversation], place[b.Conversation]) })
	return sorted
}

// groups makes the cards of this screen from all approvals of the inbox.
func (p pager) groups(inbox []api.Approval, make func(*api.Approval) card) (groups []group) {
	all := byConversation(inbox)[p.from:p.to]
	for i := range all {
		c := make(&all[i])
		if n := len(groups); n == 0 || groups[n-1].ID != c.Conversation {
			groups = append(groups, group{ID: c.Conversation, Where: c.Where})
		}
		last := &groups[len(groups)-1]
		last.Cards = append(last.Cards, c)
	}
	return groups
}

// pager divides a list into screens.
type pager struct {
	Here           string // the address of this screen
	Next, Previous string // of the others; empty: there is none
	First, Last    int    // the numbers of the items on this screen, from 1
	from, to       int
}

// newPager returns the screen of a list that a request asks for, or the nearest.
func newPager(asked string, items int, address string) pager {
	screens := max(1, (items+maxCards-1)/maxCards)
	n, _ := strconv.Atoi(asked) // anything else is the first
	n = min(max(1, n), screens)
	at := func(n int) string {
		switch {
		case n < 1 || n > screens:
			return ""
		case n == 1:
			return address
		}
		return address + map[bool]string{true: "&", false: "?"}[strings.Contains(address, "?")] + "page=" + strconv.Itoa(n)
	}
	p := pager{Here: at(n), Next: at(n + 1), Previous: at(n - 1), from: (n - 1) * maxCards}
	p.to = min(items, p.from+maxCards)
	p.First, p.Last = min(p.from+1, p.to), p.to
	return p
}

// pick lets an approval be decided together with others of its shape.
type pick struct {
	Value string // what the form sends
	Shape string
}

// pickOf returns the pick of an approval, nil if it has to be decided on its own:
// questions, plans and forms have answers of their own.
func pickOf(a *api.Approval) *pick {
	if a.Kind != api.KindTool || a.State != api.ApprovalPending || !a.MayDecide {
		return nil
	}
	return &pick{a.ID + " " + a.Digest, shapeOf(a)}
}

// shapeOf describes what approvals must have in common to be decided together: the tool,
// and the names of the members of its input.
func shapeOf(a *api.Approval) string {
	var members map[string]json.RawMessage
	_ = jsonx.Unmarshal(a.Input, &members) // an input that is not an object has no names
	return version(append([]string{a.Tool}, slices.Sorted(maps.Keys(members))...))
}

// severalView shows what a decision about several approvals would decide.
type severalView struct {
	Verb  string // allow or deny
	Cards []card
	Back  string
}

// several decides several approvals at once, after the user has confirmed that. Nothing
// is decided unless all of them are as the user has seen them.
func (p *page) several(q *request) error {
	if err := q.ParseForm(); err != nil {
		return err
	}
	verb, picked, back := q.PostForm.Get("decision"), q.PostForm["pick"], local(q.PostForm.Get("back"), "/")
	if verb != string(api.DecideAllow) && verb != string(api.DecideDeny) {
		return bad("The form names no decision. Load the page again.")
	}
	if len(picked) == 0 || len(picked) > maxCards {
		return bad(fmt.Sprintf("Choose between 1 and %d approvals. Nothing was decided.", maxCards))
	}
	view := severalView{Verb: verb, Back: back}
	var all []api.Approval
	for i, value := range picked {
		if slices.Contains(picked[:i], value) {
			continue
		}
		id, digest, _ := strings.Cut(value, " ")
		a, err := p.service.Approval(q.Context(), q.user, id)
		if err != nil {
			return err
		}
		switch {
		case pickOf(&a) == nil || a.Digest != digest:
			return &api.Problem{Title: "One of them is not what you saw", Status: http.StatusConflict, Detail: line(a.Title) + " was decided meanwhile, or has changed. Nothing was decided. Load the page again."}
		case len(all) > 0 && shapeOf(&a) != shapeOf(&all[0]):
			return bad("Only calls of the same tool with the same kind of input can be decided together. Nothing was decided.")
		}
		all = append(all, a)
		where := ""
		if c, err := p.service.Conversation(q.Context(), q.user, a.Conversation); err == nil {
			where = c.Title
		}
		view.Cards = append(view.Cards, newCard(&a, q.user, where, back))
	}
	if q.PostForm.Get("sure") == "" {
		return p.render(q, frame{Title: "Decide several", Screen: "several", Body: view})
	}
	var failed []string
	for i := range all {
		_, err := p.service.Decide(q.Context(), q.user, all[i].ID, api.Decision{Decision: api.DecisionKind(verb), Digest: all[i].Digest})
		if err != nil {
			why := err.Error()
			if problem, ok := asProblem(err); ok {
				why = problem.Title
			}
			failed = append(failed, line(all[i].Title)+": "+line(why))
		}
	}
	if len(failed) > 0 {
		return &api.Problem{Title: fmt.Sprintf("%d of %s decided", len(all)-len(failed), show.Plural(len(all), "approval")), Status: http.StatusConflict, Detail: "The others were not: " + strings.Join(failed, "; ") + "."}
	}
	return p.done(q, back, verb)
}
