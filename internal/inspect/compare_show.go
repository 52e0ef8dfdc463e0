package inspect

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/show"
)

//go:embed page/compare.html
var compareHTML string

// WriteJSON writes the comparison as one line of JSON.
func (c *Comparison) WriteJSON(w io.Writer) error {
	data, err := jsonx.Marshal(c)
	if err == nil {
		_, err = w.Write(append(data, '\n'))
	}
	return err
}

// WriteText writes the comparison for a terminal: what is in the first recording only
// begins with <, in the second only with >, and what has changed with both.
func (c *Comparison) WriteText(w io.Writer, color bool) error {
	out := bufio.NewWriterSize(w, 1<<16)
	p := &printer{w: out, color: color}
	p.printf("%s %s\n%s %s\n", p.paint(red, "<"), p.line(c.Names[0]), p.paint(green, ">"), p.line(c.Names[1]))
	p.facts(c.Facts)
	p.printf("  %s\n", c.count())
	for i := range c.Turns {
		t := &c.Turns[i]
		p.heading(t.title())
		p.facts(t.Facts)
		for _, s := range t.Steps {
			switch {
			case s.Difference == Same:
				p.printf("  %s\n", p.paint(dim, "  "+p.line(string(s.A.Kind)+"  "+s.A.Head)))
				continue
			case s.A != nil:
				p.printf("  %s %s\n", p.paint(red, "<"), p.line(string(s.A.Kind)+"  "+s.A.Head))
			}
			if s.B != nil {
				p.printf("  %s %s\n", p.paint(green, ">"), p.line(string(s.B.Kind)+"  "+s.B.Head))
			}
		}
	}
	return out.Flush()
}

func (c *Comparison) count() string {
	return fmt.Sprintf("turns that differ: %d of %d", c.Different, len(c.Turns))
}

// facts writes facts on a line, with both values where they differ.
func (p *printer) facts(all []Fact) {
	var words []string
	for _, f := range all {
		text := f.Name + " " + p.line(f.Is[0])
		if f.Is[0] != f.Is[1] && f.Is[1] != "" {
			if text += " | " + p.line(f.Is[1]); f.Differs {
				text = p.paint(yellow, text)
			}
		}
		words = append(words, text)
	}
	p.printf("  %s\n", strings.Join(words, " · "))
}

// title names a pair of turns.
func (t *TurnPair) title() string {
	a, b := "turn "+number(t.Numbers[0]), "turn "+number(t.Numbers[1])
	switch {
	case t.Numbers[0] == 0:
		a = b
	case t.Numbers[1] != 0 && a != b:
		a += " and " + b
	}
	return a + " · " + string(t.Difference)
}

// comparePage is the data of the template.
type comparePage struct {
	Policy string
	Style  template.CSS
	Names  [2]string
	Count  string
	Facts  []Fact
	Turns  []compareTurn
	Cut    string
}

type compareTurn struct {
	ID, Title string
	Differs   bool
	Facts     []Fact
	Steps     []compareStep
}

type compareStep struct {
	Difference Difference
	Tone       string
	Sides      [2]*compareSide
	Diff       *show.Diff
}

type compareSide struct {
	Kind              ItemKind
	Line              int
	Agent, Head, Text string
}

// WriteHTML writes the comparison as one page that needs nothing else, not even a script.
func (c *Comparison) WriteHTML(w io.Writer, limits Limits) error {
	t, err := template.New("compare").Parse(show.Templates + compareHTML)
	if err != nil {
		return err
	}
	var out bytes.Buffer // so that nothing is written when something fails
	if err := t.Execute(&out, c.page(limits.orDefault())); err != nil {
		return err
	}
	_, err = out.WriteTo(w)
	return err
}

func (c *Comparison) page(limits Limits) *comparePage {
	sum := sha256.Sum256([]byte(pageStyle()))
	p := &comparePage{
		Policy: "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'",
		Style:  template.CSS(pageStyle()), Facts: c.Facts, Names: [2]string{filepath.Base(c.Names[0]), filepath.Base(c.Names[1])},
		Count: c.count(),
	}
	v := &viewer{limits: limits, left: limits.Total}
	for i := range c.Turns {
		t := &c.Turns[i]
		view := compareTurn{ID: "t" + number(i+1), Title: t.title(), Differs: t.Difference != Same, Facts: t.Facts}
		for _, s := range t.Steps {
			if v.items++; v.items > limits.Items {
				p.Cut = fmt.Sprintf("The page ends after %d steps.", limits.Items)
				break
			}
			view.Steps = append(view.Steps, v.compared(s))
		}
		p.Turns = append(p.Turns, view)
	}
	return p
}

// compared shows two steps. Texts that have changed are shown as a diff.
func (v *viewer) compared(s StepPair) compareStep {
	out := compareStep{Difference: s.Difference, Tone: map[Difference]string{Same: "same", Changed: "warn", OnlyA: "bad", OnlyB: "good"}[s.Difference]}
	if s.Difference == Changed {
		a, _ := v.take(s.A.Text)
		b, _ := v.take(s.B.Text)
		out.Diff = show.Between(a, b)
	}
	for i, step := range []*Step{s.A, s.B} {
		if step == nil {
			continue
		}
		side := &compareSide{Kind: step.Kind, Line: step.Line, Agent: step.Agent, Head: step.Head}
		if step.Text != step.Head && (out.Diff == nil && i == 0 || s.A == nil) { // once is enough for what is the same
			text, cut := v.take(step.Text)
			side.Text = text + more(cut)
		}
		out.Sides[i] = side
	}
	return out
}
