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
	for _, b := range all {
		if _, _, err := b.change(root); err != nil {
			t.Error(err)
		}
		if b.old == b.new || b.what == "" {
			t.Errorf("%s is no bug", b.name)
		}
		fields := strings.Fields(b.build)
		pkg := fields[len(fields)-1]
		if dir := "./" + filepath.Dir(b.file); filepath.Clean(pkg) != filepath.Clean(dir) {
			t.Errorf("%s: a bug in %s is tested in %s", b.name, dir, pkg)
		}
		row := "| " + b.name + " | " + b.what + " | `" + b.file + "` | `Test"
		if fuzz := strings.Replace(row, "`Test", "`Fuzz", 1); !strings.Contains(string(text), row) && !strings.Contains(string(text), fuzz) {
			t.Errorf("%s does not say that %s is caught: go run ./internal/test/inject -write", page, b.name)
		}
	}
	if got := strings.Count(string(text), "\n| ") - 1; got != len(all) {
		t.Errorf("%s has %d bugs, want %d", page, got, len(all))
	}
}

func TestParse(t *testing.T) {
	b, err := parse("What.\nfile: a/b.go\ntest: ./a -run X\n--- old\n\tone\n\ttwo\n--- new\n\n")
	want := bug{what: "What.", file: "a/b.go", build: "./a", run: "X", old: "\tone\n\ttwo"}
	if err != nil || b != want {
		t.Errorf("%+v, %v", b, err)
	}
	for _, bad := range []string{"", "What.\nfile: a\ntest: b\n--- old\nx", "What.\nfile: a\n--- old\nx\n--- new\ny", "What.\ntest: a\nfile: b\n--- old\nx\n--- new\ny"} {
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
	text := table([]finding{{bug{name: "a-b", what: "One | two.", file: "x.go"}, "TestX"}, {bug{name: "c", what: "Three.", file: "y.go"}, ""}})
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
