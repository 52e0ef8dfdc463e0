package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
)

// runCalls puts tool calls before the CLI in a session with rules, many in each turn,
// and reports for each whether the CLI asked about it, and the result that the
// model saw. The shell does nothing: what the CLI decides does not depend on what
// a command does, and the failure of one would end those beside it.
func (r *real) runCalls(t *testing.T, calls []*permission.Request, each func(req *permission.Request, asked bool, result string)) {
	t.Helper()
	shell := filepath.Join(t.TempDir(), "bash")
	if err := os.WriteFile(shell, []byte("#!/bin/sh\nexit 0\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.opts.Env = append(r.opts.Env, "SHELL="+shell)
	var mu sync.Mutex
	asked := make(map[string]bool)
	r.opts.CanUseTool = func(_ context.Context, req *permission.Request) (permission.Decision, error) {
		mu.Lock()
		defer mu.Unlock()
		asked[req.ToolUseID] = true
		return permission.Deny("asked"), nil
	}
	s := r.connect(t)
	for batch := range slices.Chunk(calls, 25) {
		var uses []claudetest.ScriptedCall
		for i, req := range batch {
			uses = append(uses, claudetest.ScriptedCall{ID: fmt.Sprintf("toolu_%p_%d", req, i), Name: req.ToolName, Input: req.Input})
		}
		r.model.Add(claudetest.UseTools(uses...), claudetest.Say("done"))
		if _, err := s.Ask(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		heard := r.calls()
		results := make(map[string]string)
		for _, result := range heard[len(heard)-1].ToolResults {
			results[result.ToolUseID] = result.Text
		}
		for i, req := range batch {
			result, ok := results[uses[i].ID]
			if !ok {
				t.Fatalf("the model saw no result of %s %s", req.ToolName, req.Input)
			}
			each(req, asked[uses[i].ID], result)
		}
	}
}

func shellCalls(commands ...string) []*permission.Request {
	var calls []*permission.Request
	for _, command := range commands {
		input, _ := json.Marshal(map[string]string{"command": command})
		calls = append(calls, &permission.Request{ToolName: "Bash", Input: input})
	}
	return calls
}

func writeCalls(paths ...string) []*permission.Request {
	var calls []*permission.Request
	for _, path := range paths {
		input, _ := json.Marshal(map[string]string{"file_path": path, "content": "x"})
		calls = append(calls, &permission.Request{ToolName: "Write", Input: input})
	}
	return calls
}

// What policy.Rules allow, the CLI allows by the same rules. It may allow
// more: there the policy is the stricter one, on purpose.
func TestRealRulesAllow(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "its rules")
	r := realCLI(t)
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(r.dir, "out")); err != nil {
		t.Fatal(err)
	}
	texts := []string{"Bash(touch:*)", "Bash(mkdir *)", "Bash(truncate* -s 0 *)", "Bash(ln -s a b)", "Bash(cp x y*)", "Bash(rm:*)", "Bash(cd:*)",
		"Bash(git:*)", "Bash(find:*)", "Bash(sed:*)", "Bash(awk:*)", "Bash(jq:*)", "Bash(tee:*)", "Bash(eval:*)", "Bash(source:*)", "Bash(exec:*)",
		"Bash(trap:*)", "Bash(touch /outside)", "Edit(/top/**)",
		"Edit(/sub/**)", "Edit(docs/*.md)", "Edit(~/h/**)", "Edit(*.log)", "Edit(deep/)", "Edit(/one/?.x)", "Edit(/out/**)"}
	r.opts.AllowedTools = texts
	rules := policy.MustRules(texts...).At(r.dir)
	stricter := 0
	calls := append(shellCalls("touch a", "touch", "touchy a", "touch a && mkdir b", "touch a && rmdir b", "touch a > f", "touch $(echo a)",
		"FOO=1 touch a", "mkdir", "mkdirs x", "mkdir c; touch d", "mkdir e | touch d", "mkdir e & touch d", "mkdir g\ntouch h",
		"truncate q -s 0 a", "truncate -s 0 a", "ln -s a b", "ln  -s a b", "ln -s a b c", "cp x y", "cp x yz", "  touch a", `touch "a;b"`, "touch a;",
		"(touch a)", "touch `echo a`", "touch $HOMEX", "touch a 2>/dev/null", "touch a 2>&1", "touch *", "{ touch a; }", "env touch a",
		"touch "+r.dir+"/in", "touch "+outside+"/x", "touch /outside", "touch out/x", "touch ../x", "touch sub/../x", "touch ~/.bashrc", "touch ~root/x", `touch "~/x"`,
		"touch .git/hooks/pre-commit", "touch './.GIT/x'", "touch .gitconfig", "touch a.", "touch a~1", "touch =ls", "touch 'a\n# b'", "\u00a0touch a", "touch a\tb",
		"touch a &>/dev/null b", "touch a > /dev/null b", "touch a 2>&1 b", "touch a > /dev/null 2>&1", "rm -rf ~", "rm -rf .", "rm -rf "+r.dir, "rm -rf /",
		"rm -rf nothing", "cd", "cd sub", "cd "+outside+" && touch x", "cd sub && touch x", "cd .git && git status", "git status", "find . -delete",
		"find . -exec touch x +", "find . -name f", "sed -i s/a/b/ "+outside+"/q", "sed -n 1p f", `awk 'BEGIN{system("ls")}'`, "awk 1 f", "jq -f f f", "jq . f",
		"tee out/x", "eval ls", "source f", "exec ls", "trap x EXIT"),
		writeCalls(r.dir+"/sub/a/b", r.dir+"/x/sub/a", r.dir+"/docs/a.md", r.dir+"/docs/b/a.md", r.dir+"/x/docs/a.md", r.home+"/h/a", r.dir+"/q.log",
			r.dir+"/a1/b/q.log", r.dir+"/deep/a", r.dir+"/y/deep/a", r.dir+"/one/b.x", r.dir+"/one/bb.x", r.dir+"/sub/../other/a", r.dir+"/out/a", outside+"/q.log",
			r.dir+"/top/.git/hooks/pre-commit", r.dir+"/top/.claude/settings.json", r.dir+"/top/.mcp.json", r.dir+"/top/.bashrc", r.dir+"/top/a.",
			r.dir+"/top/.npmrc", r.dir+"/top/.config/git/config", r.dir+"/top/.gitignore", r.dir+"/top/.env")...)
	r.runCalls(t, calls, func(req *permission.Request, asked bool, _ string) {
		d, err := rules.Allow()(permission.WithHome(t.Context(), r.home), req) // as in a session
		if err != nil {
			t.Errorf("%s %s: %v", req.ToolName, req.Input, err)
		}
		allowed := d.Behavior() == permission.BehaviorAllow
		if allowed && asked {
			t.Errorf("%s %s is allowed here, and not by the CLI", req.ToolName, req.Input)
		}
		if !allowed && !asked {
			stricter++
			t.Logf("stricter: %s %s", req.ToolName, req.Input)
		}
	})
	if stricter > 3 {
		t.Errorf("%d of %d calls are refused here that the CLI allows", stricter, len(calls))
	}
}

// What the CLI denies by a rule, policy.Rules deny by the same rule.
func TestRealRulesDeny(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "its rules")
	r := realCLI(t)
	texts := []string{"Bash(touch:*)", "Edit(/secret/**)", "Read(/hidden/**)", "WebFetch(domain:example.com)", "WebFetch(domain:*.example.org)",
		"Agent(general-purpose)"}
	r.opts.DisallowedTools = texts
	rules := policy.MustRules(texts...).At(r.dir)
	if err := os.Symlink(filepath.Join(r.dir, "secret"), filepath.Join(r.dir, "alias")); err != nil {
		t.Fatal(err)
	}
	calls := append(shellCalls("touch a", "touchy a", "sleep 0 && touch b", "sleep $(touch a)", "FOO=1 touch a", "timeout 5 touch a", "nohup touch a",
		"env touch a", "sudo touch a", "(touch a)", "sleep `touch a`", "{ touch a; }", "if true; then touch a; fi", "/usr/bin/touch a", `\touch a`, "'touch' a",
		"sleep 0 & touch a", "touch a > f", "xargs touch", "command touch a", "exec touch a", "! touch a", "sleep 0 | touch a", "for i in 1; do touch a; done",
		"sleep 0 <(touch a)", "touch 'unclosed", "echo ok # it's\ntouch x # isn't", "cat <<'EOF'\nit's\nEOF\ntouch x\ncat <<'EOF'\nit's\nEOF", "<&0 touch x",
		"cat hidden/a", "cat < hidden/a", "grep x hidden/a", "cp hidden/a z", "ls hidden", "echo x > secret/b", "sed -i s/a/b/ secret/a", "rm secret/a", "cat secret/a"),
		writeCalls(r.dir+"/secret/a", " "+r.dir+"/secret/a", r.dir+"/alias/a", r.dir+"/x/secret/a")...)
	for _, url := range []string{"http://example.com/a", "http://EXAMPLE.com:8080/a", "http://sub.example.com/a", "http:///example.com/a", "http:example.com/a",
		`http:\\example.com\a`, "http://example.com./", "http://ｅxample.com/", "http://a.example.org/"} {
		input, _ := json.Marshal(map[string]string{"url": url, "prompt": "x"})
		calls = append(calls, &permission.Request{ToolName: "WebFetch", Input: input})
	}
	for tool, input := range map[string]string{
		"Agent":   `{"description":"x","prompt":"x"}`,
		"Monitor": `{"command":"touch x","description":"d","timeout_ms":1000}`,
		"Read":    `{"file_path":" ` + r.dir + `/hidden/a"}`,
	} {
		calls = append(calls, &permission.Request{ToolName: tool, Input: json.RawMessage(input)})
	}
	denials := 0
	r.runCalls(t, calls, func(req *permission.Request, asked bool, result string) {
		d, err := rules.Deny("no")(t.Context(), req)
		if err != nil {
			t.Errorf("%s %s: %v", req.ToolName, req.Input, err)
		}
		if asked || !strings.Contains(result, "denied") {
			return
		}
		denials++
		if d.Behavior() != permission.BehaviorDeny {
			t.Errorf("%s %s is denied by the CLI, and not here", req.ToolName, req.Input)
		}
	})
	if denials < 45 {
		t.Errorf("the CLI denied %d of %d calls, want most of them", denials, len(calls))
	}
}

