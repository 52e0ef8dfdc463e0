package inspect

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/markdown"
	"github.com/claude-agent-go/claude/internal/show"
)

// turnView is a turn on the page.
type turnView struct {
	Number        int
	Failed        bool
	Outcome, Tone string
	Facts         []string
	Calls         []callView
	CallCount     string
	Items         []itemView
	Cut           string
}

// itemView is an item on the page.
type itemView struct {
	Kind             ItemKind
	Class            Kind // for filters
	Line, Turn       int
	Suffix           string // distinguishes items of one line
	Dir              claudetest.Dir
	Clock            string
	Agent            string
	Label, Text, Cut string
	Markdown         template.HTML // of what the model said
	Folded           string        // the beginning, if the rest is folded away
	Hooks            []exchangeView
	Tone             string
	Error            bool
	Tool             *toolView
	Exchange         *exchangeView
}

// toolView is a tool call on the page.
type toolView struct {
	Name, Subject string
	Badges        []badge
	Asked         []exchangeView
	Hooks         []exchangeView // that had nothing to say
	Diff          *show.Diff
	Questions     []show.Question
	Input, Output string
	Failed, Open  bool
	Kinds         []Kind // of what was asked
}

type badge struct{ Text, Tone string }

// exchangeView is a request on the page.
type exchangeView struct {
	Line, Turn int
	Kind       Kind
	Dir        claudetest.Dir
	From       string
	Subtype    string
	About      string
	Answer     string
	Latency    string
	Clock      string
	Share      string // of the longest latency, in percent
	Tone       string
	Bad        bool
}

// frameView is a frame on the page.
type frameView struct {
	Line, Turn              int
	Clock, Arrow, Way       string
	Dir                     claudetest.Dir
	Kind                    Kind
	Summary, Error, Latency string
	Unknown, Raw, Cut       string
}

func (v *viewer) turns() []turnView {
	var out []turnView
	left := 0
	for _, t := range v.rep.Turns {
		if v.items >= v.limits.Items {
			left++
			continue
		}
		out = append(out, v.turn(t))
	}
	if left > 0 {
		v.cut("%s are not shown; the conversation ends after %d items", show.Plural(left, "turn"), v.limits.Items)
	}
	return out
}

func (v *viewer) turn(t *Turn) turnView {
	view := turnView{Number: t.Number, Failed: t.Failed, Outcome: outcome(t), Tone: "good"}
	switch {
	case !t.Ended, t.interrupted():
		view.Tone = "warn"
	case t.Failed:
		view.Tone = "bad"
	}
	view.Facts = append(view.Facts, show.Span(t.DurationMS()))
	if t.FirstWordMS != nil {
		view.Facts = append(view.Facts, "first word after "+show.Span(*t.FirstWordMS))
	}
	if model := t.ModelMS(); model > 0 {
		view.Facts = append(view.Facts, "model "+show.Span(model))
	}
	view.Facts = append(view.Facts, show.Plural(t.AgentTurns, "agentic turn"),
		show.Tokens(t.Tokens.Input+t.Tokens.CacheRead+t.Tokens.CacheWrite)+" in, "+show.Tokens(t.Tokens.Output)+" out", show.Money(t.CostUSD))
	view.Calls, view.CallCount = v.callViews(t), countCalls(t)
	seen := make(map[int]int)
	for i, it := range t.Items {
		if v.items >= v.limits.Items {
			view.Cut = show.Plural(len(t.Items)-i, "item") + " of this turn are not shown"
			v.cut("turn %d: %s", t.Number, view.Cut)
			break
		}
		if it.routine() {
			continue
		}
		if last := len(view.Items) - 1; last >= 0 && it.chatter() && view.Items[last].Hooks != nil {
			view.Items[last].Hooks = append(view.Items[last].Hooks, v.exchange(it.Exchange, 0))
			continue
		}
		v.items++
		iv := v.item(it, t.Number)
		if seen[it.Line]++; seen[it.Line] > 1 {
			iv.Suffix = "-" + number(seen[it.Line])
		}
		view.Items = append(view.Items, iv)
	}
	return view
}

