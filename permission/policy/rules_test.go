package policy_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
)

func request(tool string, input any) *permission.Request {
	raw, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return &permission.Request{ToolName: tool, Input: raw}
}

func bash(command string) *permission.Request {
	return request("Bash", map[string]string{"command": command})
}

// decided asks a function and returns the behavior, "error" for an error.
func decided(t *testing.T, fn permission.Func, req *permission.Request) permission.Behavior {
	t.Helper()
	d, err := fn(t.Context(), req)
	if err != nil {
		if d.Behavior() == permission.BehaviorAllow {
			t.Errorf("allowed in spite of %v", err)
		}
		return "error"
	}
	return d.Behavior()
}

func TestShellRules(t *testing.T) {
	rules := policy.MustRules("Bash(touch:*)", "Bash(mkdir *)", "Bash(truncate* -s 0 *)", "Bash(ln -s a b)", "Bash(cp x y*)")
	tests := []struct {
		command       string
		allows, denys bool
	}{
		{"touch a", true, true},
		{"touch", true, true},
		{"touchy a", false, false},
		{"  touch a ", true, true},
		{"touch a && mkdir b", true, true},
		{"touch a || mkdir b; touch c | mkdir d\nmkdir e", true, true},
		{"touch a && rmdir b", false, true},
		{"rmdir b", false, false},
		{`touch "a;b" 'c|d'`, true, true},
		{"touch a;", true, true},
		{"touch a 2>/dev/null", true, true},
		{"touch a 2>&1 | mkdir b", true, true},
		{"touch a > /dev/null && mkdir b", true, true},
		{"touch a > /dev/nullx", false, true},
		{"touch a > f", false, true},
		{"> f touch a", false, true},
		{"touch a < f", false, true},
		{"touch $(rmdir a)", false, true},
		{"rmdir $(touch a)", false, true},
		{`rmdir "$(touch "a b")"`, false, true},
		{"rmdir `touch a`", false, true},
		{"touch $HOME", false, true},
		{`touch "$HOME"`, false, true},
		{"touch *", false, true},
		{"touch {a,b}", false, true},
		{"touch a & rmdir b", false, true},
		{"rmdir b & touch a", false, true},
		{"(touch a)", false, true},
		{"{ touch a; }", false, true},
		{"if true; then touch a; fi", false, true},
		{"for i in 1; do touch a; done", false, true},
		{"FOO=1 touch a", false, true},
		{"FOO=1 BAR='x y' touch a", false, true},
		{"env -i FOO=1 touch a", false, true},
		{"timeout -k 3 5 touch a", false, true},
		{"sudo -u root touch a", false, true},
		{"nice -n 5 touch a", false, true},
		{"xargs -I{} touch {}", false, true},
		{"/usr/bin/touch a", false, true},
		{`\touch a`, false, true},
		{`t'ou'ch a`, false, true},
		{`"touch" a`, false, true},
		{`$'\x74ouch' a`, false, true},
		{"bash -c 'touch a'", false, true},
		{"bash -lc 'rmdir b && touch a'", false, true},
		{"eval touch a", false, true},
		{"! touch a", false, true},
		{"rmdir <(touch a)", false, true},
		{"touch 'unclosed", false, true},
		{"rmdir 'unclosed", false, true}, // what cannot be read is denied
		{"echo 'touch a'", false, false},
		{"echo touch a", false, false},
		{`echo "a \"touch b\""`, false, false},
		{"echo 2>&1", false, false},
		{"truncate -s 0 a", true, true},
		{"truncate x -s 0 a", true, true},
		{"truncate -s 1 a", false, false},
		{"ln -s a b", true, true},
		{"ln -s a b c", false, false},
		{"ln  -s a b", false, true},
		{"cp x y", true, true},
		{"cp x yz w", true, true},
		{"", false, false},
		{"# touch", false, false},
	}
	for _, tt := range tests {
		if got := decided(t, rules.Allow(), bash(tt.command)) == permission.BehaviorAllow; got != tt.allows {
			t.Errorf("%q: allowed %v, want %v", tt.command, got, tt.allows)
		}
		if got := decided(t, rules.Deny("no"), bash(tt.command)) == permission.BehaviorDeny; got != tt.denys {
			t.Errorf("%q: denied %v, want %v", tt.command, got, tt.denys)
		}
	}
	for _, hostile := range []string{strings.Repeat("eval ", 20_000) + "x", strings.Repeat("xargs ", 20_000), strings.Repeat("(", 100_000)} {
		if got := decided(t, rules.Deny("no"), bash(hostile)); got != permission.BehaviorDeny {
			t.Errorf("%.20q…: %q, want deny", hostile, got)
		}
	}
	whole := policy.MustRules("Bash", "Bash(ls)")
	if got := decided(t, whole.Allow(), bash("anything $(at all")); got != permission.BehaviorAllow {
		t.Errorf("a rule for the whole tool: %q", got)
	}
	for _, input := range []string{`{"command":1}`, `[]`, `{"command":"ls","command":"rm"}`, `{`} {
		req := &permission.Request{ToolName: "Bash", Input: json.RawMessage(input)}
		if got := decided(t, rules.Allow(), req); got != "error" {
			t.Errorf("input %s: %q, want an error", input, got)
		}
	}
}

