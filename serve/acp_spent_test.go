package serve_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// An editor on a server is told what its turn has used, and of which kind a failure is.
// The log has both, so that every client knows.
func TestRemoteSpent(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	r := newRigIn(t, store.Memory(), root, nil)
	ada := newEditor(t, &acp.Remote{Server: r.remote("ada", api.RoleOperator, nil)})
	id := ada.New(t, root)
	var resp struct {
		StopReason schema.StopReason `json:"stopReason"`
		Usage      map[string]int    `json:"usage"`
		Meta       struct {
			Quota struct {
				ModelUsage []json.RawMessage `json:"model_usage"`
			} `json:"quota"`
		} `json:"_meta"`
	}
	prompt := func(text string) error {
		return ada.Call(t.Context(), schema.MethodAgentSessionPrompt, schema.PromptRequest{SessionID: id, Prompt: []schema.ContentBlock{{Text: &schema.TextContent{Text: text}}}}, &resp)
	}
	if err := prompt("fill 3000"); err != nil {
		t.Fatal(err)
	}
	if u := resp.Usage; resp.StopReason != schema.StopReasonEndTurn || u["inputTokens"] != 1 || u["cachedWriteTokens"] != 2 || u["cachedReadTokens"] != 2997 || u["outputTokens"] != 5000 || u["totalTokens"] != 8000 || len(resp.Meta.Quota.ModelUsage) != 1 {
		t.Errorf("ended %+v", resp)
	}
	err := prompt("fail")
	e, ok := errors.AsType[*schema.Error](err)
	if !ok || e.Code != schema.ErrorCodeInternalError || !strings.HasPrefix(e.Message, "the turn failed: ") || strings.Contains(e.Message, "claude: ") || string(e.Data) != `{"errorKind":"server_error"}` {
		t.Errorf("failed with %v, %s", err, e.Data)
	}
	client := r.as("ada", api.RoleOperator)
	turns := client.turnsOf(string(id), 2)
	if turns[0].StopReason != "end_turn" || turns[0].Failure != "" || turns[1].Failure != "server_error" {
		t.Errorf("the log says %q %q, then %q", turns[0].StopReason, turns[0].Failure, turns[1].Failure)
	}
}
