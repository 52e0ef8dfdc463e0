package egress_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/long"
)

// inNamespace is a program that runs the CLI in a network namespace of its own, in which
// there is nothing but a loopback interface and the forwarder to the proxy.
func inNamespace(t *testing.T, cli, address, socket string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(`#!/bin/sh
exec unshare --net --map-root-user sh -c '
ip link set lo up || exit 1
mkfifo %[1]s.ready.$$ || exit 1
%[2]s="%[3]s %[4]s" %[5]s > %[1]s.ready.$$ </dev/null &
read ready < %[1]s.ready.$$
exec %[6]s "$@"' sh "$@"
`, filepath.Join(t.TempDir(), "f"), forwardVariable, address, socket, self, cli)
	path := filepath.Join(t.TempDir(), "cli")
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// In a namespace without another way out, the CLI does its turns, and nothing goes past the
// proxy: neither to the API itself nor to any other address.
func TestRealNamespace(t *testing.T) {
	long.Test(t, "needs a network namespace")
	outside, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer outside.Close()
	reached := make(chan struct{}, 100)
	go func() {
		for {
			c, err := outside.Accept()
			if err != nil {
				return
			}
			reached <- struct{}{}
			c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(outside.Addr().String())
	try := fmt.Sprintf(`cat /proc/net/dev | grep -c : ; (exec 3<>/dev/tcp/127.0.0.1/%s) 2>/dev/null && echo WENT PAST; (exec 3<>/dev/tcp/1.1.1.1/443) 2>/dev/null && echo WENT OUT; echo tried`, port)
	r := realCLI(t, nil, claudetest.UseTool("Bash", map[string]string{"command": try}), claudetest.Say("done"))
	dir, err := os.MkdirTemp("", "e") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s")
	if _, err := r.proxy.Listen("unix", socket); err != nil {
		t.Fatal(err)
	}
	const inside = "127.0.0.1:8118"
	r.url = "http://" + inside
	r.with(r.grant(nil))
	r.opts.CLIPath = inNamespace(t, r.opts.CLIPath, inside, socket)
	result, err := claude.Ask(t.Context(), "try it", r.opts)
	if err != nil || result.Text != "done" {
		t.Fatalf("%+v, %v", result, err)
	}
	calls := r.model.Calls()
	results := calls[len(calls)-1].ToolResults
	if len(results) != 1 || !strings.HasSuffix(results[0].Text, "tried") || strings.Contains(results[0].Text, "WENT") {
		t.Errorf("the command says %+v", results)
	}
	if lines := strings.Split(results[0].Text, "\n"); lines[0] != "1" {
		t.Errorf("interfaces: %s", lines[0])
	}
	select {
	case <-reached:
		t.Error("a connection went past the proxy")
	default:
	}
	// The same address answers outside, so the attempt could have succeeded.
	c, err := net.Dial("tcp", outside.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	<-reached
	t.Logf("%d calls of the model, all by the socket", len(calls))
}
