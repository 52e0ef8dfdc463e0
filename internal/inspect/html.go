package inspect

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"strings"

	"github.com/claude-agent-go/claude/internal/show"
)

// The parts of the page.
//
//go:embed page/page.html
var pageHTML string

//go:embed page/page.css
var pageCSS string

//go:embed page/page.js
var pageJS string

// pageStyle is the style of the page, with what all pages share.
func pageStyle() string { return show.Style + pageCSS }

// Limits bound what a page shows. Whatever they leave out is counted on the
// page. Zero stands for the default.
type Limits struct {
	// Frames is how many frames are listed, where pieces of an answer that
	// follow each other count as one: 5,000.
	Frames int
	// Items is how many things of the conversation are shown: 5,000.
	Items int
	// Exchanges is how many requests are listed: 5,000.
	Exchanges int
	// Bars is how many bars the timeline has: 3,000.
	Bars int
	// Text is how many bytes of one text or one frame are shown: 16 KiB.
	Text int
	// Total is how many bytes of texts and frames are shown: 24 MiB.
	Total int
}

func (l Limits) orDefault() Limits {
	for _, f := range []struct {
		field *int
		value int
	}{{&l.Frames, 5000}, {&l.Items, 5000}, {&l.Exchanges, 5000}, {&l.Bars, 3000}, {&l.Text, 16 << 10}, {&l.Total, 24 << 20}} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	return l
}

// page is the data of the template.
type page struct {
	Title, Policy string
	Style         template.CSS
	Script        template.JS
	About         []string
	Command       string
	Cards         []card
	Timeline      *timeline
	Findings      []Finding
	Problems      []Problem
	Unknown       []unknownGroup
	UnknownCount  string
	Cuts          []string
	Kinds         []Kind
	Turns         []turnView
	Exchanges     []exchangeView
	ExchangeCount string
	Frames        []frameView
	FrameCount    string
	Redaction     string
}

type card struct{ Name, Value, Note, Tone string }

// unknownGroup lists the unknown names of one type.
type unknownGroup struct {
	Where string
	Names []unknownName
}

type unknownName struct {
	Name, Title string
	Line        int
}

// WriteHTML writes the report as one page that needs nothing else: it loads
// nothing, and its policy forbids that it could.
func (r *Report) WriteHTML(w io.Writer, limits Limits) error {
	t, err := template.New("page").Parse(show.Templates + pageHTML)
	if err != nil {
		return err
	}
	v := &viewer{rep: r, limits: limits.orDefault()}
	v.left = v.limits.Total
	var out bytes.Buffer // so that nothing is written when something fails
	if err := t.Execute(&out, v.page()); err != nil {
		return err
	}
	_, err = out.WriteTo(w)
	return err
}

// policy allows the style and the script of the page by their hashes, and
// nothing else.
func policy() string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + hash(pageStyle()) + "; script-src " + hash(pageJS)
}

// viewer makes views, and counts the frames that it has shown and left out.
type viewer struct {
	rep    *Report
	limits Limits
	left   int // bytes that may still be shown
	cuts   []string
	items  int
	lines  map[int]bool // frames that have a row of their own
}

func (v *viewer) page() *page {
	r, s := v.rep, &v.rep.Summary
	p := &page{
		Title: cmp.Or(r.Title, "A session"), Policy: policy(), Style: template.CSS(pageStyle()), Script: template.JS(pageJS),
		Command: show.Head(commandLine(s.Args), 2000), Cards: v.cards(), Findings: r.Findings, Problems: r.Problems,
		Kinds: Kinds(), Redaction: "Secrets are hidden as far as they are known by form, name or environment.",
	}
	if r.Source != "" {
		p.About = append(p.About, filepath.Base(r.Source))
	}
	if r.Unredacted {
		p.Redaction = "Secrets are NOT hidden."
	}
	for _, fact := range []string{s.Version, strings.Join(s.ModelNames, ", "), s.Cwd} {
		if fact != "" {
			p.About = append(p.About, fact)
		}
	}
	p.About = append(p.About, show.Plural(s.Lines, "line"), show.Bytes(s.Bytes))
	if s.Exit != "" {
		p.About = append(p.About, s.Exit)
	}
	if most := 200; len(p.Problems) > most {
		v.cut("%d problems are not listed", len(p.Problems)-most)
		p.Problems = p.Problems[:most]
	}
	if most := 200; len(p.Findings) > most {
		v.cut("%d findings are not listed", len(p.Findings)-most)
		p.Findings = p.Findings[:most]
	}
	p.Turns = v.turns()
	p.Exchanges = v.exchanges()
	p.ExchangeCount = number(len(r.Exchanges))
	p.Frames = v.frames()
	p.FrameCount = number(len(r.Frames))
	if r.Hidden > 0 {
		p.FrameCount += fmt.Sprintf(" of %d", len(r.Frames)+r.Hidden)
		v.cut("a filter left out %d frames", r.Hidden)
	}
	p.Timeline = v.timeline()
	p.Unknown, p.UnknownCount = groups(r.Unknown), show.Plural(len(r.Unknown), "name")
	if v.left <= 0 {
		v.cut("the page shows %s of texts and frames at most; the rest are without their content", show.Bytes(int64(v.limits.Total)))
	}
	p.Cuts = v.cuts
	return p
}

