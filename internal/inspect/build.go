package inspect

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/wire"
	"github.com/claude-agent-go/claude/message"
)

// builder goes through the frames of a report once and fills in the rest.
type builder struct {
	rep      *Report
	pairing  *pairing
	known    *known
	spending message.Spending
	turn     *Turn // that runs, nil between turns
	tools    map[string]*Tool
	unknown  map[nameFrom]*Unknown
	changed  map[nameFrom]*Unknown
	compare  bool            // look for what changes when it is written again
	ended    map[int][]*Tool // by the line of their results
	clock    modelClock      // of the turn that runs
	calls    calls
	models   models
	retries  []*Frame          // failed calls of the API
	prompt   string            // the first one
	title    string            // the last one that the session was given
	agents   map[string]string // names of subagents by the call that started them
}

// build fills in everything that follows from the frames.
func build(rep *Report, compare bool) {
	b := &builder{
		rep: rep, pairing: newPairing(), known: newKnown(),
		tools: make(map[string]*Tool), agents: make(map[string]string), ended: make(map[int][]*Tool),
		unknown: make(map[nameFrom]*Unknown), changed: make(map[nameFrom]*Unknown), compare: compare,
	}
	if compare { // a survey leaves nothing out
		b.known.size, b.known.budget = math.MaxInt, math.MaxInt
	}
	for _, f := range rep.Frames {
		b.frame(f)
		if b.turn != nil {
			b.turn.ToLine, b.turn.ToMS = f.Line, f.AtMS
		}
		if f.Error != "" && f.Kind == KindBroken {
			b.problem(f.Line, f.Error)
		}
		rep.Summary.DurationMS = max(rep.Summary.DurationMS, f.AtMS)
	}
	b.readDecisions()
	b.find()
	b.finish()
}

func (b *builder) problem(line int, what string) {
	b.rep.Problems = append(b.rep.Problems, Problem{line, what})
}

// frame classifies a frame and takes its content.
func (b *builder) frame(f *Frame) {
	switch {
	case f.Kind == KindBroken:
		return
	case f.Dir == claudetest.DirMeta:
		b.process(f)
		return
	case b.recorderNote(f), b.text(f):
		return
	}
	w, err := wire.Parse(f.Msg)
	if err != nil {
		f.Kind, f.Error = KindBroken, "frame cannot be read: "+err.Error()
		return
	}
	f.Type, f.Subtype = w.Type, w.Subtype
	switch w.Type {
	case wire.TypeRequest:
		b.request(f, w)
	case wire.TypeResponse:
		b.response(f, w)
	case wire.TypeCancel:
		b.cancelled(f, w)
	case wire.TypeKeepAlive:
		f.Kind, f.Summary = KindControl, "keep alive"
	case wire.TypeMirror:
		b.rep.Summary.mirror(f)
	default:
		b.message(f, w)
	}
	if b.turn != nil {
		f.Turn = b.turn.Number
	}
}

func (b *builder) request(f *Frame, w wire.Frame) {
	f.Kind = KindControl
	r, err := w.Request()
	f.RequestID, f.Subtype = r.ID.String(), r.Subtype
	if err != nil {
		f.Error = err.Error()
		b.problem(f.Line, f.Error)
		return
	}
	x, odd := b.pairing.ask(f, r)
	if odd != "" {
		b.problem(f.Line, odd)
	}
	if b.turn != nil {
		x.Turn = b.turn.Number
	}
	f.Kind, f.Summary = x.Kind, joined(x.Subtype, x.About)
	b.rep.Exchanges = append(b.rep.Exchanges, x)
	b.place(f, x)
	b.look(f, requestDocument(f.Dir, r))
}

// place puts an exchange where it belongs in the turn: to its tool call, or
// among the items.
func (b *builder) place(f *Frame, x *Exchange) {
	if t := b.tools[x.ToolUseID]; t != nil {
		t.Asked = append(t.Asked, x)
		return
	}
	if b.turn == nil {
		return
	}
	kind := ItemExchange
	if x.Subtype == "interrupt" {
		kind = ItemInterrupt
	}
	b.add(f, &Item{Kind: kind, Exchange: x})
}

// add adds an item to the turn.
func (b *builder) add(f *Frame, it *Item) {
	it.Line, it.AtMS = f.Line, f.AtMS
	b.turn.Items = append(b.turn.Items, it)
}

func (b *builder) response(f *Frame, w wire.Frame) {
	f.Kind = KindControl
	r, err := w.Response()
	f.RequestID = r.ID.String()
	if err != nil {
		f.Error = err.Error()
		b.problem(f.Line, f.Error)
		return
	}
	x, odd := b.pairing.reply(f, r)
	if odd != "" {
		b.problem(f.Line, odd)
		f.Error = odd
	}
	if x == nil {
		f.Summary = "reply"
		return
	}
	f.Kind, f.Subtype = x.Kind, x.Subtype
	if x.From == claudetest.DirOut {
		b.clock.busy(f.AtMS)
	}
	if odd == "" {
		f.LatencyMS = x.LatencyMS
	}
	f.Summary = joined(x.Subtype, x.About, "→", cmp.Or(x.Answer, string(x.Outcome)))
	if x.Outcome == Failed && odd == "" {
		f.Error = x.Answer
	}
	b.look(f, replyDocument(x, r))
}

