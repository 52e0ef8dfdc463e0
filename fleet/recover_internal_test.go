package fleet

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// A question about one of several calls that is over does not hide the one about another
// call which waits for a person, or whose decision has yet to be used.
func TestQuestionForPrefersWhatIsNotOver(t *testing.T) {
	for _, state := range []approval.State{approval.Open, approval.Decided} {
		t.Run(string(state), func(t *testing.T) {
			db := store.Memory()
			w := newWaking(newHouse(t.Context(), Options{Store: db, Project: "p", StoreTimeout: patient}), &conversation{key: "ada"}, nil, nil)
			calls := []string{"toolu_1", "toolu_2"}
			for _, call := range calls {
				if _, err := w.inbox.Ask(t.Context(), approval.Question{Conversation: "ada", Tool: "Bash", ToolUseID: call, Input: json.RawMessage(`{}`)}, store.Fence{}); err != nil {
					t.Fatal(err)
				}
			}
			var listed []approval.Question // the first is the one that could hide the other
			for q, err := range w.inbox.List(t.Context(), approval.Filter{Conversation: "ada"}) {
				if err != nil {
					t.Fatal(err)
				}
				listed = append(listed, q)
			}
			at := store.RecordKey{Project: "p", Kind: approval.Kind, Name: listed[0].ID}
			r, err := store.Get(t.Context(), db, at)
			if err != nil {
				t.Fatal(err)
			}
			gone := strings.Replace(string(r.Value), `"state":"open"`, `"state":"gone","outcome":"expired"`, 1)
			if _, err := store.Put(t.Context(), db, at, []byte(gone), r.Revision, store.Fence{}); err != nil {
				t.Fatal(err)
			}
			if state == approval.Decided {
				if _, err := w.inbox.Decide(t.Context(), listed[1].ID, approval.Answer{Decision: permission.Allow(), By: "ada", Digest: listed[1].Digest}); err != nil {
					t.Fatal(err)
				}
			}
			q, err := w.questionFor(t.Context(), calls)
			if err != nil || q == nil || q.ID != listed[1].ID || q.State != state {
				t.Errorf("found is %+v, %v; want %s", q, err, listed[1].ID)
			}
		})
	}
}
