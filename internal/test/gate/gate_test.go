package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
)

// events writes the output of go test -json about package p: each of lines is an
// action, and the test or the output it is about.
func events(lines ...[2]string) *results {
	res := newResults()
	var b strings.Builder
	for _, line := range lines {
		action, about := line[0], line[1]
		name, text, _ := strings.Cut(about, ": ")
		if !strings.HasPrefix(name, "Test") {
			name, text = "", about
		}
		fmt.Fprintf(&b, `{"Action":%q,"Package":"p"`, action)
		if name != "" {
			fmt.Fprintf(&b, `,"Test":%q`, name)
		}
		if strings.HasSuffix(action, "output") {
			fmt.Fprintf(&b, `,"Output":%q`, text)
		}
		b.WriteString("}\n")
	}
	if err := res.read(strings.NewReader(b.String()), run{}); err != nil {
		panic(err)
	}
	return res
}

func TestJudge(t *testing.T) {
	start := [2]string{"start", ""}
	end := [2]string{"fail", ""}
	said := [2]string{"output", "FAIL\n"}
	met := [][2]string{start, {"run", "TestRealOne"}, {"pass", "TestRealOne"}}
	failing := func(name string) [][2]string {
		return [][2]string{{"run", name}, {"run", name + "/part"}, {"output", name + "/part: it broke\n"}, {"fail", name + "/part"}, {"fail", name}}
	}
	with := func(parts ...[][2]string) (lines [][2]string) {
		for _, part := range parts {
			lines = append(lines, part...)
		}
		return lines
	}
	var many [][2]string
	for i := range mayRepeat + 1 {
		many = append(many, failing(fmt.Sprintf("TestMany%d", i))...)
	}
	for name, test := range map[string]struct {
		lines  [][2]string
		steady bool // it fails alone as well
		good   bool
		again  string   // the tests that are run again
		want   []string // in the output
	}{
		"passed": {
			lines: with(met, [][2]string{{"output", "ok  \tp\t1s\n"}, {"pass", ""}}),
			good:  true,
			want:  []string{"ok  \tp\t1s\n", "\n1 passed, 0 failed, 0 skipped\n"},
		},
		"unsteady": {
			lines: with(met, failing("TestTwo"), [][2]string{said, end}),
			good:  true, again: "p TestTwo",
			want: []string{"it broke\n", "unsteady: p TestTwo failed beside the others and passed three times alone\n", "\n3 passed, 0 failed, 0 skipped\n"},
		},
		"keeps failing": {
			lines:  with(met, failing("TestTwo"), [][2]string{said, end}),
			steady: true, again: "p TestTwo",
			want: []string{"it broke\n", "failed: p TestTwo\n", "failed: p TestTwo/part\n", "\n1 passed, 2 failed, 0 skipped\n"},
		},
		"too many": {
			lines: with(met, many, [][2]string{said, end}),
			want:  []string{"failed: p TestMany3\n", "\n1 passed, 12 failed, 0 skipped\n"},
		},
		"data race": {
			lines: with(met, failing("TestTwo"), [][2]string{{"output", "TestTwo: WARNING: DATA RACE\n"}, said, end}),
			want:  []string{"the race detector has found something\n", "failed: p TestTwo\n", "\n1 passed, 2 failed, 0 skipped\n"},
		},
		"panic": {
			lines: with(met, [][2]string{{"run", "TestTwo"}, {"output", "TestTwo: panic: oh\n"}, {"fail", "TestTwo"}, {"output", "FAIL\tp\t0.1s\n"}, end}),
			want:  []string{"panic: oh\n", "died: p\n", "failed: p TestTwo\n", "\n1 passed, 1 failed, 0 skipped\n"},
		},
		"killed": {
			lines: with(met, failing("TestTwo"), [][2]string{{"run", "TestThree"}, {"output", "TestThree: last words\n"}, end}),
			want:  []string{"last words\n", "never ended: p TestThree\n", "\n1 passed, 3 failed, 0 skipped\n"},
		},
		"never ended": {
			lines: met,
			want:  []string{"died: p\n"},
		},
		"refused to end well": {
			lines: with(met, [][2]string{{"output", "PASS\n"}, {"output", "a goroutine is left\n"}, end}),
			want:  []string{"a goroutine is left\n", "died: p\n"},
		},
		"FAIL without a failed test": {
			lines: with(met, [][2]string{said, end}),
			want:  []string{"died: p\n"},
		},
		"not built": {
			lines: with(met, [][2]string{{"pass", ""}, {"build-output", "a.go:1: no\n"}, {"output", "FAIL\tp [build failed]\n"}, end}),
			want:  []string{"a.go:1: no\n", "died: p\n"},
		},
		"skipped": {
			lines: with(met, [][2]string{{"run", "TestTwo"}, {"skip", "TestTwo"}, {"pass", ""}}),
			want:  []string{"skipped: p TestTwo\n", "1 passed, 0 failed, 1 skipped\n"},
		},
		"lost line": {
			lines: with(met, [][2]string{{"run", "TestTwo"}, {"pass", ""}}),
			good:  true,
			want:  []string{"2 passed, 0 failed, 0 skipped\n"},
		},
		"no CLI": {
			lines: [][2]string{start, {"run", "TestOne"}, {"run", "TestOne/TestReal"}, {"pass", "TestOne/TestReal"}, {"pass", "TestOne"}, {"pass", ""}},
			want:  []string{"no test with the real CLI (TestReal...) has passed\n", "2 passed, 0 failed, 0 skipped\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			var again []string
			good := judge(&out, events(test.lines...), func(id testID) bool {
				again = append(again, id.String())
				return !test.steady
			})
			if good != test.good {
				t.Errorf("judged %v, want %v", good, test.good)
			}
			if got := strings.Join(again, ", "); got != test.again {
				t.Errorf("run again: %q, want %q", got, test.again)
			}
			for _, want := range test.want {
				if !strings.Contains("\n"+out.String(), want) {
					t.Errorf("the output lacks %q", want)
				}
			}
			if t.Failed() {
				t.Log(out.String())
			}
		})
	}
}

