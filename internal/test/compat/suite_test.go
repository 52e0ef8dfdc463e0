package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestReadEvents reads a run in which tests end in every way: also one that a
// dying program took with it, and one that was skipped for no good reason.
func TestReadEvents(t *testing.T) {
	const pkg = `"Package":"github.com/claude-agent-go/claude/tool"`
	events := strings.Join([]string{
		`{"Action":"start",` + pkg + `}`,
		`{"Action":"run",` + pkg + `,"Test":"TestRealGood"}`,
		`{"Action":"run",` + pkg + `,"Test":"TestRealGood/part"}`,
		`{"Action":"skip",` + pkg + `,"Test":"TestRealGood/part"}`,
		`{"Action":"pass",` + pkg + `,"Test":"TestRealGood"}`,
		`{"Action":"run",` + pkg + `,"Test":"TestRealBad"}`,
		`{"Action":"fail",` + pkg + `,"Test":"TestRealBad"}`,
		`{"Action":"run",` + pkg + `,"Test":"TestRealNew"}`,
		`{"Action":"output",` + pkg + `,"Test":"TestRealNew","Output":"    a_test.go:1: not applicable: it needs more\n"}`,
		`{"Action":"skip",` + pkg + `,"Test":"TestRealNew"}`,
		`{"Action":"run",` + pkg + `,"Test":"TestRealLazy"}`,
		`{"Action":"output",` + pkg + `,"Test":"TestRealLazy","Output":"    a_test.go:1: needs npm\n"}`,
		`{"Action":"skip",` + pkg + `,"Test":"TestRealLazy"}`,
		`no event`,
		`{"Action":"run",` + pkg + `,"Test":"TestRealDead"}`,
		`{"Action":"fail",` + pkg + `}`, "",
	}, "\n")
	got, err := readEvents(strings.NewReader(events))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"/tool TestRealGood": passed, "/tool TestRealBad": failed, "/tool TestRealNew": notApplicable,
		"/tool TestRealLazy": failed, "/tool TestRealDead": failed,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	page := renderSuite([]string{"1.0.0", "2.0.0"}, map[string]map[string]string{"1.0.0": got, "2.0.0": {"/tool TestRealGood": passed}})
	for _, line := range []string{
		"|  | 1.0.0 | 2.0.0 |", "| passed | 1 | 1 |", "| not applicable | 1 | 0 |", "| failed | 3 | 0 |",
		"| `/tool TestRealGood` | yes | yes |", "| `/tool TestRealBad` | FAILED |  |",
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("the page lacks %q:\n%s", line, page)
		}
	}
	if again := renderSuite([]string{"1.0.0", "2.0.0"}, readSuite(page)); again != page {
		t.Errorf("read and written again the page is\n%s, want\n%s", again, page)
	}
}

// Tests that a page lacks are found again by name and package.
func TestSelection(t *testing.T) {
	pattern, packages := selection([]string{" TestRealRoot", "/tool TestRealA", "/tool TestRealB"})
	if want := "^(TestRealRoot|TestRealA|TestRealB)$"; pattern != want {
		t.Errorf("pattern %s, want %s", pattern, want)
	}
	if want := []string{".", "./tool"}; !slices.Equal(packages, want) {
		t.Errorf("packages %q, want %q", packages, want)
	}
}
