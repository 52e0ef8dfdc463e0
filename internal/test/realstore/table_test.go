package realstore

import (
	"strings"
	"testing"
)

// A row replaces the one of the same store and leaves the rest of the page as it is.
func TestWithRow(t *testing.T) {
	row := func(v string) []string { return strings.Split(strings.Repeat(v+" ", 7)[:7*len(v)+6], " ") }
	page := "# Page\n\n| a |\n|---|\n| b |\n"
	page = withRow(page, "SQLite", row("-"))
	page = withRow(page, "Redis", row("yes"))
	page = withRow(page, "SQLite", row("yes"))
	if !strings.HasPrefix(page, "# Page\n\n| a |\n|---|\n| b |\n\n"+Section+"\n") {
		t.Error("the rest has changed")
	}
	yes := strings.Repeat(" yes |", 7) + "\n"
	if !strings.HasSuffix(page, "|---|---|---|---|---|---|---|---|\n| Redis |"+yes+"| SQLite |"+yes) {
		t.Errorf("the page is\n%s", page)
	}
	if again := withRow(page, "Redis", row("yes")); again != page {
		t.Errorf("written again it is\n%s", again)
	}
}