// Only a signal outside of Go code, in a binary with the race detector that died of it, is
// the detector's own.
func TestCrashed(t *testing.T) {
	said := func(about string) [2]string { return [2]string{"output", about} }
	start, signal, address := [2]string{"start", ""}, "TestTwo: SIGSEGV: segmentation violation\n", "TestTwo: PC=0x437c90 m=3 sigcode=2 addr=0x7f6926300000\n"
	running, end := [2]string{"run", "TestTwo"}, [2]string{"fail", ""}
	for name, test := range map[string]struct {
		res  *results
		flag string
		want string
	}{
		"crashed":           {events(start, running, said(signal), said(address), end), "-race", "[p]"},
		"no test named":     {events(start, said("SIGSEGV: segmentation violation\n"), said("PC=0x1\n"), end), "-race", "[p]"},
		"no race detector":  {events(start, running, said(signal), said(address), end), "-vet=off", "[]"},
		"Go code":           {events(start, running, said("TestTwo: panic: oh\n"), said("TestTwo: [signal SIGSEGV: segmentation violation code=0x1]\n"), end), "-race", "[]"},
		"fatal error":       {events(start, running, said("TestTwo: fatal error: fault\n"), said("TestTwo: [signal SIGSEGV: segmentation violation]\n"), end), "-race", "[]"},
		"without its place": {events(start, running, said(signal), end), "-race", "[]"},
		"only failed":       {events(start, running, said(signal), said(address), [2]string{"fail", "TestTwo"}, said("FAIL\n"), end), "-race", "[]"},
		"passed":            {events(start, running, said(signal), said(address), [2]string{"pass", "TestTwo"}, [2]string{"pass", ""}), "-race", "[]"},
	} {
		test.res.of["p"] = run{flags: []string{test.flag}}
		if got := fmt.Sprint(test.res.crashed()); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// What another run of a package says counts instead of the first: the failures of that are
// gone, those of other packages and a data race are not.
func TestReplace(t *testing.T) {
	start, two, race := [2]string{"start", ""}, [2]string{"run", "TestTwo"}, [2]string{"output", "TestTwo: WARNING: DATA RACE\n"}
	res := events(start, two, race, [2]string{"fail", "TestTwo"}, [2]string{"run", "TestLost"}, [2]string{"fail", ""})
	res.outcome[testID{"q", "TestOther"}] = "fail"
	res.replace("p", events(start, two, [2]string{"pass", "TestTwo"}, [2]string{"pass", ""}))
	if got := fmt.Sprint(res.tests("pass"), res.tests("fail"), res.tests("run"), res.raced); got != "[p TestTwo] [q TestOther] [] true" {
		t.Error(got)
	}
	res.replace("p", events(start, two, [2]string{"fail", "TestTwo"}, [2]string{"fail", ""}))
	if got := fmt.Sprint(res.tests("fail")); got != "[p TestTwo q TestOther]" {
		t.Error(got)
	}
}

func TestLongest(t *testing.T) {
	res := newResults()
	for id, seconds := range map[testID]float64{
		{"p", "TestA"}: 1, {"p", "TestB"}: 30, {"q", "TestC"}: 2, {"q", "TestC/part"}: 40, {"q", "TestD"}: 2, {"q", ""}: 99,
	} {
		res.took[id] = seconds
	}
	if got, want := fmt.Sprint(res.longest(3)), "[p TestB q TestC q TestD]"; got != want {
		t.Errorf("the longest are %s, want %s", got, want)
	}
	if got := len(res.longest(10)); got != 4 {
		t.Errorf("%d tests, want 4", got)
	}
}

// TestGate runs the tests of a module that it makes up.
func TestGate(t *testing.T) {
	const head = "package p\n\nimport (\n\t\"os\"\n\t\"syscall\"\n\t\"testing\"\n)\n\nfunc TestRealOne(*testing.T) { os.Getpid(); syscall.Getpid() }\n\n"
	// It fails unless it has failed before.
	const once = `func TestOnce(t *testing.T) {
	if os.Mkdir("been", 0o777) == nil {
		t.Fatal("the first time")
	}
}
`
	const third = `func TestThird(t *testing.T) {
	if os.Mkdir("been", 0o777) == nil || os.Mkdir("again", 0o777) != nil {
		t.Fatal("the first and the third time")
	}
}
`
	// The signal comes from outside of Go code, as that of the race detector's own crash.
	const signal = `func TestTwo(t *testing.T) {
	if os.Mkdir("been", 0o777) == nil || %s {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
		select {}
	}
}
`
	for name, test := range map[string]struct {
		source string
		good   bool
		want   []string
	}{
		"crashes once":   {fmt.Sprintf(signal, "false"), true, []string{"SIGSEGV: segmentation violation\n", "again, whole: example.com/p, in which the race detector itself crashed\n", "2 passed, 0 failed, 0 skipped\n"}},
		"crashes always": {fmt.Sprintf(signal, "true"), false, []string{"again, whole: example.com/p,", "SIGSEGV: segmentation violation\n", "died: example.com/p\n"}},
		"passes":         {"", true, []string{"ok  \texample.com/p", "1 passed, 0 failed, 0 skipped\n"}},
		"unsteady":       {once, true, []string{"the first time\n", "unsteady: example.com/p TestOnce failed", "2 passed, 0 failed, 0 skipped\n"}},
		"fails":          {third, false, []string{"failed: example.com/p TestThird", "1 passed, 1 failed, 0 skipped\n"}},
		"panics":         {`func TestTwo(*testing.T) { panic("oh") }`, false, []string{"panic: oh", "died: example.com/p\n"}},
		"leaves":         {`func TestMain(m *testing.M) { m.Run(); os.Exit(3) }`, false, []string{"died: example.com/p\n", "1 passed, 0 failed, 0 skipped\n"}},
		"broken":         {`func TestTwo() {}`, false, []string{"wrong signature for TestTwo", "died: example.com/p\n"}},
		"leaves once": {`func TestMain(m *testing.M) {
	m.Run()
	if os.Mkdir("been", 0o777) == nil {
		os.Exit(3)
	}
}`, false, []string{"died: example.com/p\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "panics" {
				long.Test(t, "compiles a module for each case")
			}
			dir := t.TempDir()
			for file, text := range map[string]string{"go.mod": "module example.com/p\n\ngo 1.26\n", "p_test.go": head + test.source} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			var out strings.Builder
			r := run{dir: dir, packages: []string{"./..."}, flags: []string{"-vet=off"}} // twice, and one failure is enough
			if strings.Contains(test.source, "SIGSEGV") {
				r.flags = append(r.flags, "-race")
			}
			good := gate(t.Context(), &out, [][]run{{r}, {r}})
			if good != test.good {
				t.Errorf("judged %v, want %v", good, test.good)
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

// TestNoTests sees that a command which fails for a reason of its own is not
// overlooked.
func TestNoTests(t *testing.T) {
	var out strings.Builder
	if gate(t.Context(), &out, [][]run{{{dir: t.TempDir(), packages: []string{"./nowhere"}}}}) {
		t.Errorf("a suite without a module has passed:\n%s", &out)
	}
	if !strings.Contains(out.String(), "go.mod file not found") {
		t.Errorf("the output does not say why:\n%s", &out)
	}
}

// A test of the long level is skipped on the quick one, and must pass on its own. What has
// failed on the quick level has failed.
func TestBothLevels(t *testing.T) {
	start, pass := [2]string{"start", ""}, [2]string{"pass", ""}
	quick := func() *results {
		return events(start, [2]string{"run", "TestLong"}, [2]string{"skip", "TestLong"}, [2]string{"run", "TestRaces"}, [2]string{"fail", "TestRaces"}, [2]string{"run", "TestOdd"}, [2]string{"skip", "TestOdd"}, [2]string{"fail", ""})
	}
	res := newResults()
	res.add(quick())
	res.of["p"] = run{quick: true}
	res.add(events(start, [2]string{"run", "TestLong"}, [2]string{"pass", "TestLong"}, [2]string{"run", "TestRaces"}, [2]string{"pass", "TestRaces"}, pass))
	for name, want := range map[string]string{"TestLong": "pass", "TestRaces": "fail", "TestOdd": "skip"} {
		if got := res.outcome[testID{"p", name}]; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if !res.of["p"].quick {
		t.Error("a failure of the quick level would be repeated on the long one")
	}
}