func (b *builder) cancelled(f *Frame, w wire.Frame) {
	f.Kind, f.RequestID = KindControl, w.CancelID().String()
	f.Summary = "takes the request back"
	if x := b.pairing.cancel(f, w.CancelID()); x != nil {
		f.Kind, f.Subtype, f.LatencyMS = x.Kind, x.Subtype, x.LatencyMS
		f.Summary = joined("takes back", x.Subtype, x.About)
		// Hooks that decide take the question back too.
		if t := b.tools[x.ToolUseID]; t != nil && b.turn != nil && slices.ContainsFunc(b.turn.Items, func(it *Item) bool { return it.Kind == ItemInterrupt }) {
			t.Withdrawn = true
		}
	}
}

// look finds out what the decoders make of a document.
func (b *builder) look(f *Frame, d document) {
	names := b.known.unknown(d)
	b.note(f, names)
	if b.compare && f.Dir == claudetest.DirOut {
		for _, name := range changes(d, names) {
			tally(b.changed, name, f)
		}
	}
}

// note takes the members that are not known.
func (b *builder) note(f *Frame, names []string) {
	for _, name := range names {
		tally(b.unknown, name, f)
		f.Unknown = append(f.Unknown, name)
	}
}

// nameFrom is a name, and who wrote it.
type nameFrom struct {
	name string
	from claudetest.Dir
}

// tally counts a name that was seen in a frame.
func tally(all map[nameFrom]*Unknown, name string, f *Frame) {
	at := nameFrom{name, f.Dir}
	u := all[at]
	if u == nil {
		u = &Unknown{Name: name, From: f.Dir, Line: f.Line}
		all[at] = u
	}
	u.Count++
}

// sorted returns the counts, in the order of the lines.
func sorted(all map[nameFrom]*Unknown) []Unknown {
	out := []Unknown{}
	for _, u := range all {
		out = append(out, *u)
	}
	slices.SortFunc(out, func(a, b Unknown) int {
		return cmp.Or(a.Line-b.Line, cmp.Compare(a.Name, b.Name), cmp.Compare(a.From, b.From))
	})
	return out
}

// finish counts, and puts lists in order.
func (b *builder) finish() {
	rep, s := b.rep, &b.rep.Summary
	for _, x := range rep.Exchanges {
		s.Requests++
		switch x.Outcome {
		case Unanswered:
			s.Unanswered++
			b.problem(x.AskedLine, joined("request", x.ID, "("+joined(x.Subtype, x.About)+")", "was never answered"))
		case Cancelled:
			s.Cancelled++
		case Failed:
			s.FailedCalls++
		}
		switch {
		case x.Kind == KindPermission:
			s.Asked++
			if x.denies {
				s.Denied++
			}
		case x.Kind == KindHook:
			s.Hooks++
		case x.Kind == KindMCP && jsonx.Text(jsonx.Member(jsonx.Member(x.request, "message"), "method")) == "tools/call":
			s.MCPCalls++
		case x.Subtype == "interrupt":
			s.Interrupts++
		}
	}
	for _, t := range b.tools {
		s.ToolCalls++
		if t.IsError {
			s.ToolErrors++
		}
	}
	if b.turn != nil { // without a result
		b.turn.Model = b.clock.spans
	}
	b.priceCalls()
	rep.Title = cmp.Or(rep.Title, b.title, b.prompt)
	s.Turns, s.CostUSD, s.AgentTurns = len(rep.Turns), b.spending.TotalUSD, b.spending.AgentTurns
	s.Tokens = tokensOf(b.spending.Usage)
	if len(b.spending.Models) > 0 {
		s.Models = make(map[string]Tokens, len(b.spending.Models))
	}
	for _, name := range slices.Sorted(maps.Keys(b.spending.Models)) {
		b.models.add(name)
	}
	s.ModelNames = b.models.names
	for name, u := range b.spending.Models {
		s.Models[name] = Tokens{u.InputTokens, u.OutputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.CostUSD}
	}
	for _, t := range rep.Turns {
		if t.Failed && !t.interrupted() {
			s.FailedTurns++
		}
		if !t.Ended {
			b.problem(t.FromLine, joined("turn", number(t.Number), "has no result"))
		}
	}
	slices.SortStableFunc(rep.Problems, func(a, b Problem) int { return a.Line - b.Line })
	rep.Unknown = sorted(b.unknown)
	if b.compare {
		rep.Changed = sorted(b.changed)
	}
	if b.known.spent {
		b.problem(0, errProbes.Error())
	}
}

// errProbes means that a recording has more names than are examined.
var errProbes = errors.New("too many names: not all of them were compared with what is known")
