package serve_test

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// newRewindRig starts a server whose preset keeps checkpoints, and whose
// conversations sleep as soon as they have nothing to do.
func newRewindRig(t *testing.T) (r *rig, root string) {
	t.Helper()
	root = t.TempDir()
	return newRewindRigOn(t, store.Memory(), root, func(*fleet.Options) {}), root
}

// newRewindRigOn is newRewindRig on a store, with a fleet of its own.
func newRewindRigOn(t *testing.T, db store.Fleet, root string, change func(*fleet.Options)) *rig {
	t.Helper()
	r := newRigFleet(t, db, root, func(o *fleet.Options) {
		o.IdleAfter = time.Millisecond
		change(o)
	}, func(o *serve.Options) {
		own := o.Presets[0].Options
		own.FileCheckpointing, own.Env, own.AllowedTools = true, []string{"HOME=" + t.TempDir()}, []string{"Edit"}
	})
	r.agent.edit = func(context.Context, json.RawMessage) (host.ToolOutput, error) { return host.TextOutput("done"), nil }
	return r
}

// Files are restored to what they were before a prompt, once for each request,
// although the conversation sleeps. Who did it is in the log.
func TestRewind(t *testing.T) {
	t.Parallel()
	r, root := newRewindRig(t)
	ada := r.as("ada", api.RoleOperator)
	if p := get[api.ServerInfo](ada, "/v1/server").Presets[0]; !p.Rewind {
		t.Errorf("the preset is %+v", p)
	}
	at := "/v1/conversations/" + ada.begin("write "+filepath.Join(root, "a.go")).ID
	ada.follow(at+"/events?after=0", untilTurns(1))
	second := want[api.Prompt](ada, ada.do("POST", at+"/prompts", api.NewPrompt{Content: json.RawMessage(`"write /elsewhere/b.go"`)}), http.StatusAccepted)
	log := ada.follow(at+"/events?after=0", untilTurns(2))
	var first api.Event
	for _, e := range log {
		if e.event == "prompt" && first.Prompt == nil {
			if err := json.Unmarshal([]byte(e.data), &first); err != nil {
				t.Fatal(err)
			}
		}
	}

	rewind := func(message string, dry bool, headers ...string) reply {
		return ada.do("POST", at+"/rewind", api.RewindRequest{Message: message, DryRun: dry}, headers...)
	}
	for _, c := range []struct {
		message string
		files   []string
	}{{second.ID, []string{"/elsewhere/b.go"}}, {first.Prompt.ID, []string{"a.go", "/elsewhere/b.go"}}} {
		if got := want[api.Rewound](ada, rewind(c.message, true), http.StatusOK); !slices.Equal(got.Files, c.files) || !got.DryRun {
			t.Errorf("to before %s: %+v, want %q", c.message, got, c.files)
		}
	}
	done := rewind(first.Prompt.ID, false, "Idempotency-Key", "k")
	again := rewind(first.Prompt.ID, false, "Idempotency-Key", "k")
	if got := want[api.Rewound](ada, done, http.StatusOK); len(got.Files) != 2 || got.DryRun {
		t.Errorf("%+v", got)
	}
	if string(done.body) != string(again.body) || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("%s, again %s", done.body, again.body)
	}
	asked := false
	said := ada.follow(at+"/events?after=0", func(e sse) bool {
		done := asked && e.event == "notice"
		asked = asked || e.event == "notice" && strings.Contains(e.data, "asked for files")
		return done
	})
	if last := said[len(said)-1].data; !strings.Contains(last, "restored 2 files") || !strings.Contains(last, `"ada"`) {
		t.Errorf("the notice is %s", last)
	}
	if c := get[api.Conversation](ada, at); c.State != api.StateIdle || c.Turns != 2 {
		t.Errorf("afterwards %+v", c)
	}
}