func (v *viewer) cut(format string, args ...any) {
	v.cuts = append(v.cuts, fmt.Sprintf(format, args...))
}

// take returns as much of a text as may be shown, and what to say about the rest.
func (v *viewer) take(text string) (shown, cut string) {
	shown = show.Head(text, max(min(v.limits.Text, v.left), 0))
	v.left -= len(shown)
	if rest := len(text) - len(shown); rest > 0 {
		cut = show.Bytes(int64(rest)) + " more are not shown"
	}
	return strings.ToValidUTF8(shown, "\uFFFD"), cut
}

// modelTime describes how much of the time the model itself took.
func (v *viewer) modelTime() string {
	total := 0.0
	for _, t := range v.rep.Turns {
		total += t.ModelMS()
	}
	if total == 0 {
		return ""
	}
	return show.Span(total) + " model"
}

func (v *viewer) cards() []card {
	s := &v.rep.Summary
	tone := func(n int, bad string) string {
		if n > 0 {
			return bad
		}
		return ""
	}
	note := func(n int, what string) string {
		if n > 0 {
			return number(n) + " " + what
		}
		return ""
	}
	failed := 0
	for _, f := range v.rep.Findings {
		if f.Kind == FindingFailed && f.tool {
			failed++
		}
	}
	cards := []card{
		{"Time", show.Span(s.DurationMS), v.modelTime(), ""},
		{"Turns", number(s.Turns), joined(note(s.FailedTurns, "failed"), note(s.Interrupts, "interrupted")), tone(s.FailedTurns, "warn")},
		{"Tool calls", number(s.ToolCalls), note(failed, "failed"), ""},
		{"Permissions", number(s.Asked), note(s.Denied, "denied"), ""},
		{"Hook calls", number(s.Hooks), "", ""},
		{"MCP calls", number(s.MCPCalls), "", ""},
		{"Requests", number(s.Requests), note(s.Unanswered, "unanswered"), tone(s.Unanswered, "bad")},
		{"Cost", show.Money(s.CostUSD), show.Plural(s.AgentTurns, "agentic turn"), ""},
		{"Tokens", show.Tokens(s.Tokens.Input+s.Tokens.CacheRead+s.Tokens.CacheWrite) + " in", show.Tokens(s.Tokens.Output) + " out", ""},
	}
	if most := v.rep.fullest(); most != nil {
		full := ""
		if most.Window > 0 {
			full = fmt.Sprintf("%.0f %% of %s", 100*float64(most.Context)/float64(most.Window), show.Tokens(most.Window))
		}
		cards = append(cards, card{"Context", show.Tokens(most.Context), cmp.Or(full, "at most"), ""})
	}
	if s.MirrorFrames > 0 {
		cards = append(cards, card{"Mirrored", show.Plural(s.MirrorEntries, "line"), "in " + show.Plural(s.MirrorFrames, "frame"), ""})
	}
	return cards
}

// groups gathers unknown names by the type they were seen in.
func groups(all []Unknown) []unknownGroup {
	var out []unknownGroup
	byWhere := make(map[string]int)
	for _, u := range all {
		where, name, ok := strings.Cut(u.Name, ".")
		if !ok {
			where, name = "types", u.Name
		}
		i, seen := byWhere[where]
		if !seen {
			i = len(out)
			byWhere[where] = i
			out = append(out, unknownGroup{Where: where})
		}
		out[i].Names = append(out[i].Names, unknownName{name, fmt.Sprintf("in %s, first in line %d", show.Plural(u.Count, "frame"), u.Line), u.Line})
	}
	return out
}

// pretty writes JSON for people, and anything else as it is.
func pretty(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	return out.String()
}
