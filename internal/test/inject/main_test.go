package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every bug still fits the code, is one, and stands on the page as caught.
func TestBugsFit(t *testing.T) {
	const root = "../../.."
	all, err := bugs()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 15 {
		t.Errorf("%d bugs, want 15 at least", len(all))
	}
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	known := make(sources)
	for _, b := range all {
		if _, _, _, err := b.change(root, known); err != nil {
			t.Error(err)
		}
		if b.old == b.new || b.what == "" {
			t.Errorf("%s is not a bug", b.name)
		}
		row := "| " + b.name + " | " + b.what + " | `" + b.place() + "` | `Test"
		if fuzz := strings.Replace(row, "`Test", "`Fuzz", 1); !strings.Contains(string(text), row) && !strings.Contains(string(text), fuzz) {
			t.Errorf("%s does not say that %s is caught: go run ./internal/test/inject -write", page, b.name)
		}
	}
	if got := strings.Count(string(text), "\n| ") - 1; got != len(all) {
		t.Errorf("%s has %d bugs, want %d", page, got, len(all))
	}
}

func TestParse(t *testing.T) {
	b, err := parse("What.\nwhere: a.B\ntest: ./a -run X\n--- old\n\tone\n\ttwo\n--- new\n\n")
	want := bug{what: "What.", where: "a.B", build: "./a", run: "X", old: "\tone\n\ttwo"}
	if err != nil || b != want {
		t.Errorf("%+v, %v", b, err)
	}
	for _, bad := range []string{"", "What.\nwhere: a\ntest: b\n--- old\nx", "What.\nwhere: a\n--- old\nx\n--- new\ny", "What.\ntest: a\nwhere: b\n--- old\nx\n--- new\ny"} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// What go test prints tells the test that failed.
func TestJudge(t *testing.T) {
	for output, want := range map[string]string{
		"=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n=== RUN   TestB/x\n--- FAIL: TestB (0.00s)\n    --- FAIL: TestB/x (0.00s)\nFAIL\n": "TestB",
		"=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n=== RUN   TestB/x\nfatal error: stack overflow\n":                                  "TestB",
		"=== RUN   TestA\npanic: test timed out after 1m0s\n\trunning tests:\n\t\tTestA (1m0s)\n":                                                      "TestA",
		"# x\n./x.go:3:16: syntax error\nFAIL\tx [build failed]\n":                                                                                     "",
	} {
		if got := judge(output, true); got.by != want || !got.failed {
			t.Errorf("%q: caught by %q, want %q", output, got.by, want)
		}
	}
	if got := judge("=== RUN   TestA\n--- PASS: TestA (0.00s)\nok\n", false); got.by != "" || got.failed {
		t.Errorf("%+v", got)
	}
}

// The page can be read again.
func TestTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	text := table([]finding{{bug{name: "a-b", what: "One | two.", where: "X.y", build: "./internal/x"}, "TestX"}, {bug{name: "c", what: "Three.", where: "z", build: "-race ."}, ""}})
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := findings(path); len(got) != 1 || got["a-b"] != "TestX" {
		t.Errorf("%v of:\n%s", got, text)
	}
	if !strings.Contains(text, "1 of 2 were caught") || len(findings(path+"x")) != 0 {
		t.Error(text)
	}
}

// A bug is found in its declaration, whatever file that is in and however it is
// indented; one that fits nowhere, or in two places, is an error.
func TestChange(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, "p", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.go", "package p\n\nfunc F() int {\n\treturn 1\n}\n\nconst n = 7\n")
	write("b.go", "package p\n\nfunc (t *T[K]) F() int {\n\tif true {\n\t\treturn 1\n\t}\n\treturn 2\n}\n\ntype T[K any] struct{}\n")
	write("c_plan9.go", "package p\n\nfunc G() int { return 1 }\n")
	write("c_test.go", "package p\n\nfunc H() int { return 1 }\n")
	for _, tt := range []struct{ where, old, want string }{
		{"F", "return 1", "a.go: package p func F() int { BUG } const n = 7"},
		{"T.F", "{\nreturn 1 }", "b.go: package p func (t *T[K]) F() int { if true BUG return 2 } type T[K any] struct{}"},
		{"n", "7", "a.go: package p func F() int { return 1 } const n = BUG"},
		{"F", "return 2", ""}, // it is in another function
		{"T.F", "return", ""}, // twice
		{"G", "return 1", ""}, // not of this system
		{"H", "return 1", ""},
		{"T.G", "return 1", ""},
	} {
		b := bug{name: "x", where: tt.where, build: "-race ./p", old: tt.old, new: "BUG"}
		path, _, after, err := b.change(root, make(sources))
		if tt.want == "" {
			if err == nil {
				t.Errorf("%s %q is changed in %s", tt.where, tt.old, path)
			}
			continue
		}
		if got := filepath.Base(path) + ": " + strings.Join(strings.Fields(string(after)), " "); err != nil || got != tt.want {
			t.Errorf("%s: got  %s, %v\nwant %s", tt.where, got, err, tt.want)
		}
	}
}
