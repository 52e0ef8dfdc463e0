package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/store"
)

// sessionsAt makes a configuration directory with two sessions.
func sessionsAt(t *testing.T) string {
	t.Helper()
	config := t.TempDir()
	for i, title := range []string{"Sort the list", "Fix the parser"} {
		id := fmt.Sprintf("%d0000000-0000-4000-8000-000000000001", i+1)
		text := fmt.Sprintf(`{"parentUuid":null,"type":"user","uuid":"u","sessionId":%[1]q,"cwd":"/work","gitBranch":"main","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"%[2]s please"}}
{"parentUuid":"u","type":"assistant","uuid":"a","sessionId":%[1]q,"timestamp":"2026-01-01T00:00:01Z","message":{"id":"m","role":"assistant","model":"m","stop_reason":"end_turn","content":[{"type":"text","text":"Done \u001b[31mnow"},{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}
{"type":"custom-title","customTitle":%[2]q,"sessionId":%[1]q}
{"type":"cost-state","totalCostUSD":0.25,"sessionId":%[1]q}
`, id, title)
		path := filepath.Join(config, "projects", "-work", id+".jsonl")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		when := time.Now().Add(time.Duration(i-2) * time.Hour)
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	return config
}

// manage runs "claudectl sessions".
func manage(t *testing.T, config string, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), append([]string{"sessions"}, args...), strings.NewReader(""), &stdout, &stderr, []string{"CLAUDE_CONFIG_DIR=" + config})
	return outcome{code, stdout.String(), stderr.String()}
}

func TestSessionsList(t *testing.T) {
	config := sessionsAt(t)
	got := manage(t, config)
	want := `  AGE  TITLE           BRANCH  TURNS  COST   ID
  1h   Fix the parser  main    1      $0.25  20000000-0000-4000-8000-000000000001
  2h   Sort the list   main    1      $0.25  10000000-0000-4000-8000-000000000001
`
	if got.code != 0 || got.stdout != want {
		t.Errorf("exit code %d, stderr %q\n%s\nwant\n%s", got.code, got.stderr, got.stdout, want)
	}
	for _, tt := range []struct {
		args string
		want int
	}{{"list --json", 2}, {"list --json --limit 1", 1}, {"list --json --search PARSER", 1}, {"list --json --tag none", 0}, {"list --json --here", 0}} {
		got := manage(t, config, strings.Fields(tt.args)...)
		if n := strings.Count(got.stdout, `"session":`); got.code != 0 || n != tt.want {
			t.Errorf("%s: exit code %d, %d sessions, want %d: %s", tt.args, got.code, n, tt.want, got.stdout)
		}
	}
	if got := manage(t, t.TempDir()); got.code != 0 || got.stdout != "No sessions.\n" {
		t.Errorf("nothing there: %+v", got)
	}
}

func TestSessionsShow(t *testing.T) {
	config := sessionsAt(t)
	got := manage(t, config, "show", "1000")
	for _, want := range []string{"Sort the list\n", "10000000-0000-4000-8000-000000000001 · /work · main", "you\n  Sort the list please", "claude\n  Done ", "tool\n  Bash {\"command\":\"ls\"}"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("exit code %d; %q is missing in\n%s", got.code, want, got.stdout)
		}
	}
	if strings.Contains(got.stdout, "\x1b") {
		t.Error("an escape sequence of a message reached the terminal")
	}
	var first struct {
		UUID    string
		Message struct{ Type string }
	}
	line, _, _ := strings.Cut(manage(t, config, "show", "1000", "--json").stdout, "\n")
	if err := json.Unmarshal([]byte(line), &first); err != nil || first.UUID != "u" || first.Message.Type != "user" {
		t.Errorf("JSON: %s, %v", line, err)
	}
	page := filepath.Join(t.TempDir(), "page.html")
	if got := manage(t, config, "show", "1000", "--html", page); got.code != 0 {
		t.Errorf("page: %+v", got)
	}
	if text, err := os.ReadFile(page); err != nil || !bytes.Contains(text, []byte("Sort the list please")) || !bytes.Contains(text, []byte("<title>Sort the list</title>")) {
		t.Errorf("the page has %d bytes and not the prompt, %v", len(text), err)
	}
}

func TestSessionsChange(t *testing.T) {
	config := sessionsAt(t)
	do := func(args ...string) outcome {
		t.Helper()
		got := manage(t, config, args...)
		if got.code != 0 {
			t.Errorf("%q: exit code %d, %s", args, got.code, got.stderr)
		}
		return got
	}
	do("rename", "1000", "A", "new", "name")
	do("tag", "1000", "blue")
	do("archive", "2000")
	if got := do("list"); !strings.Contains(got.stdout, "#blue A new name") || strings.Contains(got.stdout, "parser") {
		t.Errorf("after the changes:\n%s", got.stdout)
	}
	if got := do("list", "--all"); !strings.Contains(got.stdout, "(archived) Fix the parser") {
		t.Errorf("with the archived ones:\n%s", got.stdout)
	}
	do("unarchive", "2000")
	do("tag", "1000")
	fork := strings.TrimSpace(do("fork", "1000", "--up-to", "u", "--title", "Copy").stdout)
	if got := do("list", "--search", "copy"); !strings.Contains(got.stdout, fork) {
		t.Errorf("the fork %s is not in\n%s", fork, got.stdout)
	}
	if got := manage(t, config, "delete", fork); got.code != int(exitUsage) || !strings.Contains(got.stderr, "--yes") {
		t.Errorf("delete without a person to ask: %+v", got)
	}
	in := acp.QuestionsIn(config)
	q, err := in.Ask(t.Context(), approval.Question{Conversation: fork, Tool: "Bash", ToolUseID: "t", Input: json.RawMessage(`{"command":"secret"}`)}, store.Fence{})
	if err != nil {
		t.Fatal(err)
	}
	if got := do("delete", "--yes", fork); !strings.Contains(got.stdout, "removed projects/-work/"+fork+".jsonl") {
		t.Errorf("deleted: %s", got.stdout)
	}
	if q, err = in.Get(t.Context(), q.ID); err != nil || q.Outcome != approval.OutcomeDeleted || strings.Contains(string(q.Input), "secret") {
		t.Errorf("what an editor was asked is %q with %s, %v", q.Outcome, q.Input, err)
	}
}

func TestSessionsThatAreNotThere(t *testing.T) {
	config := sessionsAt(t)
	for _, tt := range []struct {
		args string
		code exitCode
		text string
	}{
		{"show 3000", exitInput, "no session has an id that begins with"},
		{"show 30000000-0000-4000-8000-000000000001", exitInput, "not found"},
		{"show ../x", exitInput, "no session has an id"},
		{"show x", exitUsage, "is not a session id"},
		{"fork 1000 --up-to gone", exitInput, "message gone"},
		{"show 1000 --agent none", exitInput, "subagent"},
		{"rename 1000 --", exitUsage, ""},
		{"resume", exitUsage, "name it"},
	} {
		got := manage(t, config, strings.Fields(tt.args)...)
		if got.code != int(tt.code) || !strings.Contains(got.stderr, tt.text) {
			t.Errorf("%s: exit code %d, want %d; %s", tt.args, got.code, tt.code, got.stderr)
		}
	}
	id := "1000aaaa-0000-4000-8000-000000000001"
	from := filepath.Join(config, "projects", "-work", "10000000-0000-4000-8000-000000000001.jsonl")
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(from), id+".jsonl"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := manage(t, config, "show", "1000"); got.code != int(exitUsage) || !strings.Contains(got.stderr, "2 sessions") {
		t.Errorf("an id that begins like two: %+v", got)
	}
}
