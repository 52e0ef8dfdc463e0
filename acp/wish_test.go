package acp_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
)

// started keeps how CLIs are started.
type started struct {
	*claudetest.CLI
	launches chan *claude.Launch
}

func (s started) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	s.launches <- l
	return s.CLI.Start(ctx, l)
}

// TestWishesHold gives limits with each request that opens a session: the CLI has them,
// or the session does not open, and nothing of it is shown.
func TestWishesHold(t *testing.T) {
	const old = "6f1f5a0e-6b43-4a4e-9d6b-0c8f6f0c1d2e"
	home := t.TempDir()
	project := filepath.Join(home, ".claude", "projects", "-")
	if err := os.MkdirAll(project, 0o700); err != nil {
		t.Fatal(err)
	}
	line := `{"type":"user","uuid":"0b9d3a52-5a0e-4d0b-8a53-3a8b1c2d4e5f","sessionId":"` + old + `","cwd":"/","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"Hello."}}` + "\n"
	if err := os.WriteFile(filepath.Join(project, old+".jsonl"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	cli := started{claudetest.NewCLI(&claudetest.Script{Sessions: []string{old}}), make(chan *claude.Launch, 100)}
	local := &acp.Local{Options: &claude.Options{Transport: cli, Env: []string{"HOME=" + home}}}
	d := drive.Start(t, local, drive.Setup{})
	s := drive.Start(t, &acp.Remote{Server: newScripted()}, drive.Setup{})
	said := func(d *drive.Driver) (prompts int) {
		for _, up := range d.Updates(old) {
			if up.UserMessageChunk != nil {
				prompts++
			}
		}
		return prompts
	}
	for _, method := range []string{schema.MethodAgentSessionNew, schema.MethodAgentSessionLoad, schema.MethodAgentSessionResume, "session/fork"} {
		params := func(options string) map[string]any {
			return map[string]any{"sessionId": old, "cwd": "/", "mcpServers": []any{},
				"_meta": map[string]any{"claudeCode": map[string]any{"options": json.RawMessage(options)}}}
		}
		err := d.Call(t.Context(), method, params(`{"disallowedTools":["Bash"],"maxTurns":7}`), nil)
		if err != nil && method != "session/fork" { // the scripted CLI does not know the copy
			t.Fatalf("%s: %v", method, err)
		}
		select {
		case l := <-cli.launches:
			if !slices.Contains(l.Args, "--max-turns=7") || !slices.Contains(l.Args, "--disallowedTools=Bash") {
				t.Errorf("%s: started with %q", method, l.Args)
			}
		default:
			t.Fatalf("%s has not started a CLI: %v", method, err)
		}
		for _, options := range []string{`{"maxTurns":"7"}`, `{"effort":"none at all"}`, `{"tools":["Bash(ls)"]}`, `{"allowedTools":["Bash"],"disallowedTools":["Bash"]}`} {
			before := said(d)
			if err := d.Call(t.Context(), method, params(options), nil); codeOf(err) != schema.ErrorCodeInvalidParams {
				t.Errorf("%s, %s: %v", method, options, err)
			}
			if said(d) != before {
				t.Errorf("%s, %s: the editor was shown a session that did not open", method, options)
			}
		}
		if err := s.Call(t.Context(), method, params(`{"maxTurns":7}`), nil); codeOf(err) != schema.ErrorCodeInvalidParams || !strings.Contains(err.Error(), "maxTurns") {
			t.Errorf("%s on a server: %v", method, err)
		}
	}
}

// TestWishesRoots has directories of an older extension, unless the request itself names
// some.
func TestWishesRoots(t *testing.T) {
	cli := started{claudetest.New(), make(chan *claude.Launch, 100)}
	d := drive.Start(t, &acp.Local{Options: &claude.Options{Transport: cli, Env: []string{"HOME=" + t.TempDir()}}}, drive.Setup{})
	for _, test := range []struct {
		own   []string
		roots bool
	}{{nil, true}, {[]string{"/own"}, false}} {
		req := schema.NewSessionRequest{Cwd: "/", AdditionalDirectories: test.own, Meta: map[string]any{"additionalRoots": []string{"/root-of-old"}}}
		if err := d.Call(t.Context(), schema.MethodAgentSessionNew, req, nil); err != nil {
			t.Fatal(err)
		}
		args := (<-cli.launches).Args
		if has := slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, "/root-of-old") }); has != test.roots {
			t.Errorf("own %q: started with %q", test.own, args)
		}
	}
}
