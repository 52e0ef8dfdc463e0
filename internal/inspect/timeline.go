package inspect

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/show"
)

// timeline shows what took time, along the time. Positions are percents of its
// width and pixels of its height, so that the text in it keeps its shape.
type timeline struct {
	Lanes                 []laneName
	Height, Bottom, AxisY int
	Class, Label          string
	Bars                  []bar
	Marks                 []bar
	Ticks                 []tick
	Gaps                  []gap
}

type laneName struct{ Name, Height string }

// bar is something that took time.
type bar struct {
	X, W        string
	Y, H        int
	Tone, Text  string
	Short       bool // a phone has no room for the text
	Title       string
	Target      string
	Line        int // of the frame with which it begins
	from, to    float64
	lane, inRow int
}

type tick struct {
	X, Text string
	Late    bool // near the right edge, so that its text goes to the left
}

// gap is a time in which nothing happened, drawn narrower than it was.
type gap struct{ X, W, Mid, Text, Title string }

const (
	barHeight = 16
	barSpace  = 20
	laneSpace = 6
	axisSpace = 18
	maxRows   = 4
)

// The lanes from the top.
const (
	laneTurns = iota
	laneModel
	laneTools
	laneWaiting
	laneCLI
	laneSDK
)

// laneNames names the lanes.
var laneNames = [...]string{"turns", "model", "tools run", "permission", "hooks, MCP", "SDK asks"}

// timeline draws the timeline, nil if there is nothing to draw.
func (v *viewer) timeline() *timeline {
	bars := v.bars()
	if len(bars) == 0 {
		return nil
	}
	scale := newScale(bars, v.rep.Summary.DurationMS)
	s := &timeline{Class: "chart", Label: fmt.Sprintf("%s over %s; the same facts are in the lists below", show.Plural(len(bars), "bar"), show.Span(v.rep.Summary.DurationMS))}
	y := 4
	for lane, name := range laneNames {
		rows := stack(bars, lane)
		if rows == 0 {
			continue
		}
		for i := range bars {
			if bars[i].lane == lane {
				bars[i].Y, bars[i].H = y+bars[i].inRow*barSpace, barHeight
			}
		}
		s.Lanes = append(s.Lanes, laneName{name, fmt.Sprintf("rows%d", rows)})
		y += rows*barSpace + laneSpace
	}
	s.Bottom, s.AxisY, s.Height = y, y+axisSpace-4, y+axisSpace
	for i := range bars {
		b := &bars[i]
		from, to := scale.at(b.from), scale.at(b.to)
		width := max(to-from, 0.25)
		b.X, b.W = percent(min(from, 100-width)), percent(width)
		if width < 4 {
			b.Text = ""
		}
		b.Short = width < 15
	}
	s.Bars = bars
	s.Marks = v.marks(scale)
	s.Ticks, s.Gaps = scale.ticks(), scale.gaps()
	return s
}

// bars are the steps that took time, longest first where there are too many.
func (v *viewer) bars() []bar {
	var all []bar
	for _, t := range v.rep.Turns {
		all = append(all, v.turnBars(t)...)
	}
	for _, x := range v.rep.Exchanges {
		all = append(all, exchangeBar(x, v.rep.Summary.DurationMS))
	}
	for i := range all {
		all[i].to = max(all[i].to, all[i].from)
	}
	if len(all) > v.limits.Bars {
		v.cut("the timeline shows the %d longest of %d", v.limits.Bars, len(all))
		slices.SortStableFunc(all, func(a, b bar) int { return cmp.Compare(b.to-b.from, a.to-a.from) })
		all = all[:v.limits.Bars]
	}
	slices.SortStableFunc(all, func(a, b bar) int { return cmp.Compare(a.from, b.from) })
	return all
}

