//go:build unix

package sandbox

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
)

// The client that leads to a CLI elsewhere inherits no credential, under whatever name, but
// what was passed on purpose and what names a file.
func TestClientsInheritNoCredential(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	program, agent, seen := path("client"), path("agent"), path("seen")
	for name, text := range map[string]string{agent: "", program: fmt.Sprintf("#!/bin/sh\nenv >> %q\nexit 1\n", seen)} {
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{
		"ANTHROPIC_API_KEY": "key-of-the-account", "BACKUP_OF_IT": "x key-of-the-account x", "COPY_OF_OURS": "token-of-the-launch",
		"GITHUB_TOKEN": "not-for-a-client", "AWS_SECRET_ACCESS_KEY": "needed-to-sign-in", "SIGNED_BY": "needed-to-sign-in", "EMPTY_TOKEN": "",
		"SSH_AUTH_SOCK": agent, "KUBECONFIG": "/etc/kube", "GONE_TOKEN": "/nowhere",
	} {
		t.Setenv(name, value)
	}
	l := &claude.Launch{Path: "claude", Dir: dir, Logger: slog.New(slog.DiscardHandler), Env: []string{"CLAUDE_CODE_OAUTH_TOKEN=token-of-the-launch"}}
	needed := []string{"AWS_SECRET_ACCESS_KEY"}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, form := range map[string]claude.Transport{
		"ssh":       &SSH{Host: "h", Program: program, ClientEnv: needed},
		"kubectl":   &Kubectl{Pod: "p", Program: program, ClientEnv: needed},
		"container": &Container{Image: "i", Network: "host", Program: program, Helper: self, CLI: "/claude", ClientEnv: needed},
	} {
		if err := os.WriteFile(seen, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		conn, started := form.Start(t.Context(), l)
		if started == nil {
			_ = conn.Wait() // that of a program that fails
			_ = conn.Stop()
		}
		text, err := os.ReadFile(seen)
		if err != nil {
			t.Fatal(err)
		}
		env := strings.Split(string(text), "\n")
		for _, entry := range []string{"SSH_AUTH_SOCK=" + agent, "KUBECONFIG=/etc/kube", "AWS_SECRET_ACCESS_KEY=needed-to-sign-in", "SIGNED_BY=needed-to-sign-in"} {
			if !slices.Contains(env, entry) {
				t.Errorf("%s has no %s: %v", name, entry, started)
			}
		}
		for _, hidden := range []string{"key-of-the-account", "token-of-the-launch", "not-for-a-client", "GONE_TOKEN"} {
			if strings.Contains(string(text), hidden) {
				t.Errorf("%s inherits %s", name, hidden)
			}
		}
	}
}
