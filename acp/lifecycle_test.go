package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/store"
)

// TestMoreDirectories gives a session the folders that the editor names, beside those of
// the agent.
func TestMoreDirectories(t *testing.T) {
	var args []string
	cli := claudetest.New()
	local := &acp.Local{Options: &claude.Options{AddDirs: []string{"/own"}, Env: []string{"HOME=" + t.TempDir()},
		Transport: starts(func(ctx context.Context, launch *claude.Launch) (claude.Conn, error) {
			args = launch.Args
			return cli.Start(ctx, launch)
		})}}
	d := drive.Start(t, local, drive.Setup{})
	if err := d.Call(t.Context(), schema.MethodAgentSessionNew, schema.NewSessionRequest{Cwd: "/", AdditionalDirectories: []string{"/a", "/b"}}, nil); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range args {
		if dir, ok := strings.CutPrefix(a, "--add-dir="); ok {
			got = append(got, dir)
		}
	}
	if want := []string{"/own", "/a", "/b"}; !slices.Equal(got, want) {
		t.Errorf("the CLI has the folders %q, want %q; its arguments are %q", got, want, args)
	}
}

// starts is a transport of one function.
type starts func(context.Context, *claude.Launch) (claude.Conn, error)

func (s starts) Start(ctx context.Context, launch *claude.Launch) (claude.Conn, error) {
	return s(ctx, launch)
}

// TestInATurn closes a session whose turn runs, which ends the turn as cancelled, and
// refuses to load it until then.
func TestInATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Bool
		cli := claudetest.NewCLI(&claudetest.Script{
			Replies: []claudetest.Reply{claudetest.UseTool("Bash", map[string]string{"command": "make"}), claudetest.Say("never")},
			Tools: map[string]host.RunFunc{"Bash": func(context.Context, json.RawMessage) (host.ToolOutput, error) {
				ran.Store(true)
				return host.ToolOutput{}, nil
			}},
		})
		local := &acp.Local{Options: &claude.Options{Transport: cli, Env: []string{"HOME=" + t.TempDir()}}}
		asked, withdrawn := make(chan struct{}), make(chan struct{})
		d := drive.Start(t, local, drive.Setup{Permission: func(ctx context.Context, _ *schema.RequestPermissionRequest) schema.PermissionOptionID {
			close(asked)
			<-ctx.Done()
			close(withdrawn)
			return ""
		}})
		id := d.New(t, "/")
		ended := make(chan string, 1)
		go func() {
			resp, err := d.Prompt(t.Context(), id, "Build it.")
			ended <- fmt.Sprint(resp.StopReason, err)
		}()
		<-asked
		for _, method := range []string{schema.MethodAgentSessionLoad, schema.MethodAgentSessionResume} {
			if err := d.Call(t.Context(), method, schema.LoadSessionRequest{SessionID: id, Cwd: "/"}, nil); err == nil || !strings.Contains(err.Error(), "a turn of this session is running") {
				t.Errorf("%s: %v, want it refused", method, err)
			}
		}
		select {
		case got := <-ended:
			t.Errorf("the turn ended %s because the session was to be opened", got)
		default:
		}
		begin := time.Now()
		if err := d.Call(t.Context(), schema.MethodAgentSessionClose, schema.CloseSessionRequest{SessionID: id}, nil); err != nil {
			t.Error(err)
		}
		if got := <-ended; got != "cancelled<nil>" {
			t.Errorf("the turn ended %s, want cancelled", got)
		}
		<-withdrawn
		if took := time.Since(begin); took >= 5*time.Second {
			t.Errorf("closed after %v", took)
		}
		if _, err := d.Prompt(t.Context(), id, "More."); err == nil || !strings.Contains(err.Error(), "session/load") {
			t.Errorf("a prompt to the closed session: %v", err)
		}
		if ran.Load() {
			t.Error("the call ran")
		}
	})
}

// TestOpenElsewhere does not open a session that waits for an answer in another program:
// the editor is told to answer there.
func TestOpenElsewhere(t *testing.T) {
	dir := cutOff(t)
	running := filepath.Join(dir, "sessions")
	if err := os.Mkdir(running, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(running, "1.json"), fmt.Appendf(nil, `{"pid":%d,"sessionId":%q}`, os.Getpid(), cutSession), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		in := approval.NewQuestions(store.Memory(), "acp")
		if _, err := in.Ask(t.Context(), approval.Question{Conversation: cutSession, Tool: "Bash", ToolUseID: cutCall, Input: []byte(`{"command":"make"}`)}, store.Fence{}); err != nil {
			t.Fatal(err)
		}
		local := &acp.Local{Questions: in, Options: &claude.Options{Transport: claudetest.New(), Env: []string{"CLAUDE_CONFIG_DIR=" + dir}}}
		d := drive.Start(t, local, drive.Setup{})
		begin := time.Now()
		err := d.Call(t.Context(), schema.MethodAgentSessionLoad, schema.LoadSessionRequest{SessionID: cutSession, Cwd: "/"}, nil)
		if err == nil || !strings.Contains(err.Error(), "another program has this session open") || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
			t.Errorf("loaded: %v, want the other program named", err)
		}
		if took := time.Since(begin); took != 10*time.Second {
			t.Errorf("refused after %v, want 10 s: an adapter that was killed leaves a CLI that ends", took)
		}
		for q, err := range in.List(t.Context(), approval.Filter{Conversation: cutSession}) {
			if err != nil || q.State != approval.StateOpen {
				t.Errorf("the question is %s, %v, want it open", q.State, err)
			}
		}
	})
}

// An editor that gives its MCP servers to a conversation of a server is told that they are
// not used, once.
func TestRemoteServersUnused(t *testing.T) {
	for _, with := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := drive.Start(t, &acp.Remote{Server: newScripted()}, drive.Setup{})
			req := schema.NewSessionRequest{Cwd: "/"}
			if with {
				req.MCPServers = []schema.MCPServer{{Stdio: &schema.MCPServerStdio{Name: "shop", Command: "shop"}}}
			}
			if err := d.Call(t.Context(), schema.MethodAgentSessionNew, req, nil); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if got := strings.Count(d.Text("c"), "The MCP servers of this editor are not used"); (got == 1) != with || got > 1 {
				t.Errorf("with servers %t: said %q", with, d.Text("c"))
			}
		})
	}
}
