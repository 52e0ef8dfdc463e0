package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// documentedTrial is how the commands of documents that begin with some words are tried.
type documentedTrial struct {
	begin   string
	stdin   string
	more    string // a flag that stands for a person at a terminal
	missing bool   // the session is in the store alone
	// instead is set if the command is parsed only: what it needs, or the test that runs it.
	instead string
}

// documentedTrials has a row for each command of claudectl in a block for a shell. The
// longest beginning counts.
func documentedTrials() []documentedTrial {
	return []documentedTrial{
		{begin: "completion"},
		{begin: "demo --ask", stdin: "y\n"},
		{begin: "demo --cli", instead: "it needs an account"},
		{begin: "demo --scripted-model", instead: "it needs the CLI, with which TestReal runs it"},
		{begin: "sessions"},
		{begin: "sessions delete", more: "--yes"},
		{begin: "sessions import", missing: true},
		{begin: "sessions resume", instead: "it needs an account"},
		{begin: "record"},
		{begin: "inspect"},
		{begin: "fake", instead: "a program speaks to it: TestRecordWrapper"},
		{begin: "acp"},
		{begin: "serve --demo", instead: "it runs until it is stopped: TestServeDemo"},
		{begin: "serve --oidc-issuer", instead: "it runs until it is stopped: TestServeOIDC"},
	}
}

// trialOf finds the row of a command.
func trialOf(rows []documentedTrial, args []string) (found documentedTrial, ok bool) {
	line := strings.Join(args, " ") + " "
	for _, row := range rows {
		if strings.HasPrefix(line, row.begin+" ") && len(row.begin) >= len(found.begin) {
			found, ok = row, true
		}
	}
	return found, ok
}

// Every command of claudectl that a document has in a block for a shell runs as it
// stands there, unless it needs what a test does not have. Then it is in the table.
func TestDocumentedCommandsRun(t *testing.T) {
	ran := 0
	for place, c := range allDocumented(t) {
		if !c.shell {
			continue
		}
		row, ok := trialOf(documentedTrials(), c.args)
		if !ok {
			t.Errorf("%s: claudectl %s is in no row of the table: it is neither run nor said to need anything", place, strings.Join(c.args, " "))
		}
		if !ok || row.instead != "" {
			continue
		}
		ran++
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			env := documentedPlace(t)
			if row.missing {
				if err := os.RemoveAll(filepath.Join("config", "projects")); err != nil {
					t.Fatal(err)
				}
			}
			args := c.args
			if row.more != "" {
				args = append(slices.Clone(args), row.more)
			}
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), args, strings.NewReader(row.stdin), &stdout, &stderr, env)
			if code != 0 {
				t.Errorf("%s: exit code %d\n%s%s", place, code, stdout.String(), stderr.String())
			}
		})
	}
	if ran < 15 {
		t.Errorf("only %d commands were run", ran)
	}
}

// A command without a row is found, and the longest row counts.
func TestTrialOf(t *testing.T) {
	rows := []documentedTrial{{begin: "a"}, {begin: "a b", instead: "x"}}
	for line, want := range map[string]string{"a": "a", "a c": "a", "a b": "a b", "a b c": "a b", "ab": "", "c": ""} {
		row, ok := trialOf(rows, strings.Fields(line))
		if row.begin != want || ok != (want != "") {
			t.Errorf("%s: %+v, %v, want %q", line, row, ok, want)
		}
	}
}

// documentedPlace is a working directory with what the commands of documents name, and
// the environment in which they run: a recording, a script, a policy, a session, a store
// with the same session, and a journal.
func documentedPlace(t *testing.T) (env []string) {
	t.Helper()
	recording, err := os.ReadFile(aRecording)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	const id = "5e40bd8d-0000-4000-8000-000000000001"
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	entry := `{"parentUuid":null,"type":"user","uuid":"00000000-0000-4000-8000-00000000000a","sessionId":"` + id + `","cwd":"` + filepath.ToSlash(here) + `","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"Fix the parser"}}` + "\n"
	for name, text := range map[string]string{
		"before.ndjson": string(recording), "after.ndjson": string(recording),
		"session.ndjson":                         string(recording),
		"recordings/a.ndjson":                    string(recording),
		"session.json":                           `["Hello."]`,
		"policy.json":                            `{"deny":["Read(.env)"]}`,
		"config/projects/-work/" + id + ".jsonl": entry,
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env = []string{"PATH=/bin:/usr/bin", "HOME=" + dir, "CLAUDE_CONFIG_DIR=" + filepath.Join(dir, "config")}
	var out bytes.Buffer
	if code := run(t.Context(), []string{"sessions", "export", id, "--store", "DIR"}, strings.NewReader(""), &out, &out, env); code != 0 {
		t.Fatalf("no store: exit code %d\n%s", code, &out)
	}
	journal, err := store.CreateJournal("journals", id)
	if err != nil {
		t.Fatal(err)
	}
	batch := store.Batch{ID: uuid.New(), Entries: []store.Entry{store.Entry(strings.TrimSpace(entry))}}
	if err := journal.Append(store.Key{Project: "work", Session: id}, batch); err != nil {
		t.Fatal(err)
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(journal.Path(), "session.journal"); err != nil {
		t.Fatal(err)
	}
	return env
}
