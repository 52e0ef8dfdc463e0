package fleet

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// An id is not found in a longer one.
func TestMentions(t *testing.T) {
	for line, want := range map[string]bool{
		`{"id":"call_1"}`:                      true,
		`{"id":"call_12"}`:                     false,
		`{"id":"call_1-a"}`:                    false,
		`{"a":"call_12","b":"call_1"}`:         true,
		`{"text":"x\\ncall_1 (Bash)"}`:         true,
		`{"text":"<task-id>call_1</task-id>"}`: true,
		`call_1`:                               true,
		`{"id":"call_"}`:                       false,
	} {
		if mentions([]byte(line), "call_1") != want {
			t.Errorf("%s: want %t", line, want)
		}
	}
}

// The note counts the calls of an agent that are not kept.
func TestNoteCountsEarlierCalls(t *testing.T) {
	var pending []calledTool
	for i := range maxAgentCalls + 3 {
		pending = withCall(pending, calledTool{ID: fmt.Sprint("call_", i), Tool: "Bash", Agent: "a1"})
	}
	pending = withCall(pending, calledTool{ID: "other", Tool: "Bash", Agent: "a2"})
	note := noteOf(pending)
	if len(pending) != maxAgentCalls+1 || strings.Count(note, "3 earlier calls") != 1 || strings.Count(note, "earlier") != 1 {
		t.Errorf("%d calls: %s", len(pending), note)
	}
}

// What had no price gets one with its searches, and keeps waiting if there is none yet.
func TestPriced(t *testing.T) {
	said := message.ModelUsage{InputTokens: 1000, CostUSD: 0.002}
	searches := message.ModelUsage{InputTokens: 100, WebSearchRequests: 2}
	was := Ledger{Unpriced: map[string]message.ModelUsage{"new": searches}}
	if l := was.priced(map[string]message.ModelUsage{"new": said}); len(l.Unpriced) > 0 || math.Abs(l.USD-0.0202) > 1e-9 {
		t.Errorf("%+v", l)
	}
	only := message.ModelUsage{WebSearchRequests: 1, CostUSD: 0.01} // no price of tokens follows
	if l := was.priced(map[string]message.ModelUsage{"new": only}); len(l.Unpriced) != 1 || l.USD != 0 {
		t.Errorf("%+v", l)
	}
}

// Members that a newer program has added to the record of calls, and to a call, are there
// after another call is added.
func TestUnknownMembersOfCallsSurvive(t *testing.T) {
	db := store.Memory()
	f := &Fleet{opts: Options{Store: db, Project: "p"}, store: newAnnouncer(db, nil)}
	at := f.recordKey(kindCalls, place("ada"))
	const written = `{"v":1,"calls":[{"id":"toolu_1","tool":"Bash","digest":"d","future":{"a":1}}],"since":[2]}`
	if _, err := db.PutRecord(t.Context(), at, []byte(written), 0, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	var c calls
	pending, err := f.readCalls(t.Context(), "ada", &c)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.putCalls(t.Context(), "ada", &c, withCall(pending, calledTool{ID: "toolu_2", Tool: "Read"}), store.Fence{}); err != nil {
		t.Fatal(err)
	}
	r, err := db.GetRecord(t.Context(), at)
	for _, want := range []string{`"toolu_1"`, `"future":{"a":1}`, `"toolu_2"`, `"since":[2]`} {
		if err != nil || !strings.Contains(string(r.Value), want) {
			t.Errorf("%s lacks %s, %v", r.Value, want, err)
		}
	}
}
