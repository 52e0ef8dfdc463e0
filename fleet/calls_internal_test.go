package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/lease"
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

// An answer without a price gets one with its searches, and keeps waiting if there is
// none yet.
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
	f := assemble(t.Context(), Options{Store: db, Project: "p", StoreTimeout: patient})
	at := f.records.key(kindCalls, place("ada"))
	const written = `{"v":1,"calls":[{"id":"toolu_1","tool":"Bash","digest":"d","future":{"a":1}}],"since":[2]}`
	if _, err := store.Put(t.Context(), db, at, []byte(written), 0, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	var c calls
	pending, err := f.records.readCalls(t.Context(), "ada", &c)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.records.putCalls(t.Context(), "ada", &c, withCall(pending, calledTool{ID: "toolu_2", Tool: "Read"}), store.Fence{}); err != nil {
		t.Fatal(err)
	}
	r, err := store.Get(t.Context(), db, at)
	for _, want := range []string{`"toolu_1"`, `"future":{"a":1}`, `"toolu_2"`, `"since":[2]`} {
		if err != nil || !strings.Contains(string(r.Value), want) {
			t.Errorf("%s lacks %s, %v", r.Value, want, err)
		}
	}
}

// slowCalls is a store that takes its time to write the record of calls.
type slowCalls struct {
	*store.MemoryStore
	begun, goOn chan struct{}
}

func (s *slowCalls) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	if c[0].Key.Kind == kindCalls {
		s.begun <- struct{}{}
		<-s.goOn
	}
	return s.MemoryStore.Change(ctx, f, c...)
}

// While a call is being recorded, the session stores lines and learns which calls are
// in the transcript, and another call gives up when its time is over. Lines that were
// stored meanwhile are not pending afterwards.
func TestLetGoHoldsUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &slowCalls{store.Memory(), make(chan struct{}), make(chan struct{})}
		held, err := lease.Acquire(t.Context(), db, "p", leaseName(place("ada")), "machine", 30*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		w := newWaking(newHouse(t.Context(), Options{Store: db, Project: "p", StoreTimeout: patient}), &conversation{key: "ada"}, &owned{Held: held, lost: make(chan struct{})}, nil)
		w.going.pending = []calledTool{{ID: "toolu_0", Tool: "Bash"}}
		call := func(ctx context.Context, id string) error {
			return w.letGo(ctx, &hook.PreToolUseInput{ToolBase: hook.ToolBase{ToolName: "Bash", ToolUseID: id, ToolInput: json.RawMessage(`{}`)}})
		}
		ended := make(chan error, 1)
		go func() { ended <- call(t.Context(), "toolu_1") }()
		<-db.begun
		if !w.going.mu.TryLock() {
			close(db.goOn)
			t.Fatal("the lock is held while the store writes")
		}
		w.going.mu.Unlock()
		for _, id := range []string{"toolu_0", "toolu_1"} {
			w.going.note(store.Entry(fmt.Sprintf(`{"message":{"content":[{"type":"tool_use","id":%q}]}}`, id)))
		}
		if err := call(t.Context(), "toolu_0"); err != nil {
			t.Errorf("a call that the transcript has: %v", err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := call(short, "toolu_2"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call whose time is over: %v", err)
		}
		close(db.goOn)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if left := w.going.untold(); len(left) > 0 {
			t.Errorf("what the transcript has is pending: %+v", left)
		}
		r, err := store.Get(t.Context(), db, w.records.key(kindCalls, place("ada")))
		if err != nil || !strings.Contains(string(r.Value), "toolu_1") || r.Revision != w.going.revision {
			t.Errorf("the record: %s, revision %d, %v; known is %d", r.Value, r.Revision, err, w.going.revision)
		}
	})
}

// mute is a store that writes the record of calls once, and then loses its reply.
type mute struct {
	*store.MemoryStore
	lost bool
}

var errReplyLost = errors.New("the reply is lost")

func (s *mute) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	next, err := s.MemoryStore.Change(ctx, f, c...)
	if err == nil && !s.lost {
		s.lost = true
		return nil, errReplyLost
	}
	return next, err
}

// A call that conflicts with a write of its own process, whose reply was lost, is also
// recorded before it begins.
func TestLetGoAfterLostReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &mute{MemoryStore: store.Memory()}
		held, err := lease.Acquire(t.Context(), db, "p", leaseName(place("ada")), "machine", 30*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		w := newWaking(newHouse(t.Context(), Options{Store: db, Project: "p", StoreTimeout: patient}), &conversation{key: "ada"}, &owned{Held: held, lost: make(chan struct{})}, nil)
		call := func(id string) error {
			return w.letGo(t.Context(), &hook.PreToolUseInput{ToolBase: hook.ToolBase{ToolName: "Bash", ToolUseID: id, ToolInput: json.RawMessage(`{}`)}})
		}
		if err := call("toolu_1"); !errors.Is(err, errReplyLost) {
			t.Errorf("a call whose write is in doubt: %v", err)
		}
		if err := call("toolu_2"); err != nil {
			t.Errorf("the call after it: %v", err)
		}
		r, err := store.Get(t.Context(), db, w.records.key(kindCalls, place("ada")))
		if err != nil || !strings.Contains(string(r.Value), "toolu_2") || r.Revision != w.going.revision {
			t.Errorf("the record: %s, revision %d, %v; known is %d", r.Value, r.Revision, err, w.going.revision)
		}
	})
}
