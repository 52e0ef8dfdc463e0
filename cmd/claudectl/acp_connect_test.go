package main

import (
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// newScriptedServer starts a server with a scripted CLI, and returns its address and
// a token.
func newScriptedServer(t *testing.T, root string, replies ...claudetest.Reply) (address, token string) {
	t.Helper()
	db, quiet := store.Memory(), slog.New(slog.DiscardHandler)
	presets := []serve.Preset{{Name: "shop", Roots: []string{root}, Options: &claude.Options{Transport: claudetest.New(replies...), Env: []string{"HOME=" + root}, Logger: quiet}}}
	sessions, err := serve.Sessions(db, "p", presets, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fleet.Open(t.Context(), fleet.Options{Store: db, Project: "p", Journal: t.TempDir(), Logger: quiet, Session: sessions})
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(f, serve.Options{Records: db, Project: "p", Presets: presets, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		web.Close()
		f.Close(context.Background())
	})
	made, err := serve.IssueToken(t.Context(), db, "p", api.NewToken{Name: "editor", User: "ada", Role: api.RoleOperator})
	if err != nil {
		t.Fatal(err)
	}
	return web.URL, made.Secret
}

// TestACPConnect is an editor whose program talks to a server.
func TestACPConnect(t *testing.T) {
	root := t.TempDir()
	address, token := newScriptedServer(t, root, claudetest.Say("hello from afar"))
	in, toProgram := io.Pipe()
	fromProgram, out := io.Pipe()
	var complaints strings.Builder
	ended := make(chan int, 1)
	go func() {
		ended <- run(context.Background(), []string{"acp", "--connect", address}, in, out, &complaints, []string{serverToken + "=" + token})
		out.Close()
	}()
	d := drive.Connect(struct {
		io.Reader
		io.WriteCloser
	}{fromProgram, toProgram}, drive.Setup{})
	if err := d.Call(t.Context(), schema.MethodAgentInitialize, schema.InitializeRequest{ProtocolVersion: 1}, nil); err != nil {
		t.Fatal(err)
	}
	id := d.New(t, root)
	if resp, err := d.Prompt(t.Context(), id, "Hello."); err != nil || resp.StopReason != schema.StopReasonEndTurn || d.Text(id) != "hello from afar" {
		t.Errorf("%+v, %v, %q", resp, err, d.Text(id))
	}
	d.Close()
	if code := <-ended; code != 0 {
		t.Errorf("exit %d: %s", code, complaints.String())
	}
}

// TestACPConnectRefused says what is wrong, and never the token.
func TestACPConnectRefused(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		env  []string
		want string
	}{
		"no token":      {[]string{"acp", "--connect", "http://127.0.0.1:1"}, nil, serverToken},
		"open line":     {[]string{"acp", "--connect", "http://example.com"}, []string{serverToken + "=secretsecretsecret"}, "https"},
		"a local flag":  {[]string{"acp", "--connect", "http://127.0.0.1:1", "--policy", "x"}, []string{serverToken + "=secretsecretsecret"}, "--policy"},
		"only a preset": {[]string{"acp", "--preset", "x"}, nil, "--connect"},
	} {
		t.Run(name, func(t *testing.T) {
			var complaints strings.Builder
			code := run(t.Context(), c.args, strings.NewReader(""), io.Discard, &complaints, c.env)
			if code != int(exitUsage) || !strings.Contains(complaints.String(), c.want) || strings.Contains(complaints.String(), "secretsecret") {
				t.Errorf("exit %d: %s", code, complaints.String())
			}
		})
	}
}
