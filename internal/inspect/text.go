package inspect

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/brief"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/show"
	"github.com/claude-agent-go/claude/internal/terminal"
)

// WriteJSON writes the report as one line of JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	data, err := jsonx.Marshal(r)
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// WriteText writes the report for a terminal: totals, findings, turns and a
// list of frames. Pieces of an answer that follow each other are one line, and so
// are frames of the mirror.
// With color it uses the sequences that terminals know for colours.
func (r *Report) WriteText(w io.Writer, color bool) error {
	out := bufio.NewWriterSize(w, 1<<16)
	p := &printer{w: out, color: color}
	p.summary(r)
	if r.Hidden > 0 {
		p.printf("  %s\n", p.paint(yellow, fmt.Sprintf("a filter shows %d of %d frames, and what rests on them", len(r.Frames), len(r.Frames)+r.Hidden)))
	}
	p.findings(r)
	p.turns(r)
	p.frames(r)
	p.unknown(r)
	return out.Flush()
}

// printer writes text. Whatever comes from the recording goes through line.
type printer struct {
	w     io.Writer
	color bool
}

// The colours of a terminal.
const (
	dim    = "2"
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
	blue   = "34"
)

func (p *printer) printf(format string, args ...any) { fmt.Fprintf(p.w, format, args...) }

