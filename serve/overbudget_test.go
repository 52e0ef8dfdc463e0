package serve_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// unasked lets every call run without an approval.
func unasked(context.Context, *hook.PreToolUseInput) (string, bool) { return "", false }

// A turn that the CLI ends because the budget of its preset is spent is listed with the
// cost: to those who may see it, for the days that were asked for, until the conversation
// is deleted.
func TestTurnsOverBudget(t *testing.T) {
	t.Parallel()
	r := newRigGated(t, store.Memory(), t.TempDir(), &approval.Options{Needs: unasked}, func(o *serve.Options) {
		o.Presets[0].Options.AllowedTools = []string{"Bash"}
		o.Presets[0].Options.MaxBudgetUSD = 0.0002 // less than two answers cost
	})
	ada := r.as("ada", api.RoleOperator)
	fine := ada.begin("hello")
	ada.turnsOf(fine.ID, 1)
	own := ada.begin("tool 1")
	turn := ada.turnsOf(own.ID, 1)[0]
	if !turn.OverBudget || turn.State != api.PromptFailed || turn.CostUSD <= 0 {
		t.Fatalf("%+v", turn)
	}
	want := api.OverBudget{Conversation: own.ID, Title: "tool 1", User: "ada", Preset: "shop", Prompt: turn.Prompt, Ended: turn.Ended, CostUSD: turn.CostUSD}
	check := func(who string, c *client, query string, listed bool) {
		t.Helper()
		usage := get[api.Usage](c, "/v1/usage"+query)
		if got := usage.OverBudget; listed != (len(got) == 1) || got == nil || listed && got[0] != want {
			t.Errorf("%s: %+v, want %+v: %v", who, got, want, listed)
		}
	}
	day := turn.Ended.Format(time.DateOnly)
	check("the owner", ada, "?from="+day, true)
	check("the owner, of days before", ada, "?to="+day, false)
	check("an admin", r.as("root", api.RoleAdmin), "", true)
	check("another", r.as("eve", api.RoleOperator), "", false)
	_ = r.server.Close()
	r.http.Close()
	ada.serveAgain()
	check("after a restart", ada, "", true)
	if got := ada.do("DELETE", "/v1/conversations/"+own.ID, nil); got.status != http.StatusNoContent {
		t.Fatalf("%d: %s", got.status, got.body)
	}
	check("deleted", ada, "", false)
	for record, err := range r.db.Scan(t.Context(), store.Folder{Project: "p", Kind: "serve-spent"}, "") {
		if err != nil || strings.Contains(string(record.Value), turn.Prompt) {
			t.Errorf("of the deleted conversation is left %s, %v", record.Value, err)
		}
	}
}

// A conversation that has spent its budget shows why its prompts wait, and is listed
// with the budget, to those who may see it.
func TestHeldConversation(t *testing.T) {
	t.Parallel()
	r := newRigFleet(t, store.Memory(), t.TempDir(), func(o *fleet.Options) { o.BudgetUSD = 0.0001 }, nil)
	hold := make(chan struct{})
	r.agent.mu.Lock()
	r.agent.hold = hold
	r.agent.mu.Unlock()
	ada := r.as("ada", api.RoleOperator)
	own := ada.begin("one")
	want[api.Prompt](ada, ada.do("POST", "/v1/conversations/"+own.ID+"/prompts", `{"content":"two"}`), http.StatusAccepted)
	if held := get[api.Usage](ada, "/v1/usage").Held; held == nil || len(held) > 0 {
		t.Errorf("before anything was spent: %+v", held)
	}
	close(hold)
	turn := ada.turnsOf(own.ID, 1)[0]
	var usage api.Usage
	for deadline := time.Now().Add(30 * time.Second); len(usage.Held) == 0 && time.Now().Before(deadline); { // its process ends
		usage = get[api.Usage](ada, "/v1/usage")
	}
	held := api.Held{Conversation: own.ID, Title: "one", User: "ada", Preset: "shop", Queued: 1, CostUSD: turn.CostUSD, BudgetUSD: 0.0001}
	if len(usage.Held) != 1 || usage.Held[0] != held {
		t.Fatalf("%+v, want %+v", usage.Held, held)
	}
	now := get[api.Conversation](ada, "/v1/conversations/"+own.ID)
	if now.State != api.StateQueued || !strings.Contains(now.Reason, "$0.00 of the $0.00") || now.Problem != "" {
		t.Errorf("%+v", now)
	}
	if others := get[api.Usage](r.as("eve", api.RoleOperator), "/v1/usage").Held; len(others) > 0 {
		t.Errorf("another sees %+v", others)
	}
}
