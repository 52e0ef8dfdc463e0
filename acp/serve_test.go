package acp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
)

// scripted is an agent whose CLI plays a script, without a process.
func scripted(t *testing.T, replies ...claudetest.Reply) (*acp.Local, *claudetest.CLI) {
	t.Helper()
	cli := claudetest.New(replies...)
	return &acp.Local{Options: &claude.Options{Transport: cli, Env: []string{"HOME=" + t.TempDir()}}}, cli
}

// TestRawFaults sends what no editor should, line by line.
func TestRawFaults(t *testing.T) {
	const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`
	for _, test := range []struct {
		name  string
		lines []string // the last one is answered with want
		want  string
	}{
		{"before initialize", []string{`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`}, "send initialize before session/new"},
		{"no version", []string{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`}, "needs a protocolVersion"},
		{"later version", []string{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":2,"info":{}}}`}, `"protocolVersion":1`},
		{"odd capabilities", []string{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"session":true}}}`}, `"protocolVersion":1`},
		{"twice", []string{hello, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`}, "initialized already"},
		{"garbage", []string{"garbage"}, "-32700"},
		{"unknown method", []string{hello, `{"jsonrpc":"2.0","id":1,"method":"session/set_model","params":{}}`}, `-32601`},
		{"extension", []string{hello, `{"jsonrpc":"2.0","id":1,"method":"_x/y"}`}, `-32601`},
		{"no such session", []string{hello, `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"nope","prompt":[]}}`}, `-32002`},
		{"relative cwd", []string{hello, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"rel","mcpServers":[]}}`}, "must be an absolute path"},
		{"relative folder", []string{hello, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","additionalDirectories":["/a","rel"],"mcpServers":[]}}`}, `"additionalDirectories":"rel"`},
		{"relative folder to resume with", []string{hello, `{"jsonrpc":"2.0","id":1,"method":"session/resume","params":{"sessionId":"00000000-0000-4000-8000-000000000000","cwd":"/","additionalDirectories":["rel"],"mcpServers":[]}}`}, "must be absolute paths"},
		{"params of a kind", []string{hello, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":5,"mcpServers":[]}}`}, "-32602"},
		{"params are a list", []string{hello, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":[1]}`}, "-32602"},
		{"close unknown", []string{hello, `{"jsonrpc":"2.0","id":1,"method":"session/close","params":{"sessionId":"x"}}`}, "-32002"},
		{"load unknown", []string{hello, `{"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":"00000000-0000-4000-8000-000000000000","cwd":"/","mcpServers":[]}}`}, "-32002"},
		{"load no id", []string{hello, `{"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":"../../etc","cwd":"/","mcpServers":[]}}`}, "-32002"},
		{"cancel unknown", []string{hello, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"x"}}`, `{"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}`}, `"sessions":[]`},
		{"pigeon", []string{hello, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[{"type":"pigeon","name":"p"}]}}`}, "unknown kind"},
		{"cursor", []string{hello, `{"jsonrpc":"2.0","id":1,"method":"session/list","params":{"cursor":"-5"}}`}, "cursor"},
		{"logout", []string{hello, `{"jsonrpc":"2.0","id":1,"method":"logout","params":{}}`}, "claude auth logout"},
		{"authenticate", []string{hello, `{"jsonrpc":"2.0","id":1,"method":"authenticate","params":{"methodId":"nope"}}`}, "in a terminal"},
	} {
		t.Run(test.name, func(t *testing.T) {
			local, _ := scripted(t)
			ours, theirs := net.Pipe()
			done := make(chan error, 1)
			go func() { done <- acp.Serve(t.Context(), theirs, local) }()
			lines := bufio.NewScanner(ours)
			answer := ""
			for _, line := range test.lines {
				fmt.Fprintln(ours, line)
				if strings.Contains(line, `"id"`) || line == "garbage" {
					if !lines.Scan() {
						t.Fatalf("the connection ended after %s", line)
					}
					answer = lines.Text()
				}
			}
			if !strings.Contains(answer, test.want) {
				t.Errorf("answer %s, want %s in it", answer, test.want)
			}
			ours.Close()
			if err := <-done; err != nil {
				t.Errorf("Serve: %v", err)
			}
		})
	}
}

// TestTurn runs a turn with a permission, without a process.
func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		local, cli := scripted(t, claudetest.UseTool("Bash", map[string]string{"command": "make"}), claudetest.Say("It builds."))
		d := drive.Start(t, local, drive.Setup{Permission: func(_ context.Context, req *schema.RequestPermissionRequest) schema.PermissionOptionID {
			return req.Options[0].OptionID
		}})
		id := d.New(t, "/")
		resp, err := d.Prompt(t.Context(), id, "Build it.")
		if err != nil || resp.StopReason != schema.StopReasonEndTurn || !strings.HasSuffix(d.Text(id), "It builds.") {
			t.Errorf("%+v, %v, %q", resp, err, d.Text(id))
		}
		cli.Recording().WantRan(t, "Bash")
	})
}

// TestGone closes the connection in the middle of a turn: Serve returns, and
// the CLI has ended.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		local, _ := scripted(t, claudetest.UseTool("Bash", map[string]string{"command": "make"}), claudetest.Say("never"))
		asked := make(chan struct{})
		d := drive.Start(t, local, drive.Setup{Permission: func(ctx context.Context, _ *schema.RequestPermissionRequest) schema.PermissionOptionID {
			close(asked)
			<-ctx.Done()
			return ""
		}})
		id := d.New(t, "/")
		failed := make(chan error, 1)
		go func() {
			_, err := d.Prompt(context.Background(), id, "Build it.")
			failed <- err
		}()
		<-asked
		d.Close()
		if err := <-failed; err == nil {
			t.Error("a prompt without a connection succeeded")
		}
	}) // the bubble ends only when nothing runs any more
}

// agent is a back-end of a few lines, without a CLI.
type agent struct {
	acp.Contract
	prompted chan struct{} // gets one for each prompt; nil: none

	mu     sync.Mutex
	opened int
	closed int
}

func (a *agent) Initialize(context.Context, *acp.Editor) (*schema.InitializeResponse, error) {
	return &schema.InitializeResponse{}, nil
}

func (a *agent) Extensions() acp.Extensions { return acp.Extensions{} }

func (a *agent) New(context.Context, *acp.Editor, *schema.NewSessionRequest) (acp.AgentSession, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.opened++
	return &session{agent: a, id: schema.SessionID(fmt.Sprint(a.opened))}, nil
}

type session struct {
	acp.AgentSession
	agent *agent
	id    schema.SessionID
}

func (s *session) ID() schema.SessionID                 { return s.id }
func (s *session) Modes() *schema.SessionModeState      { return nil }
func (s *session) Config() []schema.SessionConfigOption { return nil }
func (s *session) Opened(context.Context)               {}
func (s *session) Close() error {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	s.agent.closed++
	return nil
}
func (s *session) Prompt(ctx context.Context, _ *schema.PromptRequest) (*schema.PromptResponse, error) {
	if s.agent.prompted != nil {
		s.agent.prompted <- struct{}{}
	}
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// TestManyVanish lets 500 editors begin a session, prompt and vanish.
func TestManyVanish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := new(agent)
		var all sync.WaitGroup
		for range 500 {
			all.Go(func() {
				d := drive.Start(t, acp.Custom(a), drive.Setup{})
				id := d.New(t, "/")
				go d.Prompt(context.Background(), id, "Go.")
				d.Close()
			})
		}
		all.Wait()
		synctest.Wait()
		if a.opened != 500 || a.closed != 500 {
			t.Errorf("%d sessions opened, %d closed, want 500 of both", a.opened, a.closed)
		}
	})
}

// TestLimitOfSessions refuses one more than a connection may have.
func TestLimitOfSessions(t *testing.T) {
	d := drive.Start(t, acp.Custom(new(agent)), drive.Setup{})
	for range 64 {
		d.New(t, "/")
	}
	err := d.Call(t.Context(), schema.MethodAgentSessionNew, schema.NewSessionRequest{Cwd: "/"}, nil)
	if e, ok := errors.AsType[*schema.Error](err); !ok || !strings.Contains(e.Message, "session/close") {
		t.Errorf("one more: %v, want it refused", err)
	}
	if err := d.Call(t.Context(), schema.MethodAgentSessionClose, map[string]any{"sessionId": "1"}, nil); err != nil {
		t.Error(err)
	}
	d.New(t, "/")
}

// TestPromptCancelled answers a prompt whose work ends with its context as a
// cancelled one, and refuses a second one until then.
func TestPromptCancelled(t *testing.T) {
	a := &agent{prompted: make(chan struct{}, 1)}
	d := drive.Start(t, acp.Custom(a), drive.Setup{})
	id := d.New(t, "/")
	done := make(chan schema.StopReason, 1)
	go func() {
		resp, err := d.Prompt(t.Context(), id, "Go.")
		if err != nil {
			t.Errorf("prompt: %v", err)
		}
		done <- resp.StopReason
	}()
	<-a.prompted
	if _, err := d.Prompt(t.Context(), id, "Two."); err == nil || !strings.Contains(err.Error(), "session/cancel") {
		t.Errorf("a second prompt: %v, want it refused", err)
	}
	d.Cancel(t.Context(), id)
	if got := <-done; got != schema.StopReasonCancelled {
		t.Errorf("ended %s, want cancelled", got)
	}
}
