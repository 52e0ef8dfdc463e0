package conformance_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// sdkVersion is the client that the scripted CLI is held against.
const sdkVersion = "0.3.325"

const sdkPackage = "@anthropic-ai/claude-agent-sdk"

// wantScenarios is how many there must be at least.
const wantScenarios = 25

// TestConformance runs the official TypeScript SDK against the scripted CLI.
func TestConformance(t *testing.T) {
	modules := needSDK(t)
	dir := t.TempDir()
	cli := filepath.Join(dir, "fakecli")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", cli, "github.com/claude-agent-go/claude/internal/fakecli")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "suite.mjs", modules, cli)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	runErr := cmd.Run()

	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	passed, total := 0, 0
	lines := bufio.NewScanner(&stdout)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var s struct {
			Name, Error string
			OK          bool
			MS          int
		}
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Errorf("line %q: %v", lines.Text(), err)
			continue
		}
		total++
		verdict := "ok"
		if s.OK {
			passed++
		} else {
			verdict = "FAILED"
			t.Errorf("%s: %s", s.Name, s.Error)
		}
		fmt.Fprintf(w, "%s\t%s\t%d ms\n", verdict, s.Name, s.MS)
	}
	w.Flush()
	t.Logf("%s %s, %d of %d scenarios:\n%s", sdkPackage, sdkVersion, passed, total, &table)
	if runErr != nil {
		t.Errorf("suite: %v\n%s", runErr, &stderr)
	}
	if total < wantScenarios {
		t.Errorf("%d scenarios, want at least %d", total, wantScenarios)
	}
}

// needSDK returns the folder whose node_modules hold the SDK. Without CI=true
// the test is skipped when it is not installed.
func needSDK(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(root, ".cache", "claude-agent-sdk")
	dir := filepath.Join(cache, sdkVersion)
	if _, err := os.Stat(filepath.Join(dir, "node_modules", sdkPackage, "sdk.mjs")); err == nil {
		return dir
	}
	if os.Getenv("CI") != "true" {
		t.Skipf("needs %s: CI=true go test -v -run TestConformance ./conformance", sdkPackage)
	}
	install(t, cache, dir)
	return dir
}

// install fetches the SDK by name and version. It appears in its folder by one
// rename, so that a folder that exists is complete.
func install(t *testing.T, cache, dir string) {
	t.Helper()
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cache, ".gitignore"), []byte("*\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	tmp, err := os.MkdirTemp(cache, sdkVersion+".tmp-*")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	// The optional packages hold the CLI itself, which is not needed here.
	npm := exec.CommandContext(t.Context(), "npm", "install", "--prefix", tmp, "--no-save", "--ignore-scripts",
		"--no-audit", "--no-fund", "--omit=optional", sdkPackage+"@"+sdkVersion)
	npm.Dir = tmp
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("npm install: %v\n%s", err, out)
	}
	if err := os.Rename(tmp, dir); err != nil {
		if _, gone := os.Stat(dir); gone != nil { // another process may have been faster
			t.Fatal(err)
		}
	}
}
