//go:build unix

package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// reportBound is how long a program may take to be started and to report.
const reportBound = 30 * time.Second

// EnvReporter is a CLI that reports the environment of its first start, and ends.
type EnvReporter struct {
	// Path is the program.
	Path   string
	report chan []string
}

// NewEnvReporter returns such a CLI.
func NewEnvReporter(t TB) *EnvReporter {
	t.Helper()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "report")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatalf("%v", err)
	}
	r := &EnvReporter{
		Path:   Script(t, "reporter", fmt.Sprintf("mkdir %q 2>/dev/null && env >%q\nexit 1\n", filepath.Join(dir, "first"), pipe)),
		report: make(chan []string, 1),
	}
	go func() {
		text, err := os.ReadFile(pipe)
		if err != nil {
			text = []byte(err.Error())
		}
		r.report <- strings.Split(string(text), "\n")
	}()
	return r
}

// Inherited fails the test unless the CLI was started with the entry that marks
// its environment as inherited, and without everything in [KeptBack].
func (r *EnvReporter) Inherited(t TB, entry string) {
	t.Helper()
	select {
	case env := <-r.report:
		if !slices.Contains(env, entry) {
			t.Fatalf("the CLI was started without %s: %q", entry, env)
		}
		for _, name := range KeptBack() {
			if slices.ContainsFunc(env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") }) {
				t.Errorf("the CLI was started with %s", name)
			}
		}
	case <-time.After(reportBound):
		t.Fatalf("the CLI was not started within %v", reportBound)
	}
}
