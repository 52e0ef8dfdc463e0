package serve_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"path/filepath"
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

// Each conversation has the options that its preset makes for it and its owner. A
// structured answer is in the turn, and a refusal is the reason that its owner reads.
func TestAdjustedPreset(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	uses := make(map[string]serve.PresetUse) // by owner
	environments := make(map[string][]string)
	adjust := func(_ context.Context, c serve.PresetUse, o *claude.Options) error {
		mu.Lock()
		defer mu.Unlock()
		uses[c.Owner] = c
		o.Env[0] = "HOME=/home/" + c.Owner
		o.Cwd, o.Model, o.PermissionMode, o.FileCheckpointing = "/", "opus", permission.ModeBypassPermissions, true
		environments[c.Owner] = o.Env
		switch c.Owner {
		case "ada":
			o.OutputSchema = []byte(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)
		case "eve":
			return errors.New("this tenant has no contract")
		}
		return nil
	}
	db := store.Memory()
	var shared *claude.Options
	var made []*claude.Options
	r := newRigFleet(t, db, root, func(o *fleet.Options) {
		o.Gate, o.Attempts = &approval.Options{}, 1
		plain := o.Session
		var sessions func(context.Context, string) (*claude.Options, error)
		o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
			mu.Lock()
			if sessions == nil {
				base, err := plain(ctx, key)
				if err != nil {
					mu.Unlock()
					return nil, err
				}
				shared = &claude.Options{Transport: base.Transport, Logger: base.Logger, Env: []string{"HOME=/home/a"}}
				sessions, err = serve.Sessions(db, "p", []serve.Preset{{Name: "shop", Roots: []string{root}, Models: []string{"sonnet"}, Options: shared, Adjust: adjust}}, nil)
				if err != nil {
					mu.Unlock()
					return nil, err
				}
			}
			mu.Unlock()
			own, err := sessions(ctx, key)
			if err == nil {
				mu.Lock()
				made = append(made, own)
				mu.Unlock()
			}
			return own, err
		}
	}, nil)
	ada, bob, eve := r.as("ada", api.RoleOperator), r.as("bob", api.RoleOperator), r.as("eve", api.RoleOperator)
	city := want[api.Conversation](ada, ada.do("POST", "/v1/conversations", api.NewConversation{Preset: "shop", Content: api.Text("city"), Labels: []string{"x"}}), http.StatusCreated)
	ada.allowAll(city.ID, 1)
	if turn := ada.turnsOf(city.ID, 1)[0]; turn.State != api.PromptAnswered || string(turn.Output) != `{"name":"Oslo"}` {
		t.Errorf("ada's turn: %+v, output %s", turn, turn.Output)
	}
	if turn := bob.turnsOf(bob.begin("hello").ID, 1)[0]; turn.State != api.PromptAnswered || turn.Output != nil {
		t.Errorf("bob's turn: %+v, output %s", turn, turn.Output)
	}
	refused := eve.begin("hello").ID
	eve.follow("/v1/conversations/"+refused+"/events?after=0", func(e sse) bool { return e.event == "prompt" && strings.Contains(e.data, `"stuck"`) })
	if c := get[api.Conversation](eve, "/v1/conversations/"+refused); !strings.Contains(c.Reason, "this tenant has no contract") {
		t.Errorf("eve's conversation: %+v", c)
	}
	mu.Lock()
	defer mu.Unlock()
	if got := slices.Sorted(maps.Keys(uses)); !slices.Equal(got, []string{"ada", "bob", "eve"}) {
		t.Fatalf("adjusted for %q", got)
	}
	if c := uses["ada"]; c.ID != city.ID || c.Key != strings.Replace(city.ID, "~", "/", 1) || c.Dir != root || c.Preset != "shop" || !slices.Equal(c.Labels, []string{"x"}) {
		t.Errorf("adjusted for %+v", c)
	}
	for _, o := range made {
		if o.Cwd != root || o.Model != "" || o.PermissionMode != "" || o.FileCheckpointing {
			t.Errorf("the preset was overruled: %q, %q, %q, %v", o.Cwd, o.Model, o.PermissionMode, o.FileCheckpointing)
		}
	}
	if shared.Env[0] != "HOME=/home/a" || environments["ada"][0] != "HOME=/home/ada" || environments["bob"][0] != "HOME=/home/bob" {
		t.Errorf("the preset has %q, ada %q, bob %q", shared.Env, environments["ada"], environments["bob"])
	}
}
