package history_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// The lines of messages stay unchanged for as long as a caller keeps them, however far
// the loop has run since.
func TestKeptEntries(t *testing.T) {
	var text strings.Builder
	parent := ""
	for n := range 400 {
		answer := fmt.Sprintf("%d-%s", n, strings.Repeat("x", n%700))
		text.WriteString(exchange(sid(1), parent, fmt.Sprintf("question-%d", n), answer))
		parent = "a-" + answer
	}
	want := strings.Split(strings.TrimSpace(text.String()), "\n")
	tr, err := history.Disk(configWith(t, map[string]string{sid(1) + ".jsonl": text.String()})).Read(t.Context(), sid(1))
	if err != nil {
		t.Fatal(err)
	}
	var kept []*history.StoredMessage
	for m, err := range tr.Messages(t.Context(), history.Page{Entries: true}) {
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, m)
	}
	if len(kept) != len(want) {
		t.Fatalf("%d messages, want %d", len(kept), len(want))
	}
	for i, m := range kept {
		if string(m.Entry) != want[i] {
			t.Fatalf("message %d has the line\n%s\nwant\n%s", i, m.Entry, want[i])
		}
	}
	var lines []json.RawMessage
	for line, err := range tr.Entries(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if len(lines) != len(want) {
		t.Fatalf("%d entries, want %d", len(lines), len(want))
	}
	for i, line := range lines {
		if string(line) != want[i] {
			t.Fatalf("entry %d is\n%s\nwant\n%s", i, line, want[i])
		}
	}
}

// A session that is in two folders, because its directory was moved, is listed once: the
// newer one.
func TestListOfTwoFolders(t *testing.T) {
	config := configWith(t, map[string]string{
		"//projects/-old/" + sid(1) + ".jsonl": exchange(sid(1), "", "before", "1"),
		sid(1) + ".jsonl":                      exchange(sid(1), "", "after", "1"),
		sid(2) + ".jsonl":                      exchange(sid(2), "", "other", "2"),
	})
	got := list(t, history.Disk(config), history.Query{})
	if ids := []string{sid(2), sid(1)}; !slices.EqualFunc(got, ids, func(i history.SessionInfo, id string) bool { return i.ID == id }) {
		t.Errorf("listed %+v", got)
	}
	if len(list(t, history.Disk(config), history.Query{Offset: 2})) != 0 {
		t.Error("the same session is behind the others")
	}
}

// The last of the notes about a subagent in a store counts: it records that the agent has
// finished.
func TestLastAgentNoteCounts(t *testing.T) {
	s := store.Memory()
	put := func(sub string, lines ...string) {
		t.Helper()
		b := store.Batch{ID: uuid.New()}
		for _, line := range lines {
			b.Entries = append(b.Entries, store.Entry(line))
		}
		if err := s.Append(t.Context(), store.Key{Project: "p", Session: sid(1), Sub: sub}, b); err != nil {
			t.Fatal(err)
		}
	}
	put("", strings.Split(strings.TrimSpace(exchange(sid(1), "", "one", "1")), "\n")...)
	put("subagents/agent-abc", `{"type":"agent_metadata","agentType":"explorer","toolUseId":"t1"}`)
	put("subagents/agent-abc", `{"type":"agent_metadata","agentType":"explorer","description":"look","toolUseId":"t1","finished":true}`)
	tr, err := history.In(s, "p").Read(t.Context(), sid(1))
	if err != nil {
		t.Fatal(err)
	}
	agents, err := tr.Subagents(t.Context())
	if err != nil || len(agents) != 1 || !agents[0].Finished || agents[0].Description != "look" {
		t.Errorf("Subagents = %+v, %v", agents, err)
	}
}
