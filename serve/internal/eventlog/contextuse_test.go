package eventlog

import (
	"maps"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// line is a line of a transcript as the fleet passes it on.
func line(t *testing.T, text string) *fleet.ConversationEvent {
	t.Helper()
	kind := "assistant"
	if strings.HasPrefix(text, `{"type":"user"`) {
		kind = "user"
	}
	m, err := message.DecodeAs(kind, "", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &fleet.ConversationEvent{Message: m, Entry: store.Entry(text)}
}

func answer(model, usage, more string) string {
	return `{"type":"assistant"` + more + `,"message":{"id":"m","role":"assistant","model":"` + model + `","content":[],"usage":{` + usage + `}}}`
}

// Only what the model read for an answer of the main agent counts, and a compaction
// makes it unknown until the next answer.
func TestContextOfLines(t *testing.T) {
	t.Parallel()
	const own = `"input_tokens":7,"cache_read_input_tokens":900,"cache_creation_input_tokens":93,"output_tokens":5000`
	for name, c := range map[string]struct {
		line   string
		model  string
		tokens int64
	}{
		"an answer":              {answer("claude-a", own, ""), "claude-a", 1000},
		"a sub-agent's":          {answer("claude-b", own, `,"isSidechain":true`), "claude-z", 50},
		"a sub-agent's, by call": {answer("claude-b", own, `,"parent_tool_use_id":"toolu_1"`), "claude-z", 50},
		"an error of the API":    {answer("<synthetic>", `"input_tokens":0,"output_tokens":0`, ""), "claude-z", 50},
		"a prompt":               {`{"type":"user","message":{"role":"user","content":"hello"}}`, "claude-z", 50},
		"a summary":              {`{"type":"user","isCompactSummary":true,"message":{"role":"user","content":"so far"}}`, "", 0},
	} {
		before := contextNote{Model: "claude-z", Tokens: 50, Windows: map[string]int64{"claude-z": 200}}
		got := before.heard(line(t, c.line))
		if got.Model != c.model || got.Tokens != c.tokens || got.Windows["claude-z"] != 200 {
			t.Errorf("%s: %+v, want %s and %d tokens", name, got, c.model, c.tokens)
		}
	}
}

// The size belongs to the model that has answered, however the result calls it. What is
// not known is not shown, rather than as nothing.
func TestContextUse(t *testing.T) {
	t.Parallel()
	size := func(n int) message.ModelUsage { return message.ModelUsage{ContextWindow: n} }
	for name, c := range map[string]struct {
		model   string
		tokens  int64
		models  map[string]message.ModelUsage
		percent int // 0: not known
	}{
		"the same name":          {"claude-a", 410, map[string]message.ModelUsage{"claude-a": size(1000), "claude-b": size(500)}, 41},
		"with a date":            {"claude-a-20260102", 410, map[string]message.ModelUsage{"claude-a": size(1000)}, 41},
		"a variant":              {"claude-a-20260102", 410, map[string]message.ModelUsage{"claude-a-20260102[1m]": size(1000)}, 41},
		"as a provider calls it": {"claude-a-20260102", 410, map[string]message.ModelUsage{"us.x.claude-a-v1:0": {ContextWindow: 1000, CanonicalModel: "claude-a"}}, 41},
		"another version":        {"claude-a-5", 410, map[string]message.ModelUsage{"claude-a": size(1000)}, 0},
		"another model":          {"claude-a", 410, map[string]message.ModelUsage{"claude-b": size(1000)}, 0},
		"two sizes":              {"claude-a", 410, map[string]message.ModelUsage{"claude-a": size(1000), "claude-a[1m]": size(2000)}, 0},
		"no size":                {"claude-a", 410, map[string]message.ModelUsage{"claude-a": size(0)}, 0},
		"no result":              {"claude-a", 410, nil, 0},
		"no answer":              {"", 0, map[string]message.ModelUsage{"claude-a": size(1000)}, 0},
		"hardly anything":        {"claude-a", 1, map[string]message.ModelUsage{"claude-a": size(1000)}, 1},
		"rounded":                {"claude-a", 996, map[string]message.ModelUsage{"claude-a": size(1000)}, 100},
	} {
		note := contextNote{Model: c.model, Tokens: c.tokens}.ended(c.models)
		switch got := note.Use(); {
		case c.percent == 0 && got != nil:
			t.Errorf("%s: %+v, want nothing", name, got)
		case c.percent != 0 && (got == nil || got.Percent != c.percent || got.Tokens != c.tokens || got.Window != 1000 || got.Model != c.model):
			t.Errorf("%s: %+v, want %d%%", name, got, c.percent)
		}
	}
}

// A turn in which another model answered leaves what is known, and a write that is made
// again finds the note as it was.
func TestContextNoteIsNotChanged(t *testing.T) {
	t.Parallel()
	first := contextNote{Model: "claude-a", Tokens: 1}.ended(map[string]message.ModelUsage{"claude-a": {ContextWindow: 10}})
	kept := maps.Clone(first.Windows)
	second := first.ended(map[string]message.ModelUsage{"claude-a": {ContextWindow: 20}, "claude-b": {ContextWindow: 30}}).ended(nil)
	if !maps.Equal(first.Windows, kept) || second.Windows["claude-a"] != 20 || second.Windows["claude-b"] != 30 {
		t.Errorf("first %v, then %v", first.Windows, second.Windows)
	}
}

// All that the head knows besides its events stays in it when they become a segment.
func TestHeadKeepsTheRest(t *testing.T) {
	t.Parallel()
	book := NewStore(store.Memory(), "p")
	full := Head{
		First: 1, Accepting: []acceptance{{}}, Erasing: new(Erasure), Days: map[string]DaySum{"2026-01-02": {Turns: 3}},
		Unprompted: fleet.Ledger{Turns: 4}, Context: contextNote{Model: "claude-a", Tokens: 5, Windows: map[string]int64{"claude-a": 6}},
	}
	for i := range SegmentSize {
		full.Events = append(full.Events, Stored{Type: api.EventNotice, Event: api.Event{Seq: int64(i + 1), Notice: new(api.Notice)}})
	}
	if _, _, err := book.Put(t.Context(), "k", full, 0); err != nil {
		t.Fatal(err)
	}
	got, _, err := book.Head(t.Context(), "k")
	if err != nil || got.Segments != 1 || len(got.Events) != 0 || got.First != SegmentSize+1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if len(got.Accepting) != 1 || got.Erasing == nil || got.Days["2026-01-02"].Turns != 3 || got.Unprompted.Turns != 4 || got.Context.Use() == nil {
		t.Errorf("%+v", got)
	}
}
