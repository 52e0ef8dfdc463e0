package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
	"github.com/claude-agent-go/claude/store"
)

// TestRealGuardSeesTheRewrittenInput has a hook that makes another command of a
// harmless one. The guard judges what would run, wherever it stands.
func TestRealGuardSeesTheRewrittenInput(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "hooks that block when they fail")
	r := realCLI(t, bash("echo hello"), bash("echo hello"), claudetest.Say("done"))
	victim := filepath.Join(r.opts.Cwd, "victim")
	if err := os.WriteFile(victim, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	rewrites := 0
	rewrite := hook.PreToolUse("Bash", func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
		command := "rm victim"
		if rewrites++; rewrites == 2 {
			command = "mv victim moved"
		}
		out := hook.RewriteInput(map[string]string{"command": command, "description": "harmless"})
		out.Decision = hook.PermissionAllow
		return out, nil
	})
	// Either kind of hook sees it: a guard, and a hook that stands before the other.
	check := hook.PreToolUse("Bash", func(_ context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
		if strings.Contains(string(in.ToolInput), "mv victim") {
			return hook.DenyTool("nothing moves"), nil
		}
		return nil, nil
	})
	r.opts.Hooks = []hook.Hook{hook.Guard("Bash", policy.MustRules("Bash(rm:*)").Deny("nothing is removed")), check, rewrite}
	if _, err := r.connect(t).Ask(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(victim); err != nil {
		t.Errorf("the file is gone: %v", err)
	}
	calls := r.calls()
	for i, want := range []string{"nothing is removed", "nothing moves"} {
		if results := calls[i+1].ToolResults; len(results) == 0 || !strings.Contains(results[len(results)-1].Text, want) {
			t.Errorf("call %d: the model read %+v, want %q", i, results, want)
		}
	}
}

// TestRealGuardBeforeGate denies a call by a guard, and has another for which a
// person is asked in the same turn.
func TestRealGuardBeforeGate(t *testing.T) {
	t.Parallel()
	a := newApprovals(t, bash("true"))
	log := filepath.Join(t.TempDir(), "log")
	a.script(t, bash("touch secret"), bash("echo ran >> "+log), claudetest.Say("done"))
	a.opts.AllowedTools = []string{"Bash"}
	a.opts.Hooks = []hook.Hook{hook.Guard("Bash", func(_ context.Context, r *permission.Request) (permission.Decision, error) {
		if strings.Contains(string(r.Input), "secret") {
			return permission.Deny("keep off"), nil
		}
		return permission.Pass(), nil
	})}
	s, g := a.behind(t, approval.Options{Patience: time.Minute, Needs: func(_ context.Context, in *hook.PreToolUseInput) (string, bool) {
		return "", strings.Contains(string(in.ToolInput), "secret")
	}})
	defer s.Close()
	res, err := s.Ask(t.Context(), "work")
	if err != nil || res.DeferredToolUse != nil {
		t.Fatalf("%+v, %v", res, err)
	}
	if _, deferred := g.Deferred(); deferred {
		t.Error("a call was deferred")
	}
	for q, err := range a.inbox.List(t.Context(), approval.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(q.Input), "secret") {
			t.Errorf("a person was asked about %s: %s %s", q.Input, q.State, q.Outcome)
		}
	}
	if content(log) != "ran\n" {
		t.Errorf("the second call did not run: %+v", a.lastResult(t))
	}
}

