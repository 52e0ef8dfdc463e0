package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const root = "../../.."

// TestLedger fails on a name that is no longer a test, on an entry that is
// missing, and on a page that was not written again.
func TestLedger(t *testing.T) {
	page, problems, err := write(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Error(problem)
	}
	committed, err := os.ReadFile(root + "/docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(committed) != page {
		t.Error("docs/faults.md is old: go run ./internal/test/faults")
	}
	all, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	// These chapters are finished lists; others grow with what is found.
	want := map[string]int{"F": 78, "T": 23, "R": 118, "P": 17}
	for _, c := range all {
		if n, finished := want[c.letter]; finished && len(c.rows) != n || len(c.rows) == 0 {
			t.Errorf("%s has %d entries, want %d", c.title, len(c.rows), n)
		}
		delete(want, c.letter)
	}
	if len(want) > 0 {
		t.Errorf("no chapters for %v", want)
	}
}

func TestLedgerCanFail(t *testing.T) {
	known, err := readTests(fstest.MapFS{
		"a_test.go":            {Data: []byte("package a\nfunc TestA(t *testing.T) { t.Run(\"one\", nil) }\nvar cases = \"two\"\n")},
		"internal/b/b_test.go": {Data: []byte("package b\nfunc FuzzB(f *testing.F) {}\nfunc (T) TestMethod() {}\nfunc helper() {}\n")},
		"internal/b/b.go":      {Data: []byte("package b\nfunc TestNone() {}\n")},
		"testdata/c_test.go":   {Data: []byte("package c\nfunc TestC() {}\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"TestA": "", "TestA/one": "", "TestA/two": "", "internal/b.FuzzB": "",
		"Test*": "", "internal/b.*B": "",
		"*B":                    "there is no test like *B",
		"internal/*C*":          "there is no test like internal/*C*",
		"TestA/three":           `TestA has no case "three"`,
		"TestB":                 "there is no test TestB",
		"internal/b.TestMethod": "there is no test internal/b.TestMethod",
		"internal/b.TestNone":   "there is no test internal/b.TestNone",
		"internal/b.helper":     "there is no test internal/b.helper",
		"testdata.TestC":        "there is no test testdata.TestC",
	} {
		if got := known.missing(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, bad := range []string{"F1 | x | TestA", "# F Title\n", "# F T: x\nG1 | x | TestA", "# F T: x\nF1 | x", "# F T: x\nF1 | x | y\nF1 | x | y"} {
		if _, err := chapters(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
	got, err := chapters("# F T: x\nF1 | glued | TestA, internal/b.FuzzB (with care)\nF2 | odd | not applicable: it is (not)")
	if err != nil {
		t.Fatal(err)
	}
	if e := got[0].rows[0]; !slices.Equal(e.tests, []string{"TestA", "internal/b.FuzzB"}) || e.note != "with care" {
		t.Errorf("first entry %+v", e)
	}
	if e := got[0].rows[1]; len(e.tests) != 0 || e.note != "it is (not)" || !strings.HasPrefix(e.shown(), "not applicable") {
		t.Errorf("second entry %+v", e)
	}
}
