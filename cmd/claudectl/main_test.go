package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/docs"
	"github.com/claude-agent-go/claude/internal/test/long"
)

// asProgram makes the test binary the program itself, where the program starts
// itself.
const asProgram = "CLAUDECTL_TEST_PROGRAM"

// programName is the name of the program. The test binary has another one.
const programName = "claudectl"

func TestMain(m *testing.M) {
	if name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"); name == programName || os.Getenv(asProgram) != "" {
		main()
	}
	dir, err := os.MkdirTemp("", "claudectl-test-")
	if err != nil {
		panic(err)
	}
	program = sync.OnceValues(func() (string, error) {
		path := filepath.Join(dir, programName+".exe")
		if self, err := os.Executable(); err == nil && !long.Enabled() && os.Link(self, path) == nil {
			return path, nil
		}
		out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("go build: %w\n%s", err, out)
		}
		return path, nil
	})
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// program makes the program, once. On the long level it is the one that users have,
// which starts faster than a test binary with the race detector. On the quick level it
// is the test binary under the program's name: linking another one costs more than all
// that starts it.
var program func() (path string, err error)

// built returns the path of the program.
func built(t *testing.T) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// outcome is the result of a run of the program.
type outcome struct {
	code           int
	stdout, stderr string
}

// invoke runs the program in this process, with nothing of its environment.
func invoke(t *testing.T, stdin string, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env := []string{"PATH=/bin:/usr/bin", "HOME=" + t.TempDir(), "A_TOKEN=the-secret-of-tests", asProgram + "=1"}
	code := run(t.Context(), args, strings.NewReader(stdin), &stdout, &stderr, env)
	return outcome{code, stdout.String(), stderr.String()}
}

// Without a command there is help: commands first, exit codes last.
func TestHelp(t *testing.T) {
	got := invoke(t, "", "--help")
	if bare := invoke(t, ""); bare != got {
		t.Errorf("without a command: %+v, want what --help shows", bare)
	}
	order := []string{"Commands:\n  demo ", "Flags:\n", "Exit codes:\n"}
	for i, part := range order[1:] {
		before, after := strings.Index(got.stdout, order[i]), strings.Index(got.stdout, part)
		if before < 0 || after < before {
			t.Errorf("the help is\n%s\nwant %q before %q", got.stdout, order[i], part)
		}
	}
	if got.code != 0 || got.stderr != "" {
		t.Errorf("exit code %d, stderr %q, want 0 and nothing", got.code, got.stderr)
	}
	for _, e := range exitCodes {
		if !strings.Contains(got.stdout, e.mean) {
			t.Errorf("the help does not explain exit code %d (%s)", e.code, e.mean)
		}
	}
}

// TestVersion asks for the version in both ways.
func TestVersion(t *testing.T) {
	want := "claudectl " + claude.Version
	if got := invoke(t, "", "--version"); got.code != 0 || got.stdout != want+"\n" || got.stderr != "" {
		t.Errorf("--version: %+v, want %q", got, want)
	}
	if got := invoke(t, "", "versions"); got.code != 0 || !strings.HasPrefix(got.stdout, want+",") {
		t.Errorf("versions: exit code %d and %.60q, want it to begin with %q", got.code, got.stdout, want)
	}
}

// TestStart wants an imperceptible start: 50 ms on a quiet machine. The bound is
// generous, and the fastest counts: tests that run beside this one can only make
// it slower.
func TestStart(t *testing.T) {
	const bound = 250 * time.Millisecond
	path := built(t)
	var took []time.Duration
	for range long.Pick(3, 15) {
		cmd := exec.CommandContext(t.Context(), path, "versions")
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		took = append(took, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	t.Logf("it took %v", took)
	if fastest := slices.Min(took); fastest > bound {
		t.Errorf("it takes %v of CPU to start, want %v at most", fastest, bound)
	}
}

// The exit codes stand in the documentation as they are.
func TestExitCodesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/claudectl.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[exitCode]bool)
	for _, e := range exitCodes {
		if row := fmt.Sprintf("| %d | %s |", e.code, e.mean); !strings.Contains(string(page), row) {
			t.Errorf("docs/claudectl.md has no row %q", row)
		}
		if seen[e.code] {
			t.Errorf("exit code %d is there twice", e.code)
		}
		seen[e.code] = true
	}
}

func TestParity(t *testing.T) {
	all := invoke(t, "", "parity")
	some := invoke(t, "", "parity", "--missing")
	if !strings.Contains(all.stdout, "Options.Model") || !strings.Contains(all.stdout, "hook.PreToolUse") {
		t.Errorf("parity shows %q, want options and hooks", all.stdout)
	}
	if strings.Contains(some.stdout, "Options.Model") || !strings.Contains(some.stdout, "abortController") {
		t.Errorf("parity --missing shows %q, want only what is not offered", some.stdout)
	}
	var tables struct{ Tables []table }
	decode(t, invoke(t, "", "parity", "--json"), &tables)
	if want := strings.Count(docs.Parity, "\n## "); len(tables.Tables) != want {
		t.Errorf("%d tables, want %d: one under each heading of the page", len(tables.Tables), want)
	}
	for _, tab := range tables.Tables {
		for _, row := range tab.Rows {
			if len(row) != len(tab.Names) {
				t.Errorf("%s: row %q has %d cells, want %d", tab.Title, row, len(row), len(tab.Names))
			}
		}
	}
}

func TestVersions(t *testing.T) {
	var about struct {
		Tested string `json:"tested_with"`
		Tables []table
	}
	decode(t, invoke(t, "", "versions", "--json"), &about)
	if want := strings.Count(docs.Compatibility, "\n## "); about.Tested != claudetest.Version || len(about.Tables) != want {
		t.Fatalf("tested with %q and %d tables, want %q and %d", about.Tested, len(about.Tables), claudetest.Version, want)
	}
	names := about.Tables[0].Names
	if names[len(names)-1] != claudetest.Version {
		t.Errorf("the last column is %q, want the version that is tested with, %q", names[len(names)-1], claudetest.Version)
	}
	if text := invoke(t, "", "versions").stdout; !strings.Contains(text, "tested with version "+claudetest.Version) {
		t.Errorf("versions shows %q", text)
	}
}

func decode(t *testing.T, got outcome, v any) {
	t.Helper()
	if got.code != 0 {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	if err := json.Unmarshal([]byte(got.stdout), v); err != nil {
		t.Fatalf("%v in %q", err, got.stdout)
	}
}
