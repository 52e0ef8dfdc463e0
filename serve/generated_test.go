package serve_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/internal/test/npm"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// What reads the OpenAPI document in tests.
var (
	redocly      = npm.Package{Name: "@redocly/cli", Version: "2.77.0", Has: "bin/cli.js"}
	typeWriter   = npm.Package{Name: "openapi-typescript", Version: "7.13.0", Has: "bin/cli.js"}
	typedFetch   = npm.Package{Name: "openapi-fetch", Version: "0.17.0", Has: "dist/index.mjs"}
	goGenerator  = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2"
	goRuntime    = "github.com/oapi-codegen/runtime@v1.8.0"
	wholeRound   = "allowed /problems/already-decided\nanswered\n"
	documentFile = "testdata/openapi.json"
)

// outputOf runs a program in a folder and returns what it prints.
func outputOf(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, append(os.Environ(), env...), time.Second
	var noise strings.Builder
	cmd.Stderr = &noise
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, noise.String())
	}
	return string(out)
}

// copyTo copies a file to a folder, under a name there.
func copyTo(t *testing.T, dir, name, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// The document breaks none of the rules that Redocly recommends.
func TestOpenAPILint(t *testing.T) {
	t.Parallel()
	modules := npm.Need(t, redocly)
	dir := t.TempDir()
	copyTo(t, dir, "openapi.json", documentFile)
	outputOf(t, dir, []string{"REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true"}, "node", redocly.Path(modules, redocly.Has), "lint", "--max-problems=1000", "--format=stylish", "openapi.json")
}

// The client that oapi-codegen makes of the document begins a conversation, follows it
// and decides.
func TestGeneratedGoClient(t *testing.T) {
	t.Parallel()
	long.Test(t, "needs oapi-codegen")
	dir := t.TempDir()
	copyTo(t, dir, "openapi.json", documentFile)
	copyTo(t, dir, "main.go", "testdata/roundtrip.go.txt")
	outside := []string{"GOFLAGS=-mod=mod", "GOWORK=off"}
	outputOf(t, dir, outside, "go", "mod", "init", "roundtrip")
	outputOf(t, dir, outside, "go", "run", goGenerator, "-generate", "types,client", "-package", "main", "-o", "client.go", "openapi.json")
	outputOf(t, dir, outside, "go", "get", goRuntime)
	outputOf(t, dir, outside, "go", "build", "-o", "round", ".")
	r := newRig(t, store.Memory(), nil)
	if got := outputOf(t, dir, nil, "./round", r.http.URL, r.token("ada", api.RoleOperator)); got != wholeRound {
		t.Errorf("the client printed %q, want %q", got, wholeRound)
	}
}

// A client with the types that openapi-typescript makes of the document compiles, and
// begins a conversation, follows it and decides.
func TestGeneratedTypeScriptClient(t *testing.T) {
	t.Parallel()
	writer, fetch := npm.Need(t, typeWriter), npm.Need(t, typedFetch)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "node_modules"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(typedFetch.Path(fetch, ""), filepath.Join(dir, "node_modules", typedFetch.Name)); err != nil {
		t.Fatal(err)
	}
	copyTo(t, dir, "openapi.json", documentFile)
	copyTo(t, dir, "roundtrip.mts", "testdata/roundtrip.mts")
	outputOf(t, dir, nil, "node", typeWriter.Path(writer, typeWriter.Has), "openapi.json", "-o", "api.ts")
	outputOf(t, dir, nil, "node", filepath.Join(writer, "node_modules", "typescript", "bin", "tsc"), "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom,dom.asynciterable", "--skipLibCheck", "roundtrip.mts")
	r := newRig(t, store.Memory(), nil)
	if got := outputOf(t, dir, nil, "node", "roundtrip.mjs", r.http.URL, r.token("ada", api.RoleOperator)); got != wholeRound {
		t.Errorf("the client printed %q, want %q", got, wholeRound)
	}
}
