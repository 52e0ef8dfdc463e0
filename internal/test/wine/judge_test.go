package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func events(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		f := strings.Fields(line)
		pkg, test := modulePath, ""
		if f[1] != "." {
			pkg += "/" + f[1]
		}
		if len(f) > 2 {
			test = f[2]
		}
		b.WriteString(`{"Action":"` + f[0] + `","Package":"` + pkg + `","Test":"` + test + `","Output":"said ` + test + `\r\n"}` + "\n")
	}
	return b.String()
}

// What fails is wine's fault only if the table has it, by its package and name.
func TestJudge(t *testing.T) {
	known := []exception{{"a", "TestWine", "slow", false}, {"a", "TestCured", "old", false}, {"a", "TestHangs", "never ends", true}, {"a", "TestParts/b", "one of them", false}}
	for name, tt := range map[string]struct {
		lines               []string
		ours                []string
		wines, better, good int
	}{
		"all well":            {lines: []string{"start a", "run a TestA", "pass a TestA", "pass a"}, good: 1},
		"wine's":              {lines: []string{"run a TestWine", "run a TestWine/x", "fail a TestWine/x", "fail a TestWine", "fail a"}, wines: 1},
		"wine's part":         {lines: []string{"fail a TestParts/b/c", "fail a TestParts/b", "fail a TestParts", "fail a"}, wines: 1},
		"another part":        {lines: []string{"fail a TestParts/b", "fail a TestParts/bc", "fail a TestParts", "fail a"}, ours: []string{"a TestParts/bc"}, wines: 1},
		"the whole of parts":  {lines: []string{"pass a TestParts/b", "fail a TestParts", "fail a"}, ours: []string{"a TestParts"}, better: 1, good: 1},
		"parts without end":   {lines: []string{"fail a TestParts/b", "run a TestParts", "fail a"}, ours: []string{"a TestParts"}, wines: 1},
		"in another package":  {lines: []string{"fail b TestWine", "fail b"}, ours: []string{"b TestWine"}},
		"of the root":         {lines: []string{"fail . TestX", "fail ."}, ours: []string{". TestX"}},
		"beside wine's":       {lines: []string{"fail a TestWine", "fail a TestA", "fail a"}, ours: []string{"a TestA"}, wines: 1},
		"never ends":          {lines: []string{"start a", "run a TestA", "fail a"}, ours: []string{"a TestA"}},
		"the package alone":   {lines: []string{"start a", "run a TestA", "pass a TestA", "fail a"}, ours: []string{"a"}, good: 1},
		"a package that died": {lines: []string{"start a"}, ours: []string{"a"}},
		"better":              {lines: []string{"pass a TestCured", "pass a"}, better: 1, good: 1},
		"no tests":            {lines: []string{"start a", "skip a"}},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := read(strings.NewReader(events(tt.lines...)))
			if err != nil {
				t.Fatal(err)
			}
			v := judge(res, known)
			var ours []string
			for _, id := range v.ours {
				ours = append(ours, id.String())
			}
			if !slices.Equal(ours, tt.ours) || len(v.wines) != tt.wines || len(v.better) != tt.better || v.passed != tt.good {
				t.Errorf("%+v", v)
			}
		})
	}
}

func TestReport(t *testing.T) {
	known := []exception{{"a", "TestWine", "slow", false}, {"a", "TestCured", "old", false}, {"a", "TestHangs", "never ends", true}}
	res, err := read(strings.NewReader(events("output a TestA", "fail a TestA", "fail a TestWine", "output a TestFine", "pass a TestFine", "skip a TestS", "pass a TestCured", "fail a", "build-output a")))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	judge(res, known).report(&out, res, known)
	const want = `FAIL a TestA
said TestA
said 
fails for wine's reasons: a TestWine: slow
passes, although the table has it: a TestCured: old
not run for wine's sake: a TestHangs: never ends
2 tests and parts of tests passed, 1 skipped, 1 failed for wine's reasons, 1 for others
`
	if got := strings.ReplaceAll(out.String(), "\r", ""); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if _, err := read(strings.NewReader("exit status 3\n")); err == nil {
		t.Error("what is not an event was taken for one")
	}
}