// TestRealFleetGuardBeforeGate has a guard and the gate of a fleet on one call: the guard
// denies a Write outside of the folder, so nobody is asked, and the turn continues.
func TestRealFleetGuardBeforeGate(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "sessions in a store")
	outside := filepath.Join(t.TempDir(), "outside.txt")
	r := realCLI(t)
	inside := filepath.Join(r.dir, "inside.txt")
	if err := os.WriteFile(inside, []byte("the inside"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.model.Add(write(outside, "x"), claudetest.UseTool("Read", map[string]string{"file_path": inside}), claudetest.Say("done"))
	r.opts.AllowedTools = []string{"Read"}
	r.opts.Hooks = []hook.Hook{hook.Guard("", policy.Confine(r.dir))}
	f := r.fleet(t, store.Files(t.TempDir()), fleet.Options{Gate: &approval.Options{Patience: 100 * time.Millisecond, Needs: approval.NeedsRules("Write", "Edit")}})
	defer closeFleet(t, f)
	text, err := lastText(f.Run(t.Context(), "ada", "work"))
	if err != nil || text != "done" {
		t.Errorf("%q, %v", text, err)
	}
	for q, err := range f.Approvals().List(t.Context(), approval.Filter{}) {
		t.Errorf("a person was asked about %s: %s %s, %v", q.Input, q.State, q.Outcome, err)
	}
	calls := r.calls()
	if len(calls) != 3 || len(calls[2].ToolResults) == 0 {
		t.Fatalf("the model was asked %d times", len(calls))
	}
	if res := calls[2].ToolResults[0]; res.IsError || !strings.Contains(res.Text, "the inside") || content(outside) != "" {
		t.Errorf("the model read %+v; outside there is %q", res, content(outside))
	}
}

// TestRealSettingsHookDenies has a hook in the settings, which the CLI always asks
// beside the gate, deny a call: when it is undecided, and when a person allows it.
// The question ends within the turn, and does not count as one whose call ran.
func TestRealSettingsHookDenies(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]approval.Outcome{"nobody decides": approval.OutcomeWithdrawn, "allowed": approval.OutcomeDenied} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newApprovals(t, bash("true"))
			file := filepath.Join(t.TempDir(), "file")
			a.script(t, bash("echo secret >> log"), write(file, "x"), claudetest.Say("done"))
			a.opts.Settings = map[string]any{"hooks": map[string]any{"PreToolUse": []any{
				map[string]any{"matcher": "Bash", "hooks": []any{map[string]any{"type": "command", "command": "echo no way >&2; exit 2"}}},
			}}}
			a.opts.PermissionMode, a.opts.AddDirs = permission.ModeAcceptEdits, []string{filepath.Dir(file)}
			var during approval.Question // when the next call comes
			o := approval.Options{Patience: time.Minute, Needs: func(ctx context.Context, in *hook.PreToolUseInput) (string, bool) {
				for q := range a.inbox.List(ctx, approval.Filter{}) {
					during = q
				}
				return "", in.ToolName == "Bash"
			}}
			if name == "nobody decides" {
				o.Patience = 100 * time.Millisecond
			}
			s, g := a.behind(t, o)
			defer s.Close()
			if name == "allowed" {
				go func() {
					for q, err := range a.inbox.Watch(t.Context(), approval.Filter{States: []approval.State{approval.StateOpen}}) {
						if err != nil {
							return
						}
						_, _ = a.inbox.Decide(t.Context(), q.ID, approval.Answer{Decision: permission.Allow(), By: "ada", Digest: q.Digest})
						return
					}
				}()
			}
			res, err := s.Ask(t.Context(), "work")
			if err != nil || res.DeferredToolUse != nil {
				t.Fatalf("%+v, %v", res, err)
			}
			if _, deferred := g.Deferred(); deferred || a.log(t) != "" {
				t.Errorf("deferred: %v, log %q", deferred, a.log(t))
			}
			if during.Outcome != want {
				t.Errorf("before the next call the question is %s %s, want %s", during.State, during.Outcome, want)
			}
			if content(file) != "x" {
				t.Errorf("the next call did not run: %+v", a.lastResult(t))
			}
		})
	}
}

