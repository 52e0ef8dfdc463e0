package serve_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/storefault"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/agui"
	"github.com/claude-agent-go/claude/store"
)

// A run with an answer that its user may not give, or that does not fit, gives none of its
// answers: no call is let go.
func TestAGUIDecidesAllOrNothing(t *testing.T) {
	t.Parallel()
	db := store.Memory()
	r := newRig(t, db, nil)
	ada := r.as("ada", api.RoleOperator)
	conversation := ada.begin("tool 1")
	ada.pending(1)
	for call, deciders := range map[string][]string{"toolu_own": nil, "toolu_other": {"kim"}} {
		_, err := approval.NewQuestions(db, "p").Ask(t.Context(), approval.Question{
			Conversation: strings.Replace(conversation.ID, "~", "/", 1), Tool: "Bash", ToolUseID: call, Input: json.RawMessage(`{"command":"ls"}`), Agent: "sub", HoldsProcess: true, Deciders: deciders,
		}, store.Fence{})
		if err != nil {
			t.Fatal(err)
		}
	}
	ada.pending(3)
	events := ada.aguiRun(`{"threadId":"` + conversation.ID + `","runId":"r","messages":[{"id":"1","role":"user","content":"and then?"}]}`)
	asked := events[len(events)-1].Outcome.Interrupts
	if len(asked) != 3 {
		t.Fatalf("asked %+v", asked)
	}
	for name, test := range map[string]struct {
		code   string
		answer func(i agui.Interrupt) (id, payload string)
	}{
		"not hers":     {"forbidden", func(i agui.Interrupt) (string, string) { return i.ID, `{"approved":true}` }},
		"does not fit": {"bad-request", func(i agui.Interrupt) (string, string) { return i.ID, `{"answers":[{"question":0,"write":"x"}]}` }},
		"another input": {"changed", func(i agui.Interrupt) (string, string) {
			return i.ID[:len(i.ID)-64] + strings.Repeat("0", 64), `{"approved":true}`
		}},
	} {
		var answers []string
		for _, i := range asked {
			id, payload := i.ID, `{"approved":true}`
			last := i.ToolCallID == "toolu_own"
			if name == "not hers" {
				last = i.ToolCallID == "toolu_other"
			} else if i.ToolCallID == "toolu_other" {
				continue
			}
			if last {
				id, payload = test.answer(i)
			}
			answers = append(answers, `{"interruptId":"`+id+`","status":"resolved","payload":`+payload+`}`)
		}
		done := ada.aguiRun(`{"threadId":"` + conversation.ID + `","runId":"r","messages":[],"resume":[` + strings.Join(answers, ",") + `]}`)
		if end := done[len(done)-1]; end.Type != "RUN_ERROR" || end.Code != test.code {
			t.Errorf("%s: %+v", name, end)
		}
		ada.pending(3)
	}
	if ran := r.agent.ran(); len(ran) != 0 {
		t.Errorf("ran %q", ran)
	}
}

// An editor that lists approvals from a cursor on gets those behind it.
func TestEditorApprovalsFromCursor(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	for _, text := range []string{"tool 1", "tool 2", "tool 3"} {
		ada.begin(text)
	}
	all := ada.pending(3)
	s, user := r.server.Service(), api.User{Name: "ada", Role: api.RoleOperator}
	page, err := s.Approvals(t.Context(), user, api.ApprovalQuery{Limit: 1})
	if err != nil || len(page.Items) != 1 || page.Next == "" {
		t.Fatalf("%+v, %v", page, err)
	}
	var got []string
	for a, err := range s.EditorApprovals(t.Context(), user, api.ApprovalQuery{Limit: 1, Cursor: page.Next}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, a.ID)
	}
	if len(got) != 2 || slices.Contains(got, page.Items[0].ID) {
		t.Errorf("behind %s are %q, of %d", page.Items[0].ID, got, len(all))
	}
}

