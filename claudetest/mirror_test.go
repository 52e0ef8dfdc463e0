package claudetest_test

import (
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/store"
)

// A scripted CLI repeats its transcript as the real one does, so that a program
// with a store can be tested without a process.
func TestMirror(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.Memory()
		cli := claudetest.New(
			claudetest.UseTool("Glob", map[string]string{"pattern": "*"}), claudetest.Say("nothing"),
			claudetest.DelegateAndWait("Explore", "Count the files.", claudetest.Say("three")), claudetest.Say("three"),
		)
		s, err := claude.Connect(t.Context(), &claude.Options{
			Transport: cli, Cwd: "/work", Env: []string{"HOME=/home/a"},
			Store: &claude.StoreOptions{Store: mem, Project: "p", Journal: t.TempDir()},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, prompt := range []string{"look", "count"} {
			if _, err := s.Ask(t.Context(), prompt); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		key := store.Key{Project: "p", Session: s.ID()}
		turn := []string{"queue-operation", "queue-operation", "user", "assistant", "user", "assistant", "last-prompt"}
		if got, want := lines(t, mem, key), slices.Concat(turn, turn, []string{"cost-state"}); !slices.Equal(got, want) {
			t.Errorf("the transcript has %q, want %q", got, want)
		}
		subs := 0
		for sub, err := range mem.Subagents(t.Context(), "p", key.Session) {
			if err != nil {
				t.Fatal(err)
			}
			subs++
			if got := lines(t, mem, store.Key{Project: "p", Session: key.Session, Sub: sub}); !slices.Contains(got, "assistant") {
				t.Errorf("%s has %q", sub, got)
			}
		}
		if subs != 1 {
			t.Errorf("%d subagents have a transcript", subs)
		}
	})
}

// lines returns the types of the lines of a transcript, and wants a chain.
func lines(t *testing.T, s store.Transcripts, k store.Key) (types []string) {
	t.Helper()
	last := ""
	for e, err := range store.Entries(t.Context(), s, k) {
		if err != nil {
			t.Fatal(err)
		}
		var line struct {
			Type       string `json:"type"`
			UUID       string `json:"uuid"`
			ParentUUID string `json:"parentUuid"`
		}
		if err := json.Unmarshal(e, &line); err != nil {
			t.Fatal(err)
		}
		types = append(types, line.Type)
		if line.UUID == "" {
			continue
		}
		if line.ParentUUID != last {
			t.Errorf("%s hangs below %q, want %q", e, line.ParentUUID, last)
		}
		last = line.UUID
	}
	return types
}
