package history_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/history"
)

// What a listing shows of a session with copies is what everything else works on.
func TestCopyThatIsListed(t *testing.T) {
	for name, newest := range map[string]string{"nothing to show": `{"type":"summary","summary":""}` + "\n", "damaged": "{\n"} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{
				"projects//-other//" + sid(1) + ".jsonl": newest, // the newest
				"projects//-more//" + sid(1) + ".jsonl":  strings.Replace(exchange(sid(1), "", "aside", "1"), `"isSidechain":false`, `"isSidechain":true`, 2),
				sid(1) + ".jsonl":                        exchange(sid(1), "", "one", "1"),
			}
			config := configWith(t, files)
			h := history.Disk(config)
			if got := titles(list(t, h, history.Query{})); got != "one" {
				t.Fatalf("it lists %q", got)
			}
			info, err := h.Info(t.Context(), sid(1))
			if err != nil || info.Title != "one" {
				t.Errorf("it is %+v, %v", info, err)
			}
			read, err := h.Read(t.Context(), sid(1))
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, err := range read.Messages(t.Context(), history.Page{}) {
				if n++; err != nil {
					t.Error(err)
				}
			}
			if n != 2 {
				t.Errorf("it has %d messages", n)
			}
			fork, err := h.Fork(t.Context(), sid(1), history.ForkOptions{})
			if err != nil {
				t.Fatalf("fork: %v", err)
			}
			if info, err := h.Info(t.Context(), fork); err != nil || info.FirstPrompt != "one" {
				t.Errorf("its fork is %+v, %v", info, err)
			}
			if err := h.Rename(t.Context(), sid(1), "renamed"); err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(filepath.Join(config, "projects", "-work", sid(1)+".jsonl")); err != nil || !strings.Contains(string(text), "renamed") {
				t.Errorf("the title was written elsewhere: %v", err)
			}
		})
	}
}

// A configuration that was copied as a whole is not read again for each page.
func TestPagesOfCopiesReadOnce(t *testing.T) {
	files := make(map[string]string)
	for i := range 100 {
		text := exchange(sid(i), "", fmt.Sprint("question-", i), "yes")
		files[sid(i)+".jsonl"], files["projects//-older//"+sid(i)+".jsonl"] = text, text
	}
	config := configWith(t, files)
	for i := range 100 { // names order the times: let all of -older be older
		path := filepath.Join(config, "projects", "-older", sid(i)+".jsonl")
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		old := info.ModTime().AddDate(-1, 0, 0)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	h := history.Disk(config)
	whole := list(t, h, history.Query{})
	if len(whole) != 100 {
		t.Fatalf("it lists %d", len(whole))
	}
	if got := titles(paged(t, h, history.Query{Limit: 7})); got != titles(whole) {
		t.Errorf("in pages it lists %s", got)
	}
	cost := func(after history.Position) float64 {
		return testing.AllocsPerRun(3, func() {
			if n := len(list(t, h, history.Query{Limit: 5, After: after})); n != 5 {
				t.Errorf("%d sessions, want 5", n)
			}
		})
	}
	if first, last := cost(history.Position{}), cost(whole[len(whole)-6].Position()); last > 1.2*first {
		t.Errorf("the last page takes %.0f allocations, the first %.0f", last, first)
	}
}