func TestToolRules(t *testing.T) {
	tests := []struct {
		rule string
		req  *permission.Request
		want bool
	}{
		{"Read", request("Read", struct{}{}), true},
		{"Read", request("Write", struct{}{}), false},
		{"read", request("Read", struct{}{}), false},
		{"Task", request("Agent", struct{}{}), true},
		{"Agent", request("Task", struct{}{}), true},
		{"mcp__x", request("mcp__x__a", struct{}{}), true},
		{"mcp__x", request("mcp__xy__a", struct{}{}), false},
		{"mcp__x__*", request("mcp__x__a", struct{}{}), true},
		{"mcp__x__*", request("mcp__xy__a", struct{}{}), false},
		{"mcp__x__get_*", request("mcp__x__get_a", struct{}{}), true},
		{"mcp__x__get_*", request("mcp__x__set_a", struct{}{}), false},
		{"mcp__x__a", request("mcp__x__a", struct{}{}), true},
		{"mcp__x__a", request("mcp__x__ab", struct{}{}), false},
		{"WebFetch(domain:go.dev)", request("WebFetch", map[string]string{"url": "https://GO.dev:443/x"}), true},
		{"WebFetch(domain:go.dev)", request("WebFetch", map[string]string{"url": "https://pkg.go.dev/"}), false},
		{"WebFetch(domain:go.dev)", request("Read", struct{}{}), false},
		{"Agent(reviewer)", request("Task", map[string]string{"subagent_type": "reviewer"}), true},
		{"Agent(reviewer)", request("Agent", map[string]string{"subagent_type": "writer"}), false},
	}
	for _, tt := range tests {
		rules := policy.MustRules(tt.rule)
		if got := decided(t, rules.Allow(), tt.req) == permission.BehaviorAllow; got != tt.want {
			t.Errorf("%s allows %s %s: %v, want %v", tt.rule, tt.req.ToolName, tt.req.Input, got, tt.want)
		}
		if got := decided(t, rules.Deny("no"), tt.req) == permission.BehaviorDeny; got != tt.want {
			t.Errorf("%s denies %s %s: %v, want %v", tt.rule, tt.req.ToolName, tt.req.Input, got, tt.want)
		}
	}
}

func TestBadRules(t *testing.T) {
	for _, rule := range []string{"", "Bash(", "Write(/src/**)", "Glob(*)x", "NotebookEdit(a)", "TodoWrite(x)", "Read(!a)", "Read(/)",
		"Read([a)", "WebFetch(go.dev)", "WebFetch(domain:)", "Bash(:*)", "B*(x)"} {
		if _, err := policy.ParseRules("Read", rule); err == nil {
			t.Errorf("ParseRules(%q): no error", rule)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("MustRules of a bad rule: no panic")
		}
	}()
	policy.MustRules("Bash(")
}

