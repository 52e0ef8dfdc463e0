package policy_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
)

var errBroken = errors.New("broken")

func broken(context.Context, *permission.Request) (permission.Decision, error) {
	return permission.Allow(), errBroken
}

func TestFirst(t *testing.T) {
	pass, allow, deny := policy.Always(permission.Pass()), policy.Always(permission.Allow()), policy.Always(permission.Deny("no"))
	tests := map[string]struct {
		chain permission.Func
		want  permission.Behavior
	}{
		"nothing":         {policy.First(), ""},
		"no opinion":      {policy.First(pass, pass), ""},
		"first":           {policy.First(pass, deny, allow), "deny"},
		"allowed":         {policy.First(pass, allow, deny), "allow"},
		"error":           {policy.First(pass, broken, allow), "error"},
		"error not asked": {policy.First(deny, broken), "deny"},
		"nested":          {policy.First(policy.First(pass), allow), "allow"},
	}
	for name, tt := range tests {
		if got := decided(t, tt.chain, bash("ls")); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestReadOnly(t *testing.T) {
	for tool, want := range map[string]permission.Behavior{
		"Read": "", "Grep": "", "TodoWrite": "", "AskUserQuestion": "",
		"Write": "deny", "Bash": "deny", "WebFetch": "deny", "Agent": "deny", "mcp__x__get": "deny", "New": "deny", "": "deny",
	} {
		if got := decided(t, policy.ReadOnly(), request(tool, struct{}{})); got != want {
			t.Errorf("%s: %q, want %q", tool, got, want)
		}
	}
}

func TestConfine(t *testing.T) {
	dir := t.TempDir()
	root, outside := filepath.Join(dir, "repo"), filepath.Join(dir, "outside")
	for _, d := range []string{filepath.Join(root, "a", "b"), outside, root + "-twin"} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link(t, outside, filepath.Join(root, "out"))
	link(t, filepath.Join(outside, "not-yet"), filepath.Join(root, "dangling"))
	link(t, "a", filepath.Join(root, "inside"))
	link(t, "../..", filepath.Join(root, "a", "up"))
	link(t, filepath.Join(root, "loop"), filepath.Join(root, "loop"))
	link(t, root, filepath.Join(dir, "alias"))
	tests := []struct {
		tool, member, path string
		want               permission.Behavior
	}{
		{"Write", "file_path", root + "/a/new", ""},
		{"Write", "file_path", root + "/new/deep/er", ""},
		{"Write", "file_path", root, ""},
		{"Read", "file_path", root + "/inside/b", ""},
		{"Read", "file_path", dir + "/alias/a", ""},
		{"Read", "file_path", outside + "/x", "deny"},
		{"Read", "file_path", root + "-twin/x", "deny"},
		{"Read", "file_path", root + "/../outside/x", "deny"},
		{"Read", "file_path", root + "/out/x", "deny"},
		{"Write", "file_path", root + "/out/new/x", "deny"},
		{"Write", "file_path", root + "/dangling", "deny"},
		{"Write", "file_path", root + "/dangling/x", "deny"},
		{"Read", "file_path", root + "/a/up/outside/x", "deny"},
		{"Read", "file_path", root + "/inside/../a", ""},
		{"Read", "file_path", root + "/out/../a", "deny"}, // as text inside, for the system not
		{"Read", "file_path", root + "/loop", "error"},
		{"Read", "file_path", "a", "deny"},
		{"Read", "file_path", "~/x", "deny"},
		{"Read", "file_path", "", "deny"},
		{"Read", "file_path", root + "/a\x00/../../x", "error"},
		{"NotebookEdit", "notebook_path", outside + "/n", "deny"},
		{"MultiEdit", "file_path", outside + "/n", "deny"},
		{"Grep", "path", outside, "deny"},
		{"Grep", "path", root + "/a", ""},
		{"LS", "path", root, ""},
		{"Bash", "command", "cat /etc/passwd", ""},
		{"mcp__x__write", "file_path", outside, ""},
	}
	for _, tt := range tests {
		req := request(tt.tool, map[string]string{tt.member: tt.path})
		if got := decided(t, policy.Confine(root), req); got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.tool, tt.path, got, tt.want)
		}
	}
	two := policy.Confine(root, outside)
	if got := decided(t, two, request("Read", map[string]string{"file_path": outside + "/x"})); got != "" {
		t.Errorf("the second root: %q", got)
	}
	if got := decided(t, policy.Confine(), request("Read", map[string]string{"file_path": root})); got != "deny" {
		t.Errorf("no root: %q, want deny", got)
	}
	for _, input := range []any{map[string]any{"file_path": 7}, []int{1}} {
		if got := decided(t, policy.Confine(root), request("Read", input)); got != "error" {
			t.Errorf("input %v: %q, want an error", input, got)
		}
	}
}

