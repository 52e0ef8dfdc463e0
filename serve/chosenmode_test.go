package serve_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// A model that the CLI refuses as mistyped leaves the conversation as it was, with all
// that was to change with it: its next session would begin with that model.
func TestRefusedModelIsNotKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), func(o *serve.Options) { o.Presets[0].Models = []string{"sonnet", "defualt"} })
	ada := r.as("ada", api.RoleOperator)
	made := ada.begin("hello")
	ada.turnsOf(made.ID, 1)
	at := "/v1/conversations/" + made.ID
	want[api.Conversation](ada, ada.do("PATCH", at, `{"model":"sonnet","labels":["a"]}`), http.StatusOK)
	before := ada.do("GET", at, nil)
	for _, change := range []string{
		`{"model":"defualt"}`,
		`{"model":"defualt","title":"Two","labels":["b"],"shared":true,"mode":"plan"}`,
		`{"model":"defualt","archived":true}`,
	} {
		p := want[api.Problem](ada, ada.do("PATCH", at, change), http.StatusBadRequest)
		if !strings.Contains(p.Detail, "did you mean default") {
			t.Errorf("%s: %+v", change, p)
		}
		now := ada.do("GET", at, nil)
		if c := want[api.Conversation](ada, now, http.StatusOK); now.header.Get("ETag") != before.header.Get("ETag") || c.Model != "sonnet" {
			t.Errorf("%s leaves %+v", change, c)
		}
	}
}

// The model and the mode that a user chose hold from the first prompt on, without
// a moment in which the conversation has those of its preset. A copy has those of
// its original, unless others are chosen for it.
func TestChoiceHoldsFromTheFirstPrompt(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	first := make(map[string]claude.Options) // by the key of the conversation
	r := newRigFleet(t, store.Memory(), t.TempDir(), func(o *fleet.Options) {
		usual := o.Session
		o.Gate = &approval.Options{}
		o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
			own, err := usual(ctx, key)
			mu.Lock()
			defer mu.Unlock()
			if _, known := first[key]; !known && err == nil {
				first[key] = *own
			}
			return own, err
		}
	}, func(o *serve.Options) {
		o.Presets[0].Mode, o.Presets[0].Modes = permission.ModeAcceptEdits, []permission.Mode{permission.ModePlan, permission.ModeDefault}
	})
	ada := r.as("ada", api.RoleOperator)
	begin := func(c api.NewConversation, model, mode string) string {
		t.Helper()
		c.Preset, c.Content = "shop", api.Text("hello")
		made := want[api.Conversation](ada, ada.do("POST", "/v1/conversations", c), http.StatusCreated)
		ada.turnsOf(made.ID, 1)
		if now := get[api.Conversation](ada, "/v1/conversations/"+made.ID); now.Model != model || now.Mode != mode {
			t.Errorf("%+v: the conversation is shown with %q and %q", c, now.Model, now.Mode)
		}
		key := strings.Replace(made.ID, "~", "/", 1)
		info, err := r.fleet.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		own := first[key]
		if info.Model != "" { // the fleet's record comes first
			own.Model = info.Model
		}
		if info.Mode != "" {
			own.PermissionMode = info.Mode
		}
		if c.Fork == nil && (first[key].Model != model || string(first[key].PermissionMode) != mode) || own.Model != model || string(own.PermissionMode) != mode {
			t.Errorf("%+v: the first session has %q and %q, then %q and %q", c, first[key].Model, first[key].PermissionMode, own.Model, own.PermissionMode)
		}
		return made.ID
	}
	plan := begin(api.NewConversation{Model: "sonnet", Mode: "plan"}, "sonnet", "plan")
	begin(api.NewConversation{Fork: &api.ForkFrom{Conversation: plan}}, "sonnet", "plan")
	want[api.Conversation](ada, ada.do("PATCH", "/v1/conversations/"+plan, `{"mode":"default"}`), http.StatusOK) // now in the record
	begin(api.NewConversation{Mode: "plan", Fork: &api.ForkFrom{Conversation: plan}}, "sonnet", "plan")
}

// The log says in words which permission mode was chosen, and when a conversation has
// returned to that of its preset.
func TestNoticeOfChosenMode(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), func(o *serve.Options) { o.Presets[0].Modes = []permission.Mode{permission.ModePlan} })
	ada := r.as("ada", api.RoleOperator)
	made := ada.begin("hello")
	ada.turnsOf(made.ID, 1)
	for _, mode := range []string{"plan", ""} {
		want[api.Conversation](ada, ada.do("PATCH", "/v1/conversations/"+made.ID, api.Change{Mode: &mode}), http.StatusOK)
	}
	var notices []string
	ada.follow("/v1/conversations/"+made.ID+"/events?after=0", func(e sse) bool {
		if e.event == "notice" {
			var event api.Event
			if err := json.Unmarshal([]byte(e.data), &event); err != nil {
				t.Fatal(err)
			}
			notices = append(notices, event.Notice.Text)
		}
		return e.event == "synced"
	})
	if want := []string{`chose the permission mode "plan"`, "returned to the preset's permission mode"}; !slices.Equal(notices, want) {
		t.Errorf("the log says %q, want %q", notices, want)
	}
}