func TestPathRules(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", filepath.Join(dir, "home"))
	root := filepath.Join(dir, "repo")
	for _, d := range []string{"repo/sub", "repo/real", "outside", "home"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link(t, filepath.Join(dir, "outside"), filepath.Join(root, "sub", "out"))
	link(t, filepath.Join(root, "sub"), filepath.Join(root, "real", "in"))
	tests := []struct {
		rule, tool, path string
		allows, denys    bool
	}{
		{"Edit(/sub/**)", "Write", root + "/sub/a/b", true, true},
		{"Edit(/sub/**)", "Edit", root + "/sub/a", true, true},
		{"Edit(/sub/**)", "NotebookEdit", root + "/sub/a", true, true},
		{"Edit(/sub/**)", "Read", root + "/sub/a", false, false},
		{"Edit(/sub/**)", "Write", root + "/x/sub/a", false, false},
		{"Edit(/sub/**)", "Write", root + "/sub/../other/a", false, false},
		{"Edit(/sub/**)", "Write", root + "/sub/out/a", false, true},
		{"Edit(/sub/**)", "Write", root + "/real/in/a", false, true},
		{"Edit(./sub/**)", "Write", root + "/sub/a", true, true},
		{"Edit(sub)", "Write", root + "/y/sub/a", true, true},
		{"Edit(sub/)", "Write", root + "/y/sub/a", true, true},
		{"Edit(sub/)", "Write", root + "/y/sub", false, false},
		{"Edit(docs/*.md)", "Write", root + "/docs/a.md", true, true},
		{"Edit(docs/*.md)", "Write", root + "/docs/b/a.md", false, false},
		{"Edit(docs/*.md)", "Write", root + "/x/docs/a.md", false, false},
		{"Edit(docs/**/*.md)", "Write", root + "/docs/b/c/a.md", true, true},
		{"Edit(docs/**/*.md)", "Write", root + "/docs/a.md", true, true},
		{"Edit(*.log)", "Write", root + "/a/b/q.log", true, true},
		{"Edit(*.log)", "Write", dir + "/q.log", false, false},
		{"Edit(~/h/**)", "Write", dir + "/home/h/a", true, true},
		{"Edit(~/h/**)", "Write", "~/h/a", false, true},
		{"Edit(/" + filepath.ToSlash(dir) + "/outside/**)", "Write", dir + "/outside/a", true, true},
		{"Edit(/one/?.[xy])", "Write", root + "/one/b.x", true, true},
		{"Edit(/one/?.[!y])", "Write", root + "/one/b.y", false, false},
		{"Edit(/one/?.x)", "Write", root + "/one/bb.x", false, false},
		{`Edit(/lit\*)`, "Write", root + "/lit*", true, true},
		{`Edit(/lit\*)`, "Write", root + "/litx", false, false},
		{"Read(/sub/**)", "Read", root + "/sub/a", true, true},
		{"Read(/etc/passwd)", "Read", "/etc/passwd", false, true}, // meant so, written otherwise
		{"Read(/**)", "Read", "/etc/passwd", false, false},
		{"Read(/sub/**)", "Grep", root + "/sub", true, true},
		{"Read(/sub/**)", "Grep", root, false, false},
		{"Read(/sub/**)", "Write", root + "/sub/a", false, false},
		{"Read(/sub/**)", "Read", "sub/a", false, true}, // from where is unknown
	}
	for _, tt := range tests {
		rules := policy.MustRules(tt.rule).At(root)
		member := map[string]string{"NotebookEdit": "notebook_path", "Grep": "path"}[tt.tool]
		if member == "" {
			member = "file_path"
		}
		req := request(tt.tool, map[string]string{member: tt.path})
		if got := decided(t, rules.Allow(), req) == permission.BehaviorAllow; got != tt.allows {
			t.Errorf("%s allows %s %s: %v, want %v", tt.rule, tt.tool, tt.path, got, tt.allows)
		}
		if got := decided(t, rules.Deny("no"), req) == permission.BehaviorDeny; got != tt.denys {
			t.Errorf("%s denies %s %s: %v, want %v", tt.rule, tt.tool, tt.path, got, tt.denys)
		}
	}
	req := request("Read", map[string]string{"file_path": "sub/a"})
	req.Cwd = root
	if got := decided(t, policy.MustRules("Read(/sub/**)").At(root).Allow(), req); got != permission.BehaviorAllow {
		t.Errorf("a relative path from a known directory: %q", got)
	}
}

// The home of the CLI, which the context of a call names, takes precedence over
// that of this program.
func TestRulesAtHome(t *testing.T) {
	t.Setenv("HOME", "/home/host")
	t.Setenv("USERPROFILE", "/home/host")
	ctx := permission.WithHome(t.Context(), "/home/cli")
	deny := policy.MustRules("Read(~/.ssh/**)").At("/repo").Deny("no")
	for req, want := range map[*permission.Request]permission.Behavior{
		request("Read", map[string]string{"file_path": "/home/cli/.ssh/id"}):  "deny",
		request("Read", map[string]string{"file_path": "/home/host/.ssh/id"}): "",
		bash("cat ~/.ssh/id"):             "deny",
		bash("cat $HOME/.ssh/id"):         "deny",
		bash("cat /home/cli/.ssh/id"):     "deny",
		bash("cat /home/host/.ssh/known"): "",
	} {
		if d, err := deny(ctx, req); err != nil || d.Behavior() != want {
			t.Errorf("%s %s: %q, %v; want %q", req.ToolName, req.Input, d.Behavior(), err, want)
		}
		if _, ok := permission.HomeFrom(t.Context()); ok {
			t.Error("a home without one")
		}
	}
}

// The zero Rules and those at a relative place.
func TestRulesAt(t *testing.T) {
	if got := decided(t, new(policy.Rules).Allow(), bash("ls")); got != "error" {
		t.Errorf("zero rules: %q, want an error", got)
	}
	t.Chdir(t.TempDir())
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	rules := policy.MustRules("Edit(/a)").At("sub")
	req := request("Write", map[string]string{"file_path": filepath.Join(wd, "sub", "a")})
	if got := decided(t, rules.Allow(), req); got != permission.BehaviorAllow {
		t.Errorf("rules at sub: %q", got)
	}
}

func link(t *testing.T, to, from string) {
	t.Helper()
	if err := os.Symlink(to, from); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
}

func FuzzShellRules(f *testing.F) {
	rules := policy.MustRules("Bash(touch:*)", "Bash(mk* -p *)")
	for _, seed := range []string{"touch a", "a && b", "$(touch `x`)", `"\"'`, "touch a 2>&1", "a\\\nb", "x=1 touch"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, command string) {
		req := bash(command)
		allow, err := rules.Allow()(context.Background(), req)
		if err != nil {
			return
		}
		deny, err := rules.Deny("no")(context.Background(), req)
		if err != nil {
			t.Fatal(err)
		}
		if allow.Behavior() == permission.BehaviorAllow && deny.Behavior() == "" {
			t.Errorf("%q is allowed by rules that would not deny it", command)
		}
	})
}
