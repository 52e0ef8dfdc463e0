package acp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/internal/acp/schema"
)

// TestLogin offers to sign in only to an editor with a terminal for it, with what
// it has to add to the command line.
func TestLogin(t *testing.T) {
	for _, test := range []struct {
		name         string
		login        []string
		capabilities string
		args, full   bool // offered, and with the whole command line
	}{
		{"terminal", []string{"--login"}, `{"auth":{"terminal":true}}`, true, false},
		{"by extension", []string{"--login"}, `{"_meta":{"terminal-auth":true}}`, true, true},
		{"no terminal", []string{"--login"}, `{}`, false, false},
		{"no login", nil, `{"auth":{"terminal":true}}`, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			local, _ := scripted(t)
			local.Login = test.login
			ours, theirs := net.Pipe()
			done := make(chan error, 1)
			go func() { done <- acp.Serve(t.Context(), theirs, local) }()
			fmt.Fprintf(ours, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":%s}}`+"\n", test.capabilities)
			var resp struct{ Result schema.InitializeResponse }
			if err := json.NewDecoder(ours).Decode(&resp); err != nil {
				t.Fatal(err)
			}
			ours.Close()
			<-done
			if got := len(resp.Result.AuthMethods); got != map[bool]int{true: 2}[test.args] {
				t.Fatalf("%d ways to sign in are offered", got)
			}
			for i, want := range []string{"--claudeai", "--console"} {
				if !test.args {
					break
				}
				m := resp.Result.AuthMethods[i].Terminal
				if m == nil || !slices.Equal(m.Args, []string{"--login", want}) {
					t.Fatalf("the method is %+v, want %s added", resp.Result.AuthMethods[i], want)
				}
				if _, full := m.Meta["terminal-auth"]; full != test.full {
					t.Errorf("the whole command line is told: %v, want %v", full, test.full)
				}
			}
		})
	}
}

// TestLogger logs what an editor does wrong, without what it sent.
func TestLogger(t *testing.T) {
	local, _ := scripted(t)
	ours, theirs := net.Pipe()
	var log bytes.Buffer
	done := make(chan error, 1)
	endpoint := &acp.Endpoint{Backend: local, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	go func() { done <- endpoint.Serve(t.Context(), theirs) }()
	fmt.Fprintln(ours, "the secret of a prompt")
	if _, err := io.ReadAtLeast(ours, make([]byte, 1000), 10); err != nil {
		t.Fatal(err)
	}
	ours.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if text := log.String(); !strings.Contains(text, "cannot be read") || strings.Contains(text, "secret") {
		t.Errorf("logged %q", text)
	}
}