func (v *viewer) item(it *Item, turn int) itemView {
	view := itemView{Kind: it.Kind, Line: it.Line, Turn: turn, Dir: claudetest.DirOut, Clock: clock(it.AtMS), Agent: it.Agent, Class: KindAssistant}
	view.Text, view.Cut = v.take(it.Text)
	switch it.Kind {
	case ItemText:
		view.Markdown = markdown.HTML(view.Text)
	case ItemPrompt:
		view.Label, view.Class, view.Dir = "Prompt", KindPrompt, claudetest.DirIn
	case ItemThinking:
		view.Label, view.Folded = "Thinking", show.Short(it.Text)
	case ItemNotice:
		view.Class = KindSystem
	case ItemTool:
		view.Class, view.Tool = KindTool, v.tool(it.Tool)
		view.Error = it.Tool.IsError || !it.Tool.Done
	case ItemInterrupt, ItemExchange:
		x := v.exchange(it.Exchange, 0)
		view.Exchange, view.Class, view.Dir = &x, it.Exchange.Kind, it.Exchange.From
		if it.chatter() {
			view.Exchange, view.Hooks = nil, []exchangeView{x}
		}
		view.Error = it.Exchange.Bad()
	}
	return view
}

func (v *viewer) tool(t *Tool) *toolView {
	view := &toolView{Name: t.Name, Subject: show.Short(show.Subject(t.Input)), Failed: t.IsError}
	var cut string
	view.Input, cut = v.take(pretty(t.Input))
	view.Input += more(cut)
	view.Output, cut = v.take(t.Output)
	view.Output += more(cut)
	view.Open = t.IsError || !t.Done || questionsOf(t) != nil
	view.Diff = show.Edit(t.Name, t.Input, v.limits.Text)
	view.Questions = questionsOf(t)
	for _, x := range t.Asked {
		if x.chatter() {
			view.Hooks = append(view.Hooks, v.exchange(x, 0))
		} else {
			view.Asked = append(view.Asked, v.exchange(x, 0))
		}
		if !slices.Contains(view.Kinds, x.Kind) {
			view.Kinds = append(view.Kinds, x.Kind)
		}
		if x.Kind == KindPermission || x.Kind == KindHook && x.denies {
			view.Badges = append(view.Badges, decisionBadge(x))
		}
		if x.Changed && view.Questions == nil { // there it is the answer
			view.Badges = append(view.Badges, badge{"input changed", "warn"})
		}
	}
	switch state := t.State(); state {
	case NoResult, Interrupted:
		view.Badges = append(view.Badges, badge{string(state), "warn"})
	case Denied:
		if !slices.ContainsFunc(view.Badges, func(b badge) bool { return b.Text == string(Denied) }) {
			view.Badges = append(view.Badges, badge{string(state), "bad"})
		}
	case ToolFailed:
		view.Badges = append(view.Badges, badge{string(state), "bad"})
	}
	if waited := t.WaitedMS(); waited >= 1 {
		view.Badges = append(view.Badges, badge{"waited " + show.Span(waited), ""})
	}
	if state := t.State(); state == ToolOK || state == ToolFailed {
		view.Badges = append(view.Badges, badge{"ran " + show.Span(t.RanMS()), ""})
	}
	return view
}

func more(cut string) string {
	if cut == "" {
		return ""
	}
	return "\n… " + cut
}

// decisionBadge is the decision in a word.
func decisionBadge(x *Exchange) badge {
	switch {
	case x.Outcome == Cancelled:
		return badge{"question taken back", "warn"}
	case x.Outcome == Unanswered:
		return badge{"unanswered", "bad"}
	case x.denies:
		return badge{"denied", "bad"}
	case x.Outcome == Failed:
		return badge{"check failed", "bad"}
	}
	return badge{"allowed", "good"}
}

