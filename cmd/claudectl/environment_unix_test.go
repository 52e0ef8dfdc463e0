//go:build unix

package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/harness"
)

// Every command that starts a CLI hands its environment on without what loads
// code into the CLI.
func TestEnvironmentOfCLI(t *testing.T) {
	env := []string{"PATH=/bin:/usr/bin", "HOME=" + t.TempDir(), "OF_CLAUDECTL=1"}
	for _, name := range harness.KeptBack() {
		env = append(env, name+"=/of/claudectl")
	}
	for name, args := range map[string][]string{
		"run":           {"run", "hello"},
		"run with otel": {"run", "--otel", "http://127.0.0.1:4318", "hello"},
		"doctor":        {"doctor"},
		"demo":          {"demo"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cli := harness.NewEnvReporter(t)
			args := append([]string{args[0], "--cli", cli.Path}, args[1:]...)
			if code := run(t.Context(), args, strings.NewReader(""), io.Discard, io.Discard, env); code == 0 {
				t.Error("a CLI that ends at once is a success")
			}
			cli.Inherited(t, "OF_CLAUDECTL=1")
		})
	}
}

func TestEnvironmentOfServedCLI(t *testing.T) {
	for _, name := range harness.KeptBack() {
		t.Setenv(name, "/of/claudectl")
	}
	t.Setenv("OF_CLAUDECTL", "1")
	cli, dir := harness.NewEnvReporter(t), t.TempDir()
	presets := filepath.Join(dir, "presets.json")
	write(t, presets, `{"presets":[{"name":"a","roots":["`+dir+`"]}]}`, os.FileMode(0o600))
	client, base := startServe(t, "--listen", "127.0.0.1:0", "--store", filepath.Join(dir, "store"), "--presets", presets, "--cli", cli.Path)
	res, err := client.Post(base+"/v1/conversations", "application/json", strings.NewReader(`{"preset":"a","content":"hello"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusCreated {
		body, _ := io.ReadAll(res.Body)
		t.Fatalf("%s: %s", res.Status, body)
	}
	cli.Inherited(t, "OF_CLAUDECTL=1")
}
