package claude_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
)

// ruled runs tool calls in a session with rules and reports for each whether
// the CLI asked about it, and the result that the model saw.
func (r *real) ruled(t *testing.T, calls []*permission.Request, each func(req *permission.Request, asked bool, result string)) {
	t.Helper()
	asked := false
	r.opts.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) {
		asked = true
		return permission.Deny("asked"), nil
	}
	s := r.connect(t)
	for _, req := range calls {
		asked = false
		r.model.Add(claudetest.UseTool(req.ToolName, req.Input), claudetest.Say("done"))
		if _, err := s.Ask(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		each(req, asked, r.lastResult(t).Text)
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
	r := realCLI(t)
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(r.dir, "out")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", r.home) // for the policy; the CLI has it in its environment
	texts := []string{"Bash(touch:*)", "Bash(mkdir *)", "Bash(truncate* -s 0 *)", "Bash(ln -s a b)", "Bash(cp x y*)",
		"Edit(/sub/**)", "Edit(docs/*.md)", "Edit(~/h/**)", "Edit(*.log)", "Edit(deep/)", "Edit(/one/?.x)", "Edit(/out/**)"}
	r.opts.AllowedTools = texts
	rules := policy.MustRules(texts...).At(r.dir)
	stricter := 0
	calls := append(shellCalls("touch a", "touch", "touchy a", "touch a && mkdir b", "touch a && rmdir b", "touch a > f", "touch $(echo a)",
		"FOO=1 touch a", "mkdir", "mkdirs x", "mkdir c; touch d", "mkdir e | touch d", "mkdir e & touch d", "mkdir g\ntouch h",
		"truncate q -s 0 a", "truncate -s 0 a", "ln -s a b", "ln  -s a b", "ln -s a b c", "cp x y", "cp x yz", "  touch a", `touch "a;b"`, "touch a;",
		"(touch a)", "touch `echo a`", "touch $HOMEX", "touch a 2>/dev/null", "touch a 2>&1", "touch *", "{ touch a; }", "env touch a"),
		writeCalls(r.dir+"/sub/a/b", r.dir+"/x/sub/a", r.dir+"/docs/a.md", r.dir+"/docs/b/a.md", r.dir+"/x/docs/a.md", r.home+"/h/a", r.dir+"/q.log",
			r.dir+"/a1/b/q.log", r.dir+"/deep/a", r.dir+"/y/deep/a", r.dir+"/one/b.x", r.dir+"/one/bb.x", r.dir+"/sub/../other/a", r.dir+"/out/a", outside+"/q.log")...)
	r.ruled(t, calls, func(req *permission.Request, asked bool, _ string) {
		d, err := rules.Allow()(t.Context(), req)
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
	r := realCLI(t)
	texts := []string{"Bash(touch:*)", "Edit(/secret/**)", "WebFetch(domain:example.com)"}
	r.opts.DisallowedTools = texts
	rules := policy.MustRules(texts...).At(r.dir)
	if err := os.Symlink(filepath.Join(r.dir, "secret"), filepath.Join(r.dir, "alias")); err != nil {
		t.Fatal(err)
	}
	calls := append(shellCalls("touch a", "touchy a", "sleep 0 && touch b", "sleep $(touch a)", "FOO=1 touch a", "timeout 5 touch a", "nohup touch a",
		"env touch a", "sudo touch a", "(touch a)", "sleep `touch a`", "{ touch a; }", "if true; then touch a; fi", "/usr/bin/touch a", `\touch a`, "'touch' a",
		"sleep 0 & touch a", "touch a > f", "xargs touch", "command touch a", "exec touch a", "! touch a", "sleep 0 | touch a", "for i in 1; do touch a; done",
		"sleep 0 <(touch a)", "touch 'unclosed"),
		writeCalls(r.dir+"/secret/a", r.dir+"/alias/a", r.dir+"/x/secret/a")...)
	for _, url := range []string{"http://example.com/a", "http://EXAMPLE.com:8080/a", "http://sub.example.com/a"} {
		input, _ := json.Marshal(map[string]string{"url": url, "prompt": "x"})
		calls = append(calls, &permission.Request{ToolName: "WebFetch", Input: input})
	}
	denials := 0
	r.ruled(t, calls, func(req *permission.Request, asked bool, result string) {
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
	if denials < 25 {
		t.Errorf("the CLI denied %d of %d calls, want most of them", denials, len(calls))
	}
}
