package approval_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// A question of a newer program is not decided, and members that such a program has
// added to one survive a decision.
func TestNewerQuestions(t *testing.T) {
	db := store.Memory()
	inbox := approval.NewQuestions(db, "p")
	for _, test := range []struct{ call, old, new string }{{"toolu_1", `{"v":1`, `{"v":2`}, {"toolu_2", `{"v":1`, `{"v":1,"future":[1]`}} {
		q, err := inbox.Ask(t.Context(), approval.Question{Conversation: "ada", Tool: "Bash", ToolUseID: test.call, Input: []byte(`{}`)}, store.Fence{})
		if err != nil {
			t.Fatal(err)
		}
		k := store.RecordKey{Project: "p", Kind: approval.Kind, Name: q.ID}
		r, err := store.Get(t.Context(), db, k)
		if err != nil || !strings.HasPrefix(string(r.Value), test.old) {
			t.Fatalf("%s, %v", r.Value, err)
		}
		changed := strings.Replace(string(r.Value), test.old, test.new, 1)
		if _, err := store.Put(t.Context(), db, k, []byte(changed), r.Revision, store.Fence{}); err != nil {
			t.Fatal(err)
		}
		_, err = inbox.Decide(t.Context(), q.ID, approval.Answer{By: "ann", Digest: q.Digest, Decision: permission.Allow()})
		after, _ := store.Get(t.Context(), db, k)
		switch newer := strings.Contains(test.new, `"v":2`); {
		case newer && (!errors.Is(err, store.ErrNewer) || string(after.Value) != changed):
			t.Errorf("%v, and %s", err, after.Value)
		case !newer && (err != nil || !strings.Contains(string(after.Value), `"future":[1]`) || !strings.Contains(string(after.Value), "ann")):
			t.Errorf("%v, and %s", err, after.Value)
		}
	}
}
