package inspect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/internal/brief"
	"github.com/claude-agent-go/claude/internal/show"
)

// FindingKind is the kind of a [Finding].
type FindingKind string

// The kinds of findings, in the order in which they are shown.
const (
	FindingDenied      FindingKind = "denied"
	FindingFailed      FindingKind = "failed"
	FindingInterrupted FindingKind = "interrupted"
	FindingRetried     FindingKind = "retried"
)

// Finding is an event worth a look: a denial, a failure, an interruption or a
// retry.
type Finding struct {
	Kind FindingKind `json:"kind"`
	Line int         `json:"line"`
	What string      `json:"what"`

	target string // on the page
	tool   bool   // it is about a tool call
}

// Target is where the page shows it.
func (f Finding) Target() string { return f.target }

// find fills in the findings: denials first, then what failed, was interrupted or
// had to be tried again.
func (b *builder) find() {
	add := func(kind FindingKind, line int, target string, what ...string) {
		b.rep.Findings = append(b.rep.Findings, Finding{kind, line, joined(what...), target, strings.HasPrefix(target, "i")})
	}
	for _, t := range b.rep.Turns {
		for _, it := range t.Items {
			if it.Tool == nil {
				continue
			}
			at := "i" + number(it.Line)
			about := it.Tool.Name + " " + show.Short(show.Subject(it.Tool.Input))
			switch it.Tool.State() {
			case Denied:
				add(FindingDenied, it.Tool.EndLine, at, about+":", show.Short(cmp.Or(it.Tool.Message, it.Tool.Output)))
			case ToolFailed:
				add(FindingFailed, it.Tool.EndLine, at, about+":", show.Short(it.Tool.Output))
			case Interrupted:
				add(FindingInterrupted, it.Tool.EndLine, at, about)
			}
		}
		switch {
		case t.interrupted():
			add(FindingInterrupted, t.ToLine, "turn"+number(t.Number), "turn "+number(t.Number))
		case t.Failed:
			add(FindingFailed, t.ToLine, "turn"+number(t.Number), "turn "+number(t.Number)+":", brief.Ending(t.Outcome)+",", show.Short(t.Answer))
		}
	}
	for _, x := range b.rep.Exchanges {
		if x.Outcome == Failed {
			add(FindingFailed, x.AskedLine, "x"+number(x.AskedLine), joined(x.Subtype, x.About)+":", show.Short(x.Answer))
		}
	}
	for _, f := range b.retries {
		add(FindingRetried, f.Line, "f"+number(f.Line), "the API call failed:", f.Summary)
	}
	order := []FindingKind{FindingDenied, FindingFailed, FindingInterrupted, FindingRetried}
	slices.SortStableFunc(b.rep.Findings, func(x, y Finding) int {
		return cmp.Or(slices.Index(order, x.Kind)-slices.Index(order, y.Kind), x.Line-y.Line)
	})
}
