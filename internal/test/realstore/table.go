package realstore

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/npm"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/store"
)

// versionsVariable is the environment variable that makes the tests try every
// pinned version of the CLI, and write the outcome to docs/compatibility.md.
const versionsVariable = "STORE_VERSIONS"

// Section is the title of the table of stores in docs/compatibility.md.
const Section = "## Sessions that continue from a store"

// record tries the versions that the test does not run with, and writes the row of
// the store.
func record(t *testing.T, name string, s store.Sessions, tested error) {
	var row []string
	for _, version := range realcli.Pinned() {
		err := tested
		if version != realcli.Tested() {
			t.Run(version, func(t *testing.T) { err = resume(t, version, s) })
		}
		verdict := "yes"
		if err != nil {
			verdict = "-"
			t.Logf("%s: %v", version, err)
		}
		row = append(row, verdict)
	}
	root, err := npm.Root()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "docs", "compatibility.md")
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(withRow(string(page), name, row)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// withRow returns the page with a row in the table of stores, which is last. Rows
// are sorted by the names of the stores.
func withRow(page, name string, row []string) string {
	before, section, _ := strings.Cut(page, "\n"+Section+"\n")
	var rows []string
	for line := range strings.Lines(section) {
		if old, found := strings.CutPrefix(line, "| "); found && !strings.HasPrefix(old, "store |") && !strings.HasPrefix(old, name+" |") {
			rows = append(rows, line)
		}
	}
	line := func(name string, cells []string) string {
		return "| " + name + " | " + strings.Join(cells, " | ") + " |\n"
	}
	rows = append(rows, line(name, row))
	slices.Sort(rows)
	return strings.TrimRight(before, "\n") + "\n\n" + Section + `

Written by the tests of the stores, each its row: ` + "`STORE_VERSIONS=all LONG_TESTS=1 go test -run TestRealResume .`" + ` in the module of the store, and in ` + "`internal/test/realstore`" + `. On each version a session is begun, its CLI is killed in the middle of a tool call, and it is resumed from the store under another home and working directory; "yes" means that the model heard the same history, byte for byte.

` + line("store", realcli.Pinned()) + "|---|" + strings.Repeat("---|", len(row)) + "\n" + strings.Join(rows, "")
}
