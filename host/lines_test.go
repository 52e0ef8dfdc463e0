package host_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/host"
)

// A request without an id is served, one without a request ends the session.
func TestRequestsThatLackSomething(t *testing.T) {
	agent := host.AgentFunc(func(ctx context.Context, t *host.Turn) error { return t.Say(ctx, "hi") })
	bubble(t, agent, nil, func(c *client) {
		c.send(`{"type":"control_request","request":{"subtype":"get_binary_version"}}`)
		c.send(`{"type":"control_request","request":{"subtype":"nonsense"}}`)
		c.request("r", "get_binary_version", "")
		c.want(`=  {"version":"2.1.325"}`, "!  Unsupported control request subtype: nonsense", `= r {"version":"2.1.325"}`)
		c.prompt("x", "")
		if out := c.settle(); !strings.Contains(out, "result success") {
			t.Errorf("host wrote:\n%s", out)
		}
	})
	for _, line := range []string{`{"type":"control_request","request_id":"x"}`, `{"type":"control_request"}`} {
		bubble(t, agent, nil, func(c *client) {
			c.send("%s", line)
			c.settle()
			<-c.done
			if !errors.Is(c.err, host.ErrLine) {
				t.Errorf("%s: Serve = %v, want ErrLine", line, c.err)
			}
		})
	}
}

// An operation that panics, or ends its goroutine, is an error of that request,
// with an id or without one.
func TestOperationThatBreaks(t *testing.T) {
	agent := host.AgentFunc(func(ctx context.Context, t *host.Turn) error { return t.Say(ctx, "hi") })
	opts := &host.Options{Operations: map[string]host.Operation{
		"panics": func(context.Context, []byte) (any, error) { panic("boom") },
		"exits":  func(context.Context, []byte) (any, error) { runtime.Goexit(); return nil, nil },
	}}
	bubble(t, agent, opts, func(c *client) {
		c.send(`{"type":"control_request","request":{"subtype":"panics"}}`)
		c.send(`{"type":"control_request","request":{"subtype":"exits"}}`)
		c.want("!  the handler panicked", "!  the handler gave no answer")
		c.request("a", "panics", "")
		c.want("! a the handler panicked")
		c.request("b", "exits", "")
		c.want("! b the handler gave no answer")
		c.prompt("x", "")
		if out := c.settle(); !strings.Contains(out, "result success") {
			t.Errorf("host wrote:\n%s", out)
		}
	})
}

func TestParseArgsInAnyForm(t *testing.T) {
	const stream = "--output-format=stream-json"
	server := func(name string) string { return `{"mcpServers":{"` + name + `":{"type":"sdk"}}}` }
	tests := []struct {
		args    []string
		allow   []string
		servers []string
		err     string
	}{
		{args: []string{stream, "--bogus"}, err: "error: unknown option '--bogus'"},
		{args: []string{stream, "--bogus", "--verbose"}, err: "error: unknown option '--bogus'"},
		{args: []string{stream, "--bogus=1"}, err: "error: unknown option '--bogus'"},
		{args: []string{stream, "--model"}, err: "error: option '--model' argument missing"},
		{args: []string{stream, "--allowedTools"}, err: "error: option '--allowedTools' argument missing"},
		{args: []string{stream, "--", "--bogus"}},
		{args: []string{stream, "-c", "--resume", "--verbose", "-r"}},
		{args: []string{stream, "--allowedTools", "Read", "Bash(git status)", "--verbose", "prompt"}, allow: []string{"Read", "Bash(git status)"}},
		{args: []string{stream, "--allowedTools=Read,Write", "prompt"}, allow: []string{"Read", "Write"}},
		{args: []string{stream, "--mcp-config=" + server("a"), "--mcp-config", server("b"), server("c")}, servers: []string{"a", "b", "c"}},
	}
	for _, tt := range tests {
		o, err := host.ParseArgs(tt.args, nil)
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%q: error %v, want %s", tt.args, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", tt.args, err)
			continue
		}
		if !slices.Equal(o.Allow, tt.allow) || !slices.Equal(o.SDKServers, tt.servers) {
			t.Errorf("%q: allow %q, servers %q, want %q and %q", tt.args, o.Allow, o.SDKServers, tt.allow, tt.servers)
		}
	}
}
