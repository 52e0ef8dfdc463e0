package takeover

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A table that is made in parts shows the runs of all parts, and repeats none.
func TestKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs")
	first, other := Case{Bash, Person, Moment{Write: 3, After: true}, 1}, Case{GoTool, NoGate, Moment{Delay: 5 * time.Millisecond}, 0}
	right, wrong := outcomeOf(good(), nil), outcomeOf(good(), errors.New("it hangs"))
	open := func(backend string) *kept {
		k, err := openKept(path, backend)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	end := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	part := open("SQLite")
	if part.has(first) {
		t.Error("a new file has a run")
	}
	end(part.add(first, right))
	end(part.close())
	part = open("SQLite")
	end(part.add(other, wrong))
	end(part.close())

	if whole := open("NATS"); whole.has(first) {
		t.Error("a run of another store counts")
	} else {
		end(whole.close())
	}
	whole := open("SQLite")
	defer whole.close()
	if !whole.has(first) || !whole.has(other) || whole.has(Case{Bash, Person, Moment{Write: 3}, 1}) {
		t.Errorf("the file has %+v", whole.runs)
	}
	table := &Table{Backend: "SQLite", rows: make(map[Case]*row)}
	for c, o := range whole.all() {
		table.add(c, o)
	}
	var text strings.Builder
	table.Print(&text)
	for _, want := range []string{"| Bash | person | 1 |", "| 1 of 1 | 0 / 1 / 0 | 1 | 1 | 0 | 0 | 0 |", "2 runs, 2 of them killed, 1 wrong.", "killed 5ms after the effect, run 0: it hangs"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, text.String())
		}
	}
}

// Without a file nothing is kept.
func TestKeptNowhere(t *testing.T) {
	k, err := openKept("", "SQLite")
	if err != nil {
		t.Fatal(err)
	}
	c := Case{Tool: Bash}
	if err := errors.Join(k.add(c, outcome{}), k.close()); err != nil || k.has(c) {
		t.Errorf("kept without a file: %v", err)
	}
}