func TestConfineGlob(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		cwd, path, pattern string
		want               permission.Behavior
	}{
		{root, "", "**/*.go", ""},
		{root, "a", "*.go", ""},
		{root, root, "a/*", ""},
		{root, "", root + "/a/*", ""},
		{root, "", "/etc/*", "deny"},
		{root, "", "../*", "deny"},
		{root, "a", "../../x*", "deny"},
		{root, "", "*/../../x", "error"},
		{root, "", "~/*", "deny"},
		{"/etc", "", "*", "deny"},
		{"", "", "*", "deny"},
	} {
		in := map[string]string{"pattern": tt.pattern}
		if tt.path != "" {
			in["path"] = tt.path
		}
		req := request("Glob", in)
		req.Cwd = tt.cwd
		if got := decided(t, policy.Confine(root), req); got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

func TestAudit(t *testing.T) {
	const secret = "hunter2"
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	req := bash("login " + secret)
	req.ToolUseID, req.AgentID = "toolu_1", "a1"
	for _, tt := range []struct {
		next permission.Func
		want []string
	}{
		{policy.Always(permission.Allow()), []string{"level=INFO", "decision=allow", "tool=Bash", "tool_use_id=toolu_1", "agent_id=a1"}},
		{policy.Always(permission.AllowWith(map[string]string{"command": secret})), []string{"decision=allow", "changed=true"}},
		{policy.Always(permission.Deny("not here")), []string{"level=WARN", "decision=deny", `message="not here"`}},
		{policy.Always(permission.Pass()), []string{"level=INFO", "decision=pass"}},
		{broken, []string{"level=ERROR", "decision=failed", "error=broken"}},
	} {
		out.Reset()
		want, wantErr := tt.next(t.Context(), req)
		got, err := policy.Audit(log, tt.next)(t.Context(), req)
		if got.Behavior() != want.Behavior() || !errors.Is(err, wantErr) {
			t.Errorf("the decision changed: %q, %v", got.Behavior(), err)
		}
		for _, part := range tt.want {
			if !strings.Contains(out.String(), part) {
				t.Errorf("log %q lacks %q", out.String(), part)
			}
		}
		if strings.Contains(out.String(), secret) || strings.Contains(out.String(), "request_id") {
			t.Errorf("log %q", out.String())
		}
	}
	out.Reset()
	more := func(req *permission.Request) []slog.Attr { return []slog.Attr{slog.Int("size", len(req.Input))} }
	if _, err := policy.Audit(log, policy.Always(permission.Allow()), more)(t.Context(), req); err != nil || !strings.Contains(out.String(), "size=") {
		t.Errorf("log %q, %v", out.String(), err)
	}
}

func TestLimit(t *testing.T) {
	allow := policy.MustRules("Bash").Allow()
	limited := policy.Limit(10, allow)
	if got := decided(t, limited, request("Read", struct{}{})); got != "" {
		t.Errorf("what passes: %q", got)
	}
	var mu sync.Mutex
	count := map[permission.Behavior]int{}
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() {
			d, _ := limited(t.Context(), bash("ls"))
			mu.Lock()
			defer mu.Unlock()
			count[d.Behavior()]++
		})
	}
	wg.Wait()
	if count["allow"] != 10 || count["deny"] != 20 {
		t.Errorf("got %v, want 10 allowed and 20 denied", count)
	}
	if got := decided(t, policy.Limit(0, allow), bash("ls")); got != "deny" {
		t.Errorf("a limit of nothing: %q", got)
	}
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rated := policy.Rate(2, time.Minute, policy.Always(permission.Allow()))
		for _, tt := range []struct {
			after time.Duration
			want  permission.Behavior
		}{{0, "allow"}, {30 * time.Second, "allow"}, {0, "deny"}, {29 * time.Second, "deny"}, {time.Second, "allow"}, {0, "deny"}, {30 * time.Second, "allow"}} {
			<-time.After(tt.after)
			if got := decided(t, rated, bash("ls")); got != tt.want {
				t.Errorf("after %v: %q, want %q", tt.after, got, tt.want)
			}
		}
		if got := decided(t, policy.Rate(0, time.Minute, policy.Always(permission.Allow())), bash("ls")); got != "deny" {
			t.Errorf("a rate of nothing: %q", got)
		}
	})
}

func TestAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		questions := make(chan *policy.PendingRequest)
		ask := policy.Ask(questions, time.Minute)
		go func() {
			q := <-questions
			if q.Request.ToolName != "Bash" {
				t.Errorf("asked about %s", q.Request.ToolName)
			}
			if !q.Answer(permission.Allow()) || q.Answer(permission.Deny("too late")) {
				t.Error("the first answer counts, and only it")
			}
			<-q.Done()
		}()
		if got := decided(t, ask, bash("ls")); got != "allow" {
			t.Errorf("answered: %q", got)
		}
	})
}

func TestAskNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		if got := decided(t, policy.Ask(make(chan *policy.PendingRequest), time.Minute), bash("ls")); got != "deny" || time.Since(begin) != time.Minute {
			t.Errorf("nobody received: %q after %v", got, time.Since(begin))
		}
		questions := make(chan *policy.PendingRequest, 1)
		if got := decided(t, policy.Ask(questions, time.Minute), bash("ls")); got != "deny" {
			t.Errorf("nobody answered: %q", got)
		}
		q := <-questions
		<-q.Done()
		if q.Answer(permission.Allow()) {
			t.Error("an answer after the timeout counted")
		}
	})
}

func TestAskWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		questions := make(chan *policy.PendingRequest, 1)
		done := make(chan error, 1)
		go func() {
			_, err := policy.Ask(questions, 0)(ctx, bash("ls"))
			done <- err
		}()
		q := <-questions
		cancel(errBroken)
		if err := <-done; !errors.Is(err, errBroken) {
			t.Errorf("error = %v, want the cause", err)
		}
		<-q.Done()
		if q.Answer(permission.Allow()) {
			t.Error("an answer to a withdrawn question counted")
		}
	})
}
