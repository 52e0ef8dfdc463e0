package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing/fstest"
)

func programRules() []rule {
	return []rule{{
		name:  "programs in documents are tested",
		check: checkPrograms,
		bad: fstest.MapFS{"README.md": source("```sh",
			"go run ./cmd/demo && go run ./cmd/other -x ./arg", "go run example.com/tool@latest ./...", "```", "go run ./prose")},
		want: []string{
			"README.md:2: no test runs ./cmd/other: add it to testedPrograms",
			"README.md:3: no test runs example.com/tool@latest: add it to testedPrograms",
		},
	}, {
		name:  "patterns in documents match",
		check: checkPatterns,
		bad: fstest.MapFS{
			"README.md": source("```sh",
				"go test -run TestA ./a && go test -run 'TestGone|TestA' ./a   # -run TestRemark",
				"LONG_TESTS=1 go test -run TestB ./a -seeds 5",
				"go test -run '^$' -fuzz '^FuzzA$' ./...", "go test -run '^$' -fuzz '^FuzzA$' .", "go test -run TestA/part ./a/...",
				"go test -run TestRoot .", "go test -run=TestA -bench . ./a", "```"),
			"a/a_test.go": source("package a", "func TestA(t *testing.T) {}", "func FuzzA(f *testing.F) {}", "func helper() {}"),
			"r_test.go":   source("package r", "func TestRoot(t *testing.T) {}"),
		},
		want: []string{
			"README.md:2: ./a has nothing that matches TestGone",
			"README.md:3: ./a has nothing that matches TestB",
			"README.md:5: . has nothing that matches ^FuzzA$",
			"README.md:8: ./a has nothing that matches .",
		},
	}}
}

// testedPrograms has a row for every program that a document or a workflow runs with go
// run: how it is tested, or why it cannot be. Its flags are looked up by the rule on
// commands in documents.
func testedPrograms() map[string]string {
	const tooLong = "too long for the gate; the tests of its package judge its parts"
	return map[string]string{
		"./cmd/demo":                               "the gate runs it",
		"./examples/quickstart":                    "it needs an account; the test of its package runs it with a scripted CLI",
		"./internal/natsbench":                     tooLong,
		"./internal/release":                       "TestAnyoneCanGetIt and TestBinariesAreReproducible do what it does, its other tests run it on a small tree",
		"./internal/test/bench":                    tooLong,
		"./internal/test/chaos":                    tooLong,
		"./internal/test/compat":                   "it needs every pinned CLI; the tests of its package judge its parts",
		"./internal/test/faults":                   "a test compares what it writes with docs/faults.md",
		"./internal/test/inject":                   tooLong,
		"./internal/test/kills":                    tooLong,
		"./internal/test/mutation":                 tooLong,
		"./internal/test/parity":                   "a test compares what it writes with docs/parity.md",
		"./internal/test/realcli/install":          "the gate runs it",
		"./internal/test/steady":                   tooLong,
		"golang.org/x/vuln/cmd/govulncheck@latest": "it needs a database of known holes on the network",
	}
}

var runForm = regexp.MustCompile(`\bgo run ([^\s-]\S*)`)

// checkPrograms finds programs in documents that no test knows.
func checkPrograms(m *module) (complaints []string) {
	known := testedPrograms()
	for _, line := range m.shellLines() {
		for _, form := range runForm.FindAllStringSubmatch(line.text, -1) {
			if known[form[1]] == "" {
				complaints = append(complaints, fmt.Sprintf("%s: no test runs %s: add it to testedPrograms", line.at(), form[1]))
			}
		}
	}
	return complaints
}

var (
	testForm    = regexp.MustCompile(`\bgo test ((?:'[^']*'|"[^"]*"|[^#&|;'"])*)`)
	wordForm    = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"])+`)
	patternForm = regexp.MustCompile(`^--?(run|fuzz|bench)(?:=(.*))?$`)
	testedForm  = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w*)\(`)
)

// checkPatterns finds go test with a pattern for which its packages have no test.
func checkPatterns(m *module) (complaints []string) {
	read := make(map[[2]string]map[string][]string)
	for _, line := range m.shellLines() {
		for _, form := range testForm.FindAllStringSubmatch(remarkForm.ReplaceAllString(line.text, ""), -1) {
			words := wordForm.FindAllString(form[1], -1)
			pkg := "."
			if i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "./") }); i >= 0 {
				pkg = words[i]
			}
			at := [2]string{m.moduleOf(line.file), pkg}
			for _, alone := range patternsOf(words) {
				if read[at] == nil {
					read[at] = namesByFlag(m.textOf(at[0], at[1]))
				}
				if !slices.ContainsFunc(read[at][alone.kind], alone.matches) {
					complaints = append(complaints, fmt.Sprintf("%s: %s has nothing that matches %s", line.at(), pkg, alone.text))
				}
			}
		}
	}
	return complaints
}

// testPattern is one alternative of a pattern for tests of a kind.
type testPattern struct{ kind, text string }

func (p testPattern) matches(name string) bool {
	form, err := regexp.Compile(p.text)
	return err == nil && form.MatchString(name)
}

// patternsOf are the patterns in the arguments of go test. None is meant by ^$.
func patternsOf(words []string) (all []testPattern) {
	for i, word := range words {
		form := patternForm.FindStringSubmatch(word)
		if form == nil {
			continue
		}
		value := form[2]
		if value == "" && i+1 < len(words) {
			value = words[i+1]
		}
		value, _, _ = strings.Cut(strings.Trim(value, `'"`), "/") // what follows names parts of a test
		for alone := range strings.SplitSeq(value, "|") {
			if alone != "^$" {
				all = append(all, testPattern{form[1], alone})
			}
		}
	}
	return all
}

// namesByFlag are the names of tests in a source, by the flag that chooses them.
func namesByFlag(text sourceText) map[string][]string {
	names := make(map[string][]string)
	for _, file := range text {
		for _, form := range testedForm.FindAllSubmatch(file, -1) {
			switch name := string(form[1]); {
			case strings.HasPrefix(name, "Benchmark"):
				names["bench"] = append(names["bench"], name)
			case strings.HasPrefix(name, "Fuzz"):
				names["fuzz"] = append(names["fuzz"], name)
				names["run"] = append(names["run"], name)
			default:
				names["run"] = append(names["run"], name)
			}
		}
	}
	return names
}
