package serve_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// A decision counts only for the input that its person saw: one that names another
// digest, a part of it or none decides nothing, and the tool does not run.
func TestDecisionNeedsItsDigest(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	own := ada.begin("tool 1")
	asked := ada.pending(1)[0]
	if asked.Digest == "" {
		t.Fatal("the approval has no digest")
	}
	other := approval.Digest([]byte(`{"other":"input"}`))
	for _, digest := range []string{"", other, asked.Digest[:len(asked.Digest)-1], asked.Digest + "0", " " + asked.Digest, strings.ToUpper(asked.Digest)} {
		for _, decision := range []api.DecisionKind{"allow", "deny"} {
			got := ada.do("POST", "/v1/approvals/"+asked.ID+"/decision", api.Decision{Decision: decision, Digest: digest})
			p := want[api.Problem](ada, got, http.StatusConflict)
			if p.Type != "/problems/changed" {
				t.Errorf("%s with the digest %q: %s", decision, digest, got.body)
			}
		}
	}
	if got := ada.do("POST", "/v1/approvals/"+asked.ID+"/decision", `{"decision":"allow"}`); got.status == http.StatusOK {
		t.Errorf("a decision without a digest: %d %s", got.status, got.body)
	}
	if still := ada.pending(1)[0]; still.State != api.ApprovalPending || len(r.agent.ran()) != 0 {
		t.Errorf("the approval is %s, the tool ran %d times", still.State, len(r.agent.ran()))
	}
	want[api.Approval](ada, ada.do("POST", "/v1/approvals/"+asked.ID+"/decision", api.Decision{Decision: "allow", Digest: asked.Digest}), http.StatusOK)
	ada.follow("/v1/conversations/"+own.ID+"/events", untilTurns(1))
	if ran := r.agent.ran(); len(ran) != 1 {
		t.Errorf("the tool ran %d times after it was allowed", len(ran))
	}
}