// turnBars are a turn, what of it was the model's own time, and its tools.
func (v *viewer) turnBars(t *Turn) []bar {
	tone := "turn"
	if t.Failed && !t.interrupted() || !t.Ended {
		tone = "turn bad"
	}
	target := "turn" + number(t.Number)
	all := []bar{{lane: laneTurns, from: t.FromMS, to: t.ToMS, Tone: tone, Text: "turn " + number(t.Number), Target: target, Line: t.FromLine,
		Title: fmt.Sprintf("turn %d: %s, %s, %s", t.Number, outcome(t), show.Span(t.DurationMS()), show.Money(t.CostUSD))}}
	for _, s := range t.Model {
		b := bar{lane: laneModel, from: s.FromMS, to: s.ToMS, Tone: "model", Text: "model", Target: target, Line: t.FromLine,
			Title: fmt.Sprintf("the model works for %s", show.Span(s.ToMS-s.FromMS))}
		if c := t.callIn(s); c != nil {
			b.Target, b.Line = "c"+number(c.Line), c.Line
			b.Title += ": " + strings.Join(slices.DeleteFunc([]string{"context " + c.filled(), show.Tokens(c.Tokens.Output) + " out", c.cost()}, func(fact string) bool { return fact == "" }), ", ")
		}
		all = append(all, b)
	}
	for _, it := range t.Items {
		if it.Tool == nil {
			continue
		}
		state := it.Tool.State()
		b := bar{lane: laneTools, from: it.Tool.RunFromMS(), to: it.Tool.EndMS, Tone: "tool", Text: it.Tool.Name, Target: "i" + number(it.Line), Line: it.Line}
		what := string(state) + ", " + show.Span(it.Tool.RanMS())
		switch state {
		case NoResult:
			b.to, what = t.ToMS, string(state)
			b.Tone += " bad"
		case Denied, Interrupted:
			what = string(state)
			b.Tone += " bad"
		case ToolFailed:
			b.Tone += " bad"
		}
		b.Title = fmt.Sprintf("%s: %s, %s", it.Tool.Name, what, show.Short(show.Subject(it.Tool.Input)))
		all = append(all, b)
	}
	return all
}

// exchangeBar is a request: one that waits for a person, another one of the CLI,
// or one of the SDK.
func exchangeBar(x *Exchange, end float64) bar {
	b := bar{lane: laneCLI, from: x.AskedMS, to: x.EndMS, Tone: string(x.Kind), Text: cmp.Or(x.About, x.Subtype), Target: "x" + number(x.AskedLine), Line: x.AskedLine}
	switch {
	case x.From == claudetest.DirIn:
		b.lane, b.Text = laneSDK, x.Subtype
	case x.Kind == KindPermission || x.Subtype == "elicitation" || x.Subtype == "request_user_dialog":
		b.lane = laneWaiting
	}
	took := "never answered"
	if x.LatencyMS != nil {
		took = show.Span(*x.LatencyMS)
	} else {
		b.to = end
	}
	if x.Bad() || x.denies {
		b.Tone += " bad"
	}
	b.Title = joined(x.Subtype, x.About+":", cmp.Or(show.Short(x.Answer), string(x.Outcome))+",", took)
	return b
}

// stack gives the bars of a lane rows, so that they do not hide each other, and
// returns how many rows there are.
func stack(bars []bar, lane int) int {
	var ends []float64
	for i := range bars {
		b := &bars[i]
		if b.lane != lane {
			continue
		}
		row := slices.IndexFunc(ends, func(end float64) bool { return end <= b.from })
		if row < 0 && len(ends) < maxRows {
			ends = append(ends, 0)
			row = len(ends) - 1
		}
		if row < 0 {
			row = maxRows - 1 // it hides others; the lists have them all
		}
		b.inRow, ends[row] = row, b.to
	}
	return len(ends)
}

// marks are the interrupts.
func (v *viewer) marks(s *scale) []bar {
	var out []bar
	for _, x := range v.rep.Exchanges {
		if x.Subtype == "interrupt" && len(out) < 100 {
			out = append(out, bar{X: percent(s.at(x.AskedMS)), Title: "interrupt", Target: "x" + number(x.AskedLine), Line: x.AskedLine})
		}
	}
	return out
}

