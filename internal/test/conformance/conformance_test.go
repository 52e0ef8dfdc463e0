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

	"github.com/claude-agent-go/claude/internal/test/npm"
	"github.com/claude-agent-go/claude/internal/test/officialsdk"
)

// wantScenarios is how many there must be at least.
const wantScenarios = 25

// TestConformance runs the official TypeScript SDK against the scripted CLI.
func TestConformance(t *testing.T) {
	modules := npm.Need(t, officialsdk.Package())
	dir := t.TempDir()
	cli := filepath.Join(dir, "claudectl")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", cli, "github.com/claude-agent-go/claude/cmd/claudectl")
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
	t.Logf("%s %s, %d of %d scenarios:\n%s", officialsdk.Name, officialsdk.Version, passed, total, &table)
	if runErr != nil {
		t.Errorf("suite: %v\n%s", runErr, &stderr)
	}
	if total < wantScenarios {
		t.Errorf("%d scenarios, want at least %d", total, wantScenarios)
	}
}