// TestRealMatchersOfSeveralHooks has several hooks before a tool, whose matchers the
// session has the CLI compare, and compares who is asked with who is asked after it.
func TestRealMatchersOfSeveralHooks(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "lists of names with commas")
	matchers := []string{
		"", "*", "Write", "Write|Edit", "Edit, Write", "Edit,Read", ".ri", "^(Read|Write)$", "Wri", "Writes", "Wri.*", "W", "^(?!Write)", "^(?!Read).*",
		"Task", "Agent", "^Agent", "^Task$", "^(?!Task)", "^(?!Agent)", "KillShell", "^Task", "Ag(?=ent)", "(?<name>Write)", "Bash", "^Ba.h$", "Monitor", "mcp__clock__now", "^mcp",
	}
	r := realCLI(t, write(filepath.Join(t.TempDir(), "f"), "x"), claudetest.UseTool("Agent", map[string]string{
		"description": "a", "prompt": "say hi", "subagent_type": "general-purpose",
	}), claudetest.Say("hi"), claudetest.UseTool("Monitor", map[string]any{"command": "echo hi", "description": "d", "timeout_ms": 1000, "persistent": false}),
		bash("date"), claudetest.Say("done"))
	r.opts.PermissionMode, r.opts.ToolAliases = permission.ModeBypassPermissions, map[string]string{"Bash": "mcp__clock__now"}
	r.opts.MCPServers = claude.MCPServers{"clock": harness.Clock()}
	got := map[string]map[string]bool{"before": {}, "after": {}}
	called := make(chan [2]string, 20*len(matchers))
	note := func(when, matcher string) func(context.Context, json.RawMessage, string) (json.RawMessage, error) {
		return func(_ context.Context, raw json.RawMessage, _ string) (json.RawMessage, error) {
			var in struct {
				Tool string `json:"tool_name"`
			}
			_ = json.Unmarshal(raw, &in)
			called <- [2]string{when, matcher + " for " + in.Tool}
			return nil, nil
		}
	}
	for _, m := range matchers {
		r.opts.Hooks = append(r.opts.Hooks, hook.Raw(hook.EventPreToolUse, m, note("before", m)), hook.Raw(hook.EventPostToolUse, m, note("after", m)))
	}
	if _, err := r.connect(t).Ask(t.Context(), "write"); err != nil {
		t.Fatal(err)
	}
	close(called)
	for c := range called {
		got[c[0]][c[1]] = true
	}
	for _, name := range []string{" for Write", " for Agent", " for Monitor", "Bash for Bash", "Bash for mcp__clock__now", "Ag(?=ent) for Agent"} {
		if !got["before"][name] {
			t.Errorf("nothing was asked as %q", name)
		}
	}
	for _, m := range []string{"Bash", "^Ba.h$"} { // only before it, Monitor is shown as Bash
		delete(got["before"], m+" for Bash")
	}
	if !maps.Equal(got["before"], got["after"]) {
		for _, when := range []string{"before", "after"} {
			t.Errorf("%s: %q", when, slices.Sorted(maps.Keys(got[when])))
		}
	}
}

// TestRealMatchersComeBeforeTheChain shows the order that a chain of hooks with different
// matchers rests on: all requests about a call come in the order of the handshake, even
// when calls come at once.
func TestRealMatchersComeBeforeTheChain(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "1.0.128", "hooks of several matchers")
	r := realCLI(t)
	var calls []claudetest.ScriptedCall
	for i := range 8 {
		path := filepath.Join(r.opts.Cwd, fmt.Sprintf("f%d", i))
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		calls = append(calls, claudetest.ScriptedCall{Name: "Read", Input: map[string]string{"file_path": path}})
	}
	r.model.Add(claudetest.UseTools(calls...), claudetest.Say("done"))
	fits := []string{"Read", "Rea.", "R.*", "Read|Write"}
	asked := make(map[string][]string) // by tool use
	for _, m := range append(fits, "Bash", "") {
		r.opts.Hooks = append(r.opts.Hooks, hook.PreToolUse(m, func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) { return nil, nil }).FailOpen())
	}
	r.opts.Trace = &claude.Trace{FrameRead: func(line []byte) {
		var f struct {
			Request struct {
				Subtype    string
				CallbackID string `json:"callback_id"`
				ToolUseID  string `json:"tool_use_id"`
			}
		}
		if json.Unmarshal(line, &f) == nil && f.Request.Subtype == "hook_callback" {
			asked[f.Request.ToolUseID] = append(asked[f.Request.ToolUseID], f.Request.CallbackID)
		}
	}}
	s, err := claude.Connect(t.Context(), r.opts)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Ask(t.Context(), "read")
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if len(asked) != len(calls) {
		t.Errorf("%d calls were asked about", len(asked))
	}
	for id, callbacks := range asked {
		if want := []string{"hook_0", "hook_1", "hook_2", "hook_3", "hook_chain"}; !slices.Equal(callbacks, want) {
			t.Errorf("%s: asked %q, want %q", id, callbacks, want)
		}
	}
}

