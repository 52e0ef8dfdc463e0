package history_test

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/history"
)

// A session that no list shows exists nevertheless: a copy does not take its id,
// and its contents stay.
func TestForkTakenID(t *testing.T) {
	for name, text := range map[string]string{
		"sidechain": strings.ReplaceAll(exchange(sid(2), "", "aside", "2"), `"isSidechain":false`, `"isSidechain":true`),
		"continued": exchange(sid(2), "", "before", "2") + `{"type":"continued-in","continuedInSessionId":"` + sid(3) + `"}` + "\n",
		"notes":     `{"type":"mode","mode":"default"}` + "\n",
	} {
		for _, home := range homes() {
			t.Run(name+"/"+home.name, func(t *testing.T) {
				h, put := home.open(t)
				put(sid(1), "", exchange(sid(1), "", "one", "1"))
				put(sid(2), "", text)
				put(sid(3), "", exchange(sid(3), "", "three", "3"))
				if got := list(t, h, history.Query{}); len(got) != 2 {
					t.Fatalf("listed %q, want one and three", titles(got))
				}
				before := conversation(t, h, sid(2))
				if _, err := h.Fork(t.Context(), sid(1), history.ForkOptions{ID: sid(2)}); !errors.Is(err, fs.ErrExist) {
					t.Errorf("Fork = %v, want ErrExist", err)
				}
				if after := conversation(t, h, sid(2)); !slices.Equal(after, before) {
					t.Errorf("the session is now %q, it was %q", after, before)
				}
			})
		}
	}
	t.Run("file", func(t *testing.T) {
		config := configWith(t, map[string]string{
			sid(1) + ".jsonl": exchange(sid(1), "", "one", "1"),
			sid(2) + ".jsonl": `{"type":"mode","mode":"default"}` + "\n",
		})
		before := tree(t, config)
		if _, err := history.Disk(config).Fork(t.Context(), sid(1), history.ForkOptions{ID: sid(2)}); !errors.Is(err, fs.ErrExist) {
			t.Errorf("Fork = %v, want ErrExist", err)
		}
		if after := tree(t, config); !maps.Equal(after, before) {
			t.Errorf("the files are now %q, they were %q", after, before)
		}
	})
}

// conversation returns the lines of a session that the CLI would continue with.
func conversation(t *testing.T, h *history.History, id string) (lines []string) {
	t.Helper()
	tr, err := h.Read(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for line, err := range tr.Entries(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	return lines
}
