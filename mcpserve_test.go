package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/harness"
)

// watchedServer is an MCP server that looks at its contexts when it is closed.
type watchedServer struct {
	opened context.Context
	push   func(context.Context, json.RawMessage) error
	called chan context.Context
	closed chan [2]error // of the connection, of the call
}

func newWatchedServer() *watchedServer {
	return &watchedServer{called: make(chan context.Context, 1), closed: make(chan [2]error, 1)}
}

func (*watchedServer) MCPType() string { return "sdk" }

func (s *watchedServer) OpenMCP(ctx context.Context, _ string, push func(context.Context, json.RawMessage) error) (claude.MCPConn, error) {
	s.opened, s.push = ctx, push
	return s, nil
}

func (s *watchedServer) Handle(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
	s.called <- ctx
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func (s *watchedServer) Close() error {
	s.closed <- [2]error{s.opened.Err(), (<-s.called).Err()}
	return nil
}

// When a connection is closed its contexts have ended, also that of a server
// that is taken out of a session that goes on.
func TestMCPCloseAfterContexts(t *testing.T) {
	for _, how := range []string{"removed", "replaced", "session"} {
		t.Run(how, func(t *testing.T) {
			play := func(c *cli) {
				c.greet()
				c.say("%s", mcpRequest("u-1", "x", `{"jsonrpc":"2.0","id":2,"method":"tools/call"}`))
				for {
					f, ok := c.hear()
					if !ok {
						return
					}
					if r, err := f.Request(); err == nil && r.Subtype == "mcp_set_servers" {
						c.succeed(r, `{"added":[],"removed":[],"errors":{}}`)
					}
				}
			}
			bubble(t, play, func(t *testing.T, o *claude.Options) {
				server := newWatchedServer()
				o.MCPServers = claude.MCPServers{"x": server}
				s := connect(t, o)
				synctest.Wait()
				switch how {
				case "removed":
					if _, err := s.SetMCPServers(t.Context(), nil); err != nil {
						t.Error(err)
					}
				case "replaced":
					if _, err := s.SetMCPServers(t.Context(), claude.MCPServers{"x": harness.Clock()}); err != nil {
						t.Error(err)
					}
				case "session":
					finish(t, s)
				}
				select {
				case got := <-server.closed:
					if got[0] == nil || got[1] == nil {
						t.Errorf("at Close the context of the connection: %v, of the call: %v; both must have ended", got[0], got[1])
					}
				default:
					t.Error("the server was not closed")
				}
				if err := server.push(t.Context(), json.RawMessage(`{}`)); err == nil {
					t.Error("a server that has gone has pushed")
				}
				finish(t, s)
			})
		})
	}
}

// A push whose context ends while the CLI does not read returns.
func TestMCPPushEndsWithItsContext(t *testing.T) {
	var read chan struct{}
	play := func(c *cli) {
		c.greet()
		c.say("%s", mcpRequest("u-1", "x", `{"jsonrpc":"2.0","id":2,"method":"initialize"}`))
		c.hear()
		<-read
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		read = make(chan struct{})
		server := &harness.MCPServer{Answer: func(_ context.Context, _ string, m json.RawMessage) (json.RawMessage, error) {
			return harness.AnswerTo(m, `{}`), nil
		}}
		o.MCPServers = claude.MCPServers{"x": server}
		s := connect(t, o)
		synctest.Wait()
		ctx, cancel := context.WithCancelCause(t.Context())
		pushed := make(chan error, 1)
		go func() { pushed <- server.Push(ctx, json.RawMessage(`{"jsonrpc":"2.0","method":"notifications/x"}`)) }()
		synctest.Wait()
		reason := errors.New("no longer of use")
		cancel(reason)
		synctest.Wait()
		select {
		case err := <-pushed:
			if !errors.Is(err, reason) {
				t.Errorf("got %v, want %v", err, reason)
			}
		default:
			t.Error("the push still waits")
		}
		close(read)
		synctest.Wait()
		finish(t, s)
	})
}
