package sqlstore_test

import (
	"path/filepath"
	"testing"
)

// Sessions that were modified in the same moment are all listed, once each, however many
// pages they fill.
func TestListOfOneMoment(t *testing.T) {
	const sessions = 1200
	file := filepath.Join(t.TempDir(), "s.db")
	s := open(t, "sqlite:"+file)
	command(t, "sqlite", file, `with recursive n(i) as (select 1 union all select i + 1 from n where i < 1200)
		insert into claude_transcripts (project, session, sub, next, modified)
		select 'p', printf('00000000-0000-4000-8000-%012d', i), '', 1, 7 from n`)
	seen := make(map[string]int)
	for item, err := range s.List(t.Context(), "p") {
		if err != nil {
			t.Fatal(err)
		}
		seen[item.Session]++
	}
	if len(seen) != sessions {
		t.Errorf("%d sessions are listed, want %d", len(seen), sessions)
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s is listed %d times", id, n)
		}
	}
}
