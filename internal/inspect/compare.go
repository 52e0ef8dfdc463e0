package inspect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/internal/show"
)

// Comparison has two recordings side by side: turn beside turn, step beside step.
type Comparison struct {
	// Names holds the names of the recordings.
	Names [2]string  `json:"recordings"`
	Facts []Fact     `json:"facts"`
	Turns []TurnPair `json:"turns"`
	// Different is how many turns differ, or are in one recording only.
	Different int `json:"turns_different"`
}

// Difference says in what two things differ.
type Difference string

// The differences.
const (
	Same    Difference = "same"
	Changed Difference = "changed"
	OnlyA   Difference = "only in the first"
	OnlyB   Difference = "only in the second"
)

// Fact is something that both recordings, or both turns, have.
type Fact struct {
	Name string    `json:"name"`
	Is   [2]string `json:"values"`
	// Differs is false for what differs between any two sessions, such as times.
	Differs bool `json:"differs"`
}

// TurnPair is a turn of each recording, or of one of them.
type TurnPair struct {
	// Numbers holds the numbers of the turns, 0 for none.
	Numbers    [2]int     `json:"numbers"`
	Difference Difference `json:"difference"`
	Facts      []Fact     `json:"facts"`
	Steps      []StepPair `json:"steps"`
}

// StepPair is a step of each turn, or of one of them.
type StepPair struct {
	Difference Difference `json:"difference"`
	A          *Step      `json:"first,omitzero"`
	B          *Step      `json:"second,omitzero"`
}

// Step is something that happened in a turn.
type Step struct {
	Kind  ItemKind `json:"kind"`
	Line  int      `json:"line"`
	Agent string   `json:"agent,omitzero"`
	// Head is a summary in one line, and Text the rest.
	Head string `json:"head"`
	Text string `json:"text,omitzero"`

	sort string // what must be the same for two steps to be compared
}

// Compare puts two recordings side by side. Turns with the same prompt belong together;
// those in between do in their order.
func Compare(a, b *Report) *Comparison {
	c := &Comparison{Names: [2]string{cmp.Or(a.Source, a.Title), cmp.Or(b.Source, b.Title)}}
	s, o := &a.Summary, &b.Summary
	c.Facts = []Fact{
		fact("model", strings.Join(s.ModelNames, ", "), strings.Join(o.ModelNames, ", ")), fact("CLI", s.Version, o.Version),
		fact("turns", number(s.Turns), number(o.Turns)), fact("tool calls", number(s.ToolCalls), number(o.ToolCalls)),
		fact("failed tools", number(s.ToolErrors), number(o.ToolErrors)), fact("denied", number(s.Denied), number(o.Denied)),
		fact("tokens out", show.Tokens(s.Tokens.Output), show.Tokens(o.Tokens.Output)), fact("cost", show.Money(s.CostUSD), show.Money(o.CostUSD)),
		{Name: "time", Is: [2]string{show.Span(s.DurationMS), show.Span(o.DurationMS)}},
	}
	c.Facts = slices.DeleteFunc(c.Facts, func(f Fact) bool { return f.Is[0] == "" && f.Is[1] == "" })
	prompts := func(i, j int) bool { return promptOf(a.Turns[i]) == promptOf(b.Turns[j]) }
	for _, p := range align(len(a.Turns), len(b.Turns), prompts, func(int, int) bool { return true }) {
		var first, second *Turn
		if p.a >= 0 {
			first = a.Turns[p.a]
		}
		if p.b >= 0 {
			second = b.Turns[p.b]
		}
		pair := pairTurns(first, second)
		if pair.Difference != Same {
			c.Different++
		}
		c.Turns = append(c.Turns, pair)
	}
	return c
}

func fact(name, a, b string) Fact { return Fact{name, [2]string{a, b}, a != b} }

// promptOf returns the first prompt of a turn.
func promptOf(t *Turn) string {
	for _, it := range t.Items {
		if it.Kind == ItemPrompt {
			return it.Text
		}
	}
	return ""
}

// pairTurns compares two turns; either may be nil.
func pairTurns(a, b *Turn) TurnPair {
	pair := TurnPair{Difference: Same}
	var left, right []*Step
	var facts [2][]Fact
	for i, t := range []*Turn{a, b} {
		if t == nil {
			continue
		}
		pair.Numbers[i], facts[i] = t.Number, turnFacts(t)
		if i == 0 {
			left = steps(t)
		} else {
			right = steps(t)
		}
	}
	switch {
	case b == nil:
		pair.Difference, pair.Facts = OnlyA, facts[0]
	case a == nil:
		pair.Difference, pair.Facts = OnlyB, facts[1]
	default:
		for i, f := range facts[0] {
			f.Is[1] = facts[1][i].Is[0]
			f.Differs = f.Name != "time" && f.Is[0] != f.Is[1]
			pair.Facts = append(pair.Facts, f)
			if f.Name == "outcome" && f.Differs {
				pair.Difference = Changed
			}
		}
	}
	equal := func(i, j int) bool { return left[i].equals(right[j]) }
	alike := func(i, j int) bool { return left[i].sort == right[j].sort }
	for _, p := range align(len(left), len(right), equal, alike) {
		s := StepPair{Difference: Changed}
		switch {
		case p.b < 0:
			s = StepPair{OnlyA, left[p.a], nil}
		case p.a < 0:
			s = StepPair{OnlyB, nil, right[p.b]}
		default:
			if s.A, s.B = left[p.a], right[p.b]; s.A.equals(s.B) {
				s.Difference = Same
			}
		}
		if s.Difference != Same && pair.Difference == Same {
			pair.Difference = Changed
		}
		pair.Steps = append(pair.Steps, s)
	}
	return pair
}

// turnFacts are the facts to compare, the first value of each.
func turnFacts(t *Turn) []Fact {
	most := 0
	for _, c := range t.Calls {
		if c.Agent == "" {
			most = max(most, c.Context)
		}
	}
	return []Fact{
		{Name: "outcome", Is: [2]string{outcome(t)}}, {Name: "time", Is: [2]string{show.Span(t.DurationMS())}}, {Name: "model calls", Is: [2]string{number(len(t.Calls))}},
		{Name: "context", Is: [2]string{show.Tokens(most)}}, {Name: "out", Is: [2]string{show.Tokens(t.Tokens.Output)}}, {Name: "cost", Is: [2]string{show.Money(t.CostUSD)}},
	}
}

// steps returns the parts of a turn that are compared. Hooks without an opinion and lists
// of MCP servers are left out.
func steps(t *Turn) []*Step {
	var out []*Step
	for _, it := range t.Items {
		if it.routine() || it.chatter() {
			continue
		}
		s := &Step{Kind: it.Kind, Line: it.Line, Agent: it.Agent, Head: show.Short(it.Text), Text: it.Text, sort: string(it.Kind)}
		switch {
		case it.Tool != nil:
			s.Head = joined(it.Tool.Name, show.Short(show.Subject(it.Tool.Input)), "→", string(it.Tool.State()))
			s.Text = pretty(it.Tool.Input) + "\n" + it.Tool.Output
			s.sort += " " + it.Tool.Name
		case it.Exchange != nil:
			x := it.Exchange
			s.Head = joined(x.Subtype, x.About, "→", cmp.Or(x.Answer, string(x.Outcome)))
			s.sort += " " + x.Subtype
		}
		out = append(out, s)
	}
	return out
}

// equals reports whether two steps show the same.
func (s *Step) equals(o *Step) bool {
	return s.sort == o.sort && s.Agent == o.Agent && s.Head == o.Head && s.Text == o.Text
}