// What a rewind took back is not among the changes, and not in the patch.
func TestChangesAfterRewind(t *testing.T) {
	t.Parallel()
	r, root := newRewindRig(t)
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	r.agent.edit = func(_ context.Context, input json.RawMessage) (host.ToolOutput, error) {
		var in struct {
			Path string `json:"file_path"`
		}
		if err := json.Unmarshal(input, &in); err != nil {
			return host.ToolOutput{}, err
		}
		out := host.TextOutput("done")
		out.Result, err = json.Marshal(report{FilePath: in.Path, Patch: []any{hunk(1, 1, "-one", "+two")}})
		return out, err
	}
	ada := r.as("ada", api.RoleOperator)
	at := "/v1/conversations/" + ada.begin("write "+filepath.Join(root, "a.go")).ID
	ada.follow(at+"/events?after=0", untilTurns(1))
	turns, prompts := 1, []string{}
	write := func(name string) {
		t.Helper()
		p := want[api.Prompt](ada, ada.do("POST", at+"/prompts", `{"content":"write `+filepath.Join(root, name)+`"}`), http.StatusAccepted)
		prompts, turns = append(prompts, p.ID), turns+1
		ada.follow(at+"/events?after=0", untilTurns(turns))
	}
	changed := func(names ...string) {
		t.Helper()
		var got []string
		all := get[api.Changes](ada, at+"/changes")
		for _, f := range all.Files {
			got = append(got, f.Path)
		}
		patch := string(ada.do("GET", at+"/changes.patch", nil).body)
		if !slices.Equal(got, names) || strings.Count(patch, "diff --git") != len(names) || all.Added != len(names) {
			t.Errorf("changed are %q, want %q; the patch is\n%s", got, names, patch)
		}
	}
	rewind := func(prompt string, dry bool) {
		t.Helper()
		want[api.Rewound](ada, ada.do("POST", at+"/rewind", api.RewindRequest{Message: prompt, DryRun: dry}), http.StatusOK)
	}
	write("b.go")
	write("c.go")
	changed("a.go", "b.go", "c.go")
	rewind(prompts[0], true)
	changed("a.go", "b.go", "c.go")
	rewind(prompts[1], false)
	changed("a.go", "b.go")
	rewind(prompts[0], false)
	changed("a.go")
	write("d.go")
	changed("a.go", "d.go")
}

// A rewind that is not possible is refused with the reason, and changes nothing.
func TestRewindRefused(t *testing.T) {
	t.Parallel()
	r, root := newRewindRig(t)
	ada := r.as("ada", api.RoleOperator)
	empty := "/v1/conversations/" + ada.begin("").ID
	at := "/v1/conversations/" + ada.begin("write "+filepath.Join(root, "a.go")).ID
	ada.follow(at+"/events?after=0", untilTurns(1))
	hold := make(chan struct{})
	r.agent.mu.Lock()
	r.agent.hold = hold
	r.agent.mu.Unlock()
	working := "/v1/conversations/" + ada.begin("hello").ID
	defer close(hold)
	plain := newRig(t, store.Memory(), nil)
	without := plain.as("ada", api.RoleOperator)
	for name, c := range map[string]struct {
		as      *client
		at      string
		message string
		status  int
		problem string
	}{
		"not an id":            {ada, at, "yesterday", 400, "bad-request"},
		"a foreign prompt":     {ada, at, uuid.New(), 409, "no-checkpoint"},
		"nothing said":         {ada, empty, uuid.New(), 409, "no-checkpoint"},
		"while a turn runs":    {ada, working, uuid.New(), 409, "busy"},
		"without a preset":     {without, "/v1/conversations/" + without.begin("hello").ID, uuid.New(), 501, "unsupported"},
		"somebody else's":      {r.as("bob", api.RoleOperator), at, uuid.New(), 404, "not-found"},
		"too low a role":       {r.as("ada", api.RoleApprover), at, uuid.New(), 403, "forbidden"},
		"no such conversation": {ada, "/v1/conversations/ada~0", uuid.New(), 404, "not-found"},
	} {
		got := want[api.Problem](c.as, c.as.do("POST", c.at+"/rewind", api.RewindRequest{Message: c.message}), c.status)
		if got.Type != "/problems/"+c.problem || got.Detail == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