func (v *viewer) exchanges() []exchangeView {
	longest := 1.0
	for _, x := range v.rep.Exchanges {
		if x.LatencyMS != nil {
			longest = max(longest, *x.LatencyMS)
		}
	}
	shown := v.rep.Exchanges
	if len(shown) > v.limits.Exchanges {
		v.cut("%d of %d requests are not listed", len(shown)-v.limits.Exchanges, len(shown))
		shown = shown[:v.limits.Exchanges]
	}
	views := make([]exchangeView, len(shown))
	for i, x := range shown {
		views[i] = v.exchange(x, longest)
	}
	return views
}

func (v *viewer) exchange(x *Exchange, longest float64) exchangeView {
	view := exchangeView{
		Line: x.AskedLine, Turn: x.Turn, Kind: x.Kind, Dir: x.From, From: "CLI", Subtype: x.Subtype, About: show.Head(x.About, 300),
		Answer: show.Head(cmp.Or(x.Answer, string(x.Outcome)), 300), Clock: clock(x.AskedMS), Bad: x.Bad(), Share: "0",
	}
	if x.From == claudetest.DirIn {
		view.From = "SDK"
	}
	if x.LatencyMS != nil {
		view.Latency = show.Span(*x.LatencyMS)
		if longest > 0 {
			view.Share = fmt.Sprintf("%.0f", *x.LatencyMS/longest*100)
		}
	}
	switch {
	case x.Bad() || x.denies:
		view.Tone = "bad"
	case x.Outcome == Cancelled:
		view.Tone = "warn"
	case x.Kind == KindPermission:
		view.Tone = "good"
	}
	return view
}

func (v *viewer) frames() []frameView {
	var views []frameView
	left := 0
	v.lines = make(map[int]bool)
	for run := range runs(v.rep.Frames) {
		if len(views) >= v.limits.Frames {
			left += len(run)
			continue
		}
		views = append(views, v.frame(run))
	}
	if left > 0 {
		v.cut("%d of %d frames are not listed; a filter on the command line chooses others", left, len(v.rep.Frames))
	}
	return views
}

// frame shows a frame, or a run of them together.
func (v *viewer) frame(run []*Frame) frameView {
	f := run[0]
	v.lines[f.Line] = true
	view := frameView{
		Line: f.Line, Turn: f.Turn, Clock: clock(f.AtMS), Arrow: arrow(f.Dir), Dir: f.Dir, Kind: f.Kind, Way: "about the process",
		Summary: f.withoutError(), Error: f.Error,
	}
	switch f.Dir {
	case claudetest.DirIn:
		view.Way = "to the CLI"
	case claudetest.DirOut:
		view.Way = "from the CLI"
	}
	if f.LatencyMS != nil {
		view.Latency = show.Span(*f.LatencyMS)
	}
	raw := f.Text
	if f.Msg != nil {
		raw = pretty(f.Msg)
	}
	if len(run) > 1 {
		last := run[len(run)-1]
		view.Summary = fmt.Sprintf("%s, lines %d to %d", runSummary(run), f.Line, last.Line)
		view.Latency = show.Span(last.AtMS - f.AtMS)
		raw = pieces(run, v.limits.Text)
	}
	view.Raw, view.Cut = v.take(raw)
	var names []string
	for _, f := range run {
		for _, name := range f.Unknown {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	view.Unknown = joined(names...)
	return view
}

// pieces lists the lines of a run, as many as can be shown.
func pieces(run []*Frame, most int) string {
	text := ""
	for i, f := range run {
		if len(text) > most {
			return text + fmt.Sprintf("… and %d more", len(run)-i)
		}
		text += fmt.Sprintf("%d  %s\n", f.Line, f.Msg)
	}
	return text
}
