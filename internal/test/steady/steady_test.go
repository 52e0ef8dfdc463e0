package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
)

// TestSteady runs the tests of a module that it makes up.
func TestSteady(t *testing.T) {
	const head = "package p\n\nimport (\n\t\"os\"\n\t\"runtime\"\n\t\"testing\"\n)\n\nfunc TestFine(*testing.T) { _ = os.Getenv(runtime.GOOS) }\n\n"
	for name, test := range map[string]struct {
		source string
		plan   plan
		good   bool
		want   []string
	}{
		"steady": {
			plan: plan{times: 3, loops: 1}, good: true,
			want: []string{"1 test binaries, compiled", "round 3 of 3:", "0 failed\n", "all tests passed 3 times\n"},
		},
		"unsteady": {
			source: "func TestOdd(t *testing.T) {\n\tif os.Mkdir(\"been\", 0o777) != nil {\n\t\tos.Remove(\"been\")\n\t\tt.Fatal(\"been here\")\n\t}\n}\n",
			plan:   plan{times: 4},
			want:   []string{"round 1 of 4:", "been here\n", "\n 2 of 4  | example.com/p TestOdd\n"},
		},
		"dies": {
			source: "func TestMain(m *testing.M) { m.Run(); println(\"last words\"); os.Exit(3) }",
			plan:   plan{times: 1},
			want:   []string{"last words\n", "exit status 3\n", " 1 of 1  | example.com/p (died)\n"},
		},
		"one processor, long": {
			source: "func TestWorld(t *testing.T) {\n\tif runtime.GOMAXPROCS(0) != 1 || os.Getenv(\"LONG_TESTS\") != \"1\" {\n\t\tt.Fatal(\"no\")\n\t}\n}\n",
			plan:   plan{times: 1, procs: 1, long: true}, good: true,
			want: []string{"all tests passed 1 times\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			long.Test(t, "compiles a module for each case")
			dir := t.TempDir()
			for file, text := range map[string]string{"go.mod": "module example.com/p\n\ngo 1.26\n", "p_test.go": head + test.source} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			test.plan.dir = dir
			var out strings.Builder
			good, err := test.plan.run(t.Context(), &out)
			if good != test.good || err != nil {
				t.Errorf("got %v, %v, want %v", good, err, test.good)
			}
			for _, want := range test.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("the output lacks %q", want)
				}
			}
			if t.Failed() {
				t.Log(out.String())
			}
		})
	}
}

// TestTable counts the failures of three rounds.
func TestTable(t *testing.T) {
	bad := errors.New("exit status 1")
	var failures table
	for i, round := range []struct {
		outcomes []outcome
		failed   int
	}{
		{[]outcome{{pkg: "p"}, {pkg: "q", output: []byte("--- FAIL: TestNot (0.00s)\n")}}, 0},
		{[]outcome{{pkg: "p", err: bad, output: []byte("--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/part (0.00s)\n--- FAIL: TestB (0.00s)\n")}, {pkg: "q", err: bad, output: []byte("last words\n")}}, 3},
		{[]outcome{{pkg: "p", err: bad, output: []byte("--- FAIL: TestB (0.00s)\nsecond\n")}, {pkg: "q"}}, 1},
	} {
		if got := failures.add(round.outcomes); got != round.failed {
			t.Errorf("round %d: %d failed, want %d", i, got, round.failed)
		}
	}
	var out strings.Builder
	failures.print(&out, 3)
	for _, want := range []string{"\n 2 of 3  | p TestB\n 1 of 3  | p TestA\n 1 of 3  | q (died)\n", "last words\nexit status 1\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "second") {
		t.Errorf("a later failure is printed:\n%s", &out)
	}
	out.Reset()
	table(nil).print(&out, 3)
	if out.String() != "all tests passed 3 times\n" {
		t.Errorf("without a failure it prints %q", &out)
	}
}

// TestBroken sees that packages which do not compile are not taken for steady.
func TestBroken(t *testing.T) {
	dir := t.TempDir()
	for file, text := range map[string]string{"go.mod": "module example.com/p\n\ngo 1.26\n", "p_test.go": "package p\n\nvar x int = \"\"\n"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	if good, err := (&plan{dir: dir, times: 1}).run(t.Context(), &out); good || err == nil {
		t.Errorf("got %v, %v, want an error", good, err)
	}
}
