//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// The program as it stands, with the real CLI: a conversation continues after
// SIGTERM and a new start, and only its user can continue it.
func TestRealRestart(t *testing.T) {
	realcli.Needs(t, "2.1.299", "a hardened session")
	model := claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		return claudetest.Say(fmt.Sprintf("%s; knows of the cat: %t", c.Prompt, strings.Contains(string(c.Raw), "My cat is Mo.")))
	})
	url, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	env, home := realcli.Env(t, url)
	program, env := realcli.Program(t, env)
	env = append(env, "SERVICE_TOKENS=ada:a,bob:b")

	address, stop := startService(t, program, home, env)
	ada := client{t, address, "a"}
	id := ada.prompt("", "My cat is Mo.", "My cat is Mo.; knows of the cat: true")
	stop()

	address, stop = startService(t, program, home, env)
	defer stop()
	ada, bob := client{t, address, "a"}, client{t, address, "b"}
	ada.prompt(id, "Who?", "Who?; knows of the cat: true")
	if status, body := bob.do("POST", "/conversations/"+id, "Who?"); status != 404 {
		t.Errorf("Bob asks about Ada's cat: %d %s", status, body)
	}
	bob.prompt("", "Who?", "Who?; knows of the cat: false")
	for user, want := range map[client]bool{ada: true, bob: false} {
		if _, list := user.do("GET", "/conversations", ""); strings.Contains(list, "cat") != want {
			t.Errorf("the list of %s: %s", user.token, list)
		}
	}
}

// startService starts the program; stop ends it as a service manager does.
func startService(t *testing.T, program, dir string, env []string) (address string, stop func()) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, "-addr", "127.0.0.1:0", "-dir", filepath.Join(dir, "data"))
	cmd.Env, cmd.Dir = env, dir
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if _, found, ok := strings.Cut(lines.Text(), "listening on "); ok {
			address = "http://" + found
			break
		}
	}
	if address == "" {
		t.Fatalf("the service does not listen: %v", cmd.Wait())
	}
	said := make(chan []string, 1)
	go func() {
		var more []string
		for lines.Scan() {
			more = append(more, lines.Text())
		}
		said <- more
	}()
	return address, func() {
		t.Helper()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		more := <-said
		if err := cmd.Wait(); err != nil {
			t.Errorf("after SIGTERM: %v\n%s", err, strings.Join(more, "\n"))
		}
	}
}