// TestRealGuardSeesWhatIsPutIn has the permission callback, and a PermissionRequest hook,
// put another command in place of the one that the guard has seen.
func TestRealGuardSeesWhatIsPutIn(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "hooks that block when they fail")
	for _, way := range []string{"callback", "hook"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			r := realCLI(t, bash("touch one"), bash("touch two"), claudetest.Say("done"))
			victim := filepath.Join(r.opts.Cwd, "victim")
			if err := os.WriteFile(victim, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			puts := func(input json.RawMessage) permission.Decision {
				command := "rm victim"
				if strings.Contains(string(input), "two") {
					command = "touch three"
				}
				return permission.AllowWith(map[string]string{"command": command, "description": "harmless"})
			}
			r.opts.Hooks = []hook.Hook{hook.Guard("Bash", policy.MustRules("Bash(rm:*)").Deny("nothing is removed"))}
			if way == "callback" {
				r.opts.CanUseTool = func(_ context.Context, req *permission.Request) (permission.Decision, error) {
					return puts(req.Input), nil
				}
			} else {
				r.opts.Hooks = append(r.opts.Hooks, hook.PermissionRequest("", func(_ context.Context, in *hook.PermissionRequestInput) (*hook.PermissionRequestOutput, error) {
					return hook.Decide(puts(in.ToolInput)), nil
				}))
				r.opts.CanUseTool = func(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
					<-ctx.Done() // the hook decides
					return permission.Decision{}, context.Cause(ctx)
				}
			}
			if _, err := r.connect(t).Ask(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(victim); err != nil {
				t.Errorf("the file is gone: %v", err)
			}
			if results := r.calls()[1].ToolResults; len(results) == 0 || !strings.Contains(results[len(results)-1].Text, "nothing is removed") {
				t.Errorf("the model read %+v", results)
			}
			for name, want := range map[string]bool{"one": false, "two": false, "three": true} {
				if _, err := os.Stat(filepath.Join(r.opts.Cwd, name)); (err == nil) != want {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// TestRealEmptyInputIsTheOneItHad has a PermissionRequest hook allow a call with an empty
// input. To the CLI that is the input which the guard has seen: nothing new runs, so
// the guard is not asked again.
func TestRealEmptyInputIsTheOneItHad(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "a decision of a PermissionRequest hook")
	r := realCLI(t, bash("touch one"), claudetest.Say("done"))
	asked, sent := 0, false
	r.opts.Trace = &claude.Trace{FrameWritten: func(line []byte) { sent = sent || strings.Contains(string(line), `"updatedInput":{}`) }}
	r.opts.Hooks = []hook.Hook{
		hook.Guard("Bash", func(context.Context, *permission.Request) (permission.Decision, error) {
			asked++
			return permission.Pass(), nil
		}),
		hook.PermissionRequest("", func(context.Context, *hook.PermissionRequestInput) (*hook.PermissionRequestOutput, error) {
			return hook.Decide(permission.AllowWith(map[string]string{})), nil
		}),
	}
	r.opts.CanUseTool = func(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
		<-ctx.Done() // the hook decides
		return permission.Decision{}, context.Cause(ctx)
	}
	if _, err := r.connect(t).Ask(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(r.opts.Cwd, "one")); err != nil || asked != 1 || !sent {
		t.Errorf("the guard was asked %d times, an empty input was sent: %v, and: %v; the model read %+v", asked, sent, err, r.calls()[1].ToolResults)
	}
}

// TestRealGuardOfOtherNames has guards of Bash beside a hook of everything. The CLI knows
// tools by more names than one, so a guard must meet what it meets alone.
func TestRealGuardOfOtherNames(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "Monitor")
	for name, tt := range map[string]struct {
		call    claudetest.Reply
		aliases map[string]string
	}{
		"Monitor": {claudetest.UseTool("Monitor", map[string]any{"command": "echo hi", "description": "d", "timeout_ms": 1000, "persistent": false}), nil},
		"alias":   {bash("date"), map[string]string{"Bash": "mcp__clock__now"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := realCLI(t, tt.call, claudetest.Say("done"))
			r.opts.CanUseTool, r.opts.ToolAliases = allowAll, tt.aliases
			r.opts.MCPServers = claude.MCPServers{"clock": harness.Clock()}
			asked := 0
			r.opts.Hooks = []hook.Hook{
				hook.Guard("Bash", func(context.Context, *permission.Request) (permission.Decision, error) {
					asked++
					return permission.Deny("guarded"), nil
				}),
				hook.PreToolUse("", func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) { return nil, nil }),
			}
			var results []string
			for msg, err := range r.connect(t).Run(t.Context(), "go") {
				if err != nil {
					t.Fatal(err)
				}
				if m, ok := msg.(*message.User); ok {
					for _, res := range m.ToolResults() {
						results = append(results, res.Content.Text())
					}
				}
			}
			if asked != 1 || len(results) != 1 || !strings.Contains(results[0], "guarded") {
				t.Errorf("the guard was asked %d times, the results are %q", asked, results)
			}
		})
	}
}