func percent(p float64) string { return fmt.Sprintf("%.3f", p) }

// scale maps times to percents. Times in which nothing happens are drawn
// narrow, or a pause of a minute would leave no room for the rest.
type scale struct{ parts []part }

// part is a stretch of time.
type part struct {
	from, to float64 // ms
	x, w     float64 // percent
	idle     bool
}

// gapWidth is the width of a stretch in which nothing happens.
const gapWidth = 4.0

func newScale(bars []bar, end float64) *scale {
	busy := busyTimes(bars)
	s := new(scale)
	worth := 0.0
	for _, b := range busy {
		worth += b.to - b.from
	}
	add := func(from, to float64, idle bool) {
		// A short pause is drawn as it was.
		idle = idle && to-from > max(worth*gapWidth/100, 200) && len(s.parts) < 40
		if last := len(s.parts) - 1; !idle && last >= 0 && !s.parts[last].idle {
			s.parts[last].to = to
			return
		}
		s.parts = append(s.parts, part{from: from, to: to, idle: idle})
	}
	at := 0.0
	for _, b := range busy {
		if b.from > at {
			add(at, b.from, true)
		}
		add(b.from, b.to, false)
		at = b.to
	}
	if end > at {
		add(at, end, true)
	}
	s.layOut()
	return s
}

// busyTimes joins the times of bars.
func busyTimes(bars []bar) []part {
	var busy []part
	for _, b := range bars { // in order of their beginning
		if last := len(busy) - 1; last >= 0 && b.from <= busy[last].to {
			busy[last].to = max(busy[last].to, b.to)
			continue
		}
		busy = append(busy, part{from: b.from, to: b.to})
	}
	return busy
}

func (s *scale) layOut() {
	total, gaps := 0.0, 0
	for _, p := range s.parts {
		if p.idle {
			gaps++
		} else {
			total += p.to - p.from
		}
	}
	width := min(gapWidth, 40/max(float64(gaps), 1))
	room := 100 - float64(gaps)*width
	x := 0.0
	for i := range s.parts {
		p := &s.parts[i]
		p.x, p.w = x, width
		if !p.idle {
			p.w = room * (p.to - p.from) / max(total, 1e-9)
		}
		x += p.w
	}
}

// at returns where a time is drawn.
func (s *scale) at(ms float64) float64 {
	for _, p := range s.parts {
		if ms <= p.to {
			return p.x + p.w*max(ms-p.from, 0)/max(p.to-p.from, 1e-9)
		}
	}
	return 100
}

// ticks are marks at round times, apart enough to be read.
func (s *scale) ticks() []tick {
	busy := 0.0
	for _, p := range s.parts {
		if !p.idle {
			busy += p.to - p.from
		}
	}
	step := roundStep(busy / 8)
	var out []tick
	last := -10.0
	for _, p := range s.parts {
		if p.idle {
			continue
		}
		for t := math.Ceil(p.from/step) * step; t <= p.to; t += step {
			// A text that goes to the left needs the room of two.
			if x := s.at(t); x-last >= 6 && (x <= 90 || x-last >= 14) {
				out = append(out, tick{percent(x), show.Span(t), x > 90})
				last = x
			}
		}
	}
	return out
}

// roundStep returns a round number of milliseconds that is no less than ms.
func roundStep(ms float64) float64 {
	for _, step := range []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 300_000, 600_000} {
		if step >= ms {
			return step
		}
	}
	return math.Ceil(ms/3_600_000) * 3_600_000
}

func (s *scale) gaps() []gap {
	var out []gap
	for _, p := range s.parts {
		if p.idle {
			took := show.Span(p.to - p.from)
			out = append(out, gap{percent(p.x), percent(p.w), percent(p.x + p.w/2), "⋯", "nothing for " + took})
		}
	}
	return out
}