// The CLI trims the paths of its tools: blanks do not lead past Confine.
func TestRealConfineBlanks(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "a hook that fails closed")
	r := realCLI(t)
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("TOPSECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.opts.AllowedTools = []string{"Read", "Glob", "Grep"}
	r.opts.Hooks = []hook.Hook{hook.Guard("", policy.Confine(r.dir))}
	var calls []*permission.Request
	for _, blank := range []string{" ", "\t", "\u00a0", "\ufeff"} {
		for _, in := range []map[string]string{
			{"tool": "Grep", "path": blank + outside, "pattern": "TOP", "output_mode": "content"},
			{"tool": "Glob", "path": blank + outside, "pattern": "*"},
			{"tool": "Read", "file_path": blank + outside + "/secret"},
		} {
			tool := in["tool"]
			delete(in, "tool")
			input, _ := json.Marshal(in)
			calls = append(calls, &permission.Request{ToolName: tool, Input: input})
		}
	}
	r.runCalls(t, calls, func(req *permission.Request, _ bool, result string) {
		if strings.Contains(result, "TOPSECRET") || strings.Contains(result, outside+"/secret\n") || !strings.Contains(result, "begins or ends with blanks") && !strings.Contains(result, "not below") {
			t.Errorf("%s %s: the model saw %q", req.ToolName, req.Input, result)
		}
	})
}