// paint colours a text that is safe to print.
func (p *printer) paint(code, text string) string {
	if !p.color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// line makes a text of the recording safe to print.
func (p *printer) line(text string) string { return terminal.Line(text) }

func (p *printer) heading(text string) { p.printf("\n%s\n", p.paint(bold, text)) }

func (p *printer) summary(r *Report) {
	s := &r.Summary
	p.printf("%s\n", p.paint(bold, p.line(cmp.Or(r.Title, r.Source, "session"))))
	if r.Title != "" && r.Source != "" {
		p.printf("  %s\n", p.line(r.Source))
	}
	if len(s.Args) > 0 {
		p.printf("  %s\n", p.line(show.Short(commandLine(s.Args))))
	}
	about := []string{}
	for _, fact := range []string{s.Version, strings.Join(s.ModelNames, ", "), s.Cwd} {
		if fact != "" {
			about = append(about, p.line(fact))
		}
	}
	if len(about) > 0 {
		p.printf("  %s\n", strings.Join(about, " · "))
	}
	facts := []string{show.Span(s.DurationMS), show.Plural(s.Lines, "line"), show.Plural(s.Turns, "turn"), show.Plural(s.ToolCalls, "tool call"),
		fmt.Sprintf("%s (%d denied)", show.Plural(s.Asked, "permission"), s.Denied), show.Plural(s.Hooks, "hook call"), show.Plural(s.MCPCalls, "MCP call"),
		fmt.Sprintf("%s (%d unanswered, %d cancelled)", show.Plural(s.Requests, "request"), s.Unanswered, s.Cancelled)}
	if s.MirrorFrames > 0 {
		facts = append(facts, mirrored(s.MirrorFrames, s.MirrorEntries))
	}
	p.printf("  %s\n", strings.Join(facts, " · "))
	cost := fmt.Sprintf("%s · %s · tokens: %s in, %s out, %s cached", show.Money(s.CostUSD), show.Plural(s.AgentTurns, "agentic turn"),
		show.Tokens(s.Tokens.Input), show.Tokens(s.Tokens.Output), show.Tokens(s.Tokens.CacheRead))
	if s.Exit != "" {
		cost += " · " + p.line(s.Exit)
	}
	p.printf("  %s\n", cost)
}

func (p *printer) findings(r *Report) {
	if len(r.Findings) > 0 {
		p.heading("worth a look")
	}
	for _, f := range r.Findings {
		p.printf("  %s  %s\n", p.paint(red, fmt.Sprintf("%-11s", f.Kind)), p.line(f.What)+p.paint(dim, "  line "+number(f.Line)))
	}
	if len(r.Problems) > 0 {
		p.heading("problems")
	}
	for _, f := range r.Problems {
		p.printf("  %s  %s\n", p.paint(yellow, fmt.Sprintf("line %d", f.Line)), p.line(f.What))
	}
}

// unknown lists names that the decoders do not know, by the type that has them.
func (p *printer) unknown(r *Report) {
	if len(r.Unknown) > 0 {
		p.heading("names that this build does not know (their JSON is kept)")
	}
	for _, g := range groups(r.Unknown) {
		var names []string
		for _, n := range g.Names {
			names = append(names, p.line(n.Name))
		}
		p.printf("  %s %s\n", p.paint(yellow, fmt.Sprintf("line %d", g.Names[0].Line)), p.line(g.Where)+": "+strings.Join(names, ", "))
	}
}

func (p *printer) turns(r *Report) {
	for _, t := range r.Turns {
		p.heading(fmt.Sprintf("turn %d · %s · %s · %s · %s", t.Number, p.line(outcome(t)), show.Span(t.DurationMS()), show.Plural(t.AgentTurns, "agentic turn"), show.Money(t.CostUSD)))
		left := t.Calls
		for _, it := range t.Items {
			for len(left) > 0 && left[0].Line <= it.Line {
				p.call(left[0])
				left = left[1:]
			}
			if !it.routine() {
				p.item(it)
			}
		}
		for _, c := range left {
			p.call(c)
		}
	}
}

// call writes what a call of the model has read and cost.
func (p *printer) call(c *Call) {
	facts := []string{p.line(cmp.Or(c.Model, "model")), "context " + c.filled(), show.Tokens(c.Tokens.Output) + " out"}
	if cost := c.cost(); cost != "" {
		facts = append(facts, cost)
	}
	if c.Agent != "" {
		facts = append([]string{"[" + p.line(c.Agent) + "]"}, facts...)
	}
	p.printf("  %s\n", p.paint(dim, "◦ "+strings.Join(facts, " · ")))
}

// outcome describes how a turn ended.
func outcome(t *Turn) string {
	switch {
	case !t.Ended:
		return "no result"
	case t.interrupted():
		return "interrupted"
	}
	return brief.Ending(t.Outcome)
}

func (p *printer) item(it *Item) {
	who := ""
	if it.Agent != "" {
		who = "[" + p.line(it.Agent) + "] "
	}
	text := p.line(show.Short(it.Text))
	switch it.Kind {
	case ItemPrompt:
		p.printf("  %s %s\n", p.paint(blue, ">"), text)
	case ItemThinking:
		p.printf("  %s\n", p.paint(dim, who+"(thinks) "+text))
	case ItemNotice:
		p.printf("  %s\n", p.paint(dim, who+"· "+text))
	case ItemInterrupt:
		p.printf("  %s\n", p.paint(red, "interrupted by the user"))
	case ItemExchange:
		p.exchange("  ", it.Exchange)
	case ItemTool:
		p.tool(who, it.Tool)
	default:
		p.printf("  %s%s\n", who, text)
	}
}

func (p *printer) tool(who string, t *Tool) {
	state, code := string(t.State()), red
	switch t.State() {
	case NoResult, Interrupted:
		code = yellow
	case ToolFailed:
		state += " after " + show.Span(t.RanMS())
	case ToolOK:
		state, code = "ok, "+show.Span(t.RanMS()), green
	}
	if waited := t.WaitedMS(); waited > 0 {
		state += ", after " + show.Span(waited) + " of waiting for permission"
	}
	p.printf("  %s%s %s  %s\n", who, p.paint(bold, p.line(t.Name)), p.line(show.Short(show.Subject(t.Input))), p.paint(code, state))
	for _, x := range t.Asked {
		p.exchange("    ", x)
	}
	if t.Output != "" {
		p.printf("    %s\n", p.paint(dim, p.line(show.Short(t.Output))))
	}
}

func (p *printer) exchange(indent string, x *Exchange) {
	answer := p.line(cmp.Or(x.Answer, string(x.Outcome)))
	switch {
	case x.Bad() || x.denies:
		answer = p.paint(red, answer)
	case x.Outcome == Cancelled:
		answer = p.paint(yellow, answer)
	}
	if x.LatencyMS != nil {
		answer += p.paint(dim, "  "+show.Span(*x.LatencyMS))
	}
	p.printf("%s%s → %s\n", indent, p.line(joined(string(x.Kind), x.About)), answer)
}

func (p *printer) frames(r *Report) {
	p.heading("frames")
	if len(r.Frames) == 0 {
		p.printf("  none\n")
	}
	for run := range runs(r.Frames) {
		f := run[0]
		what := p.line(runSummary(run))
		if f.Error != "" {
			what += p.paint(red, "  ! "+p.line(f.Error))
		}
		if f.LatencyMS != nil {
			what += p.paint(dim, "  "+show.Span(*f.LatencyMS))
		}
		p.printf("%6d %10s %s %-10s %s\n", f.Line, clock(f.AtMS), arrow(f.Dir), f.Kind, what)
	}
}

// arrow shows which way a frame went.
func arrow(d claudetest.Dir) string {
	switch d {
	case claudetest.DirIn:
		return "→"
	case claudetest.DirOut:
		return "←"
	}
	return "·"
}

// runs yields the frames. Those that follow each other and are pieces of an answer,
// or frames of the mirror, come together.
func runs(frames []*Frame) func(yield func([]*Frame) bool) {
	return func(yield func([]*Frame) bool) {
		for i := 0; i < len(frames); {
			n := 1
			kind := frames[i].Kind
			for (kind == KindStream || kind == KindMirror) && i+n < len(frames) && frames[i+n].Kind == kind {
				n++
			}
			if !yield(frames[i : i+n]) {
				return
			}
			i += n
		}
	}
}