// A feed that is looped over again begins again: what the first loop has not shown is not
// lost.
func TestFeedLoopedTwice(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, store.Memory(), root, func(o *fleet.Options) { o.Gate = &approval.Options{} }, nil)
		s := r.server.Service()
		var ids []string
		for range 3 {
			c, err := s.Create(t.Context(), operator, api.NewConversation{Preset: "shop", Content: api.Text("hello")})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, c.ID)
		}
		<-time.After(time.Minute) // everything is quiet
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		events, err := s.Feed(ctx, operator)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			s.Touch(id)
		}
		for e := range events {
			if e.Type == api.EventHint {
				break // two others are left
			}
		}
		got := make(map[string]bool)
		for e := range events {
			if e.Type == api.EventHint {
				got[e.Hint.Conversation] = true
			}
			if len(got) == 3 {
				break
			}
		}
		if len(got) != 3 {
			t.Errorf("%d conversations are hinted at", len(got))
		}
	})
}

// A change that archives and renames is made as a whole or not at all, whichever call of
// the store fails.
func TestArchiveAndRename(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	failed := 0
	for n, more := 1, true; more && n < 100 && !t.Failed(); n++ {
		synctest.Test(t, func(t *testing.T) {
			var left atomic.Int64
			db := store.Memory()
			faulty := storefault.Wrap(db, func(storefault.Call) storefault.Kind {
				if left.Add(-1) == 0 {
					return storefault.Fail
				}
				return storefault.None
			})
			r := newService(t, db, root, func(o *fleet.Options) { o.Poll = time.Hour }, func(o *serve.Options) { o.Records = faulty })
			s := r.server.Service()
			c, err := s.Create(t.Context(), operator, api.NewConversation{Preset: "shop", Content: api.Text("hello")})
			if err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Minute)
			title, archived := "another", true
			left.Store(int64(n))
			_, err = s.Change(t.Context(), operator, c.ID, api.Change{Title: &title, Archived: &archived}, "")
			more = left.Swap(0) <= 0
			now, again := s.Conversation(t.Context(), operator, c.ID)
			if again != nil {
				t.Fatal(again)
			}
			if now.Archived != (now.Title == title) || err == nil && !now.Archived {
				t.Errorf("call %d: archived: %v, called %q, %v", n, now.Archived, now.Title, err)
			}
			if err != nil {
				failed++
			}
		})
	}
	if failed < 3 {
		t.Errorf("%d calls have failed", failed)
	}
}

// failingGet is a fleet whose calls of Get can fail.
type failingGet struct {
	*fleet.Fleet
	fails func() error
}

func (f *failingGet) Get(ctx context.Context, key string) (fleet.ConversationInfo, error) {
	if err := f.fails(); err != nil {
		return fleet.ConversationInfo{}, err
	}
	return f.Fleet.Get(ctx, key)
}

// An archiving is taken back if it cannot be seen whether a prompt has come meanwhile.
func TestArchiveTakenBack(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for n := range 2 {
		synctest.Test(t, func(t *testing.T) {
			r := newService(t, store.Memory(), root, func(o *fleet.Options) { o.Gate = &approval.Options{} }, nil)
			odd := &failingGet{r.fleet, func() error { return nil }}
			r.onto(odd)
			s := r.server.Service()
			c, err := s.Create(t.Context(), operator, api.NewConversation{Preset: "shop", Content: api.Text("hello")})
			if err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Minute)
			title, archived, gets := "another", true, 0
			odd.fails = func() error {
				if gets++; gets-1 == n {
					return storefault.ErrFault
				}
				return nil
			}
			if _, err := s.Change(t.Context(), operator, c.ID, api.Change{Title: &title, Archived: &archived}, ""); err == nil {
				t.Error("it is archived")
			}
			now, err := s.Conversation(t.Context(), operator, c.ID)
			if err != nil || now.Archived || now.Title == title {
				t.Errorf("look %d failed: %+v, %v", n, now, err)
			}
		})
	}
}