// A tilde in a rule is the home of Options.Env, for a guard and for CanUseTool,
// as it is for the CLI's own rules.
func TestRealHomeOfRules(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "a hook that fails closed")
	for _, file := range []string{"guarded", "asked", "ruled"} {
		t.Run(file, func(t *testing.T) {
			r := realCLI(t)
			secret := filepath.Join(r.home, "private", "key")
			if err := os.MkdirAll(filepath.Dir(secret), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(secret, []byte("TOPSECRET"), 0o600); err != nil {
				t.Fatal(err)
			}
			deny := policy.First(policy.MustRules("Read(~/private/**)").At(r.dir).Deny("keep off"), policy.Always(permission.Allow()))
			want := "keep off"
			switch file {
			case "guarded":
				r.opts.AllowedTools = []string{"Read", "Bash(cat:*)"}
				r.opts.Hooks = []hook.Hook{hook.Guard("", deny)}
			case "asked":
				r.opts.CanUseTool = deny
			case "ruled":
				r.opts.DisallowedTools, want = []string{"Read(~/private/**)"}, "denied"
				r.opts.CanUseTool = policy.Always(permission.Allow())
			}
			s := r.connect(t)
			for _, call := range []claudetest.Reply{
				claudetest.UseTool("Read", map[string]string{"file_path": secret}),
				claudetest.UseTool("Bash", map[string]string{"command": "cat ~/private/key"}),
			} {
				r.model.Add(call, claudetest.Say("done"))
				if _, err := s.Ask(t.Context(), "go"); err != nil {
					t.Fatal(err)
				}
				if got := r.lastResult(t).Text; strings.Contains(got, "TOPSECRET") || !strings.Contains(got, want) {
					t.Errorf("the model saw %q, want %q", got, want)
				}
			}
		})
	}
}
