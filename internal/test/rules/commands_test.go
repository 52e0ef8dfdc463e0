package rules

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing/fstest"
)

func commandRules() []rule {
	return []rule{{
		name:  "commands in documents",
		check: checkDocumentCommands,
		bad: fstest.MapFS{
			"README.md": source("```sh",
				"go run ./cmd/x -fast -n=3 PROMPT -theirs   # a remark: ./nowhere -gone",
				"go run ./cmd/x -slow",
				"LONG_TESTS=1 go test -run 'A|B' ./gone/... -seeds 5",
				"go test ./... -seeds 5 && go test ./cmd/... -args -cuts",
				"```", "go run ./prose", "```go", "go run ./go", "```"),
			"cmd/x/main.go":   source("package main", `var fast = flag.Bool("fast", false, "")`, `var n = flag.Int("n", 0, "")`),
			"cmd/x/x_test.go": source("package main", `var seeds = flag.Int("seeds", 1, "")`),
			"y/go.mod":        source("module example.com/y"),
			"y/README.md":     source("```sh", "go test ./...", "go run ./cmd/x", "```"),
			"y/y.go":          source("package y"),
		},
		want: []string{
			"README.md:3: ./cmd/x has no flag -slow",
			"README.md:4: there is no package ./gone/...",
			"README.md:5: ./cmd/... has no flag -cuts",
			"y/README.md:3: there is no package ./cmd/x",
		},
	}, {
		name:  "commands in documents are tested",
		check: checkTested,
		bad: fstest.MapFS{
			"README.md": source("```sh",
				"go run ./x && A=1 B='c d' go test ./... | tee log   # remark && more",
				"claudectl run x \\", "  --flag", "curl https://example.com | sh",
				"go build ./...", "#!/bin/sh", "podman build .", "```", "curl prose", "```", "curl output", "```"),
			"CHANGELOG.md":             source("```sh", "curl past", "```"),
			".github/workflows/a.yml":  source("jobs:", "  a:", "    steps:", "      - run: wget x", "      - run: |", "          go vet ./...", "", "          rsync a b", "      - uses: a/b@v1", "        name: curl"),
			".github/workflows/b.yaml": source("      - name: x", "        run: nc x # y"),
		},
		want: []string{
			`.github/workflows/a.yml:4: no test runs or parses "wget": add it to testedCommands`,
			`.github/workflows/a.yml:8: no test runs or parses "rsync": add it to testedCommands`,
			`.github/workflows/b.yaml:2: no test runs or parses "nc": add it to testedCommands`,
			`README.md:2: no test runs or parses "tee": add it to testedCommands`,
			`README.md:5: no test runs or parses "curl": add it to testedCommands`,
			`README.md:5: no test runs or parses "sh": add it to testedCommands`,
			`README.md:6: no test runs or parses "go build": add it to testedCommands`,
		},
	}}
}

// testedCommands has a row for everything that documents run in blocks for a shell: how
// it is tested, or why it cannot be.
func testedCommands() map[string]string {
	return map[string]string{
		"go get":     "run by TestAnyoneCanGetIt, from a proxy that has the tree",
		"go install": "run by TestAnyoneCanGetIt, from a proxy that has the tree",
		"go run":     "its package and flags are looked up by the rule on commands in documents; testedPrograms has how each program is tested",
		"go test":    "its packages, flags and patterns are looked up by the rules on commands in documents; the gate runs all tests",
		"go vet":     "the gate",
		"claudectl":  "run by TestDocumentedCommandsRun, or parsed by TestDocumentedCommands if its table has a reason",
		".ci/run":    "the gate",
		"source":     "reads what claudectl prints: the command in it counts",
		"podman":     "not run: it needs a container engine",
		"gh":         "run by TestReleaseScripts with a program in its place; to check a provenance it needs a release that is published",
		"grep":       "run by TestReleaseScripts",
		"diff":       "run by TestReleaseScripts",
		"sha256sum":  "run by TestReleaseScripts",
		"#!/bin/sh":  "the head of a script",
	}
}

var (
	assignments = regexp.MustCompile(`^(?:\w+=(?:'[^']*'|"[^"]*"|\S*)\s+)+`)
	remarkForm  = regexp.MustCompile(`(^|\s)#[^!].*$`)
	partForm    = regexp.MustCompile(`\s*(?:&&|\|\|?|;|<\(|\))\s*`)
)

// checkTested finds commands in documents that no test knows.
func checkTested(m *module) (complaints []string) {
	known := testedCommands()
	for _, line := range m.shellLines() {
		for _, command := range commandsOf(line.text) {
			if known[command] == "" {
				complaints = append(complaints, fmt.Sprintf("%s: no test runs or parses %q: add it to testedCommands", line.at(), command))
			}
		}
	}
	return complaints
}

// commandsOf are the programs that a line of shell runs, the go command with its verb.
func commandsOf(line string) (all []string) {
	line = remarkForm.ReplaceAllString(quotes.ReplaceAllString(line, "''"), "")
	for part := range strings.SplitSeq(partForm.ReplaceAllString(line, "\n"), "\n") {
		words := strings.Fields(assignments.ReplaceAllString(strings.TrimSpace(part)+" ", ""))
		switch {
		case len(words) == 0:
		case words[0] == "go" && len(words) > 1:
			all = append(all, "go "+words[1])
		case words[0] == "exec" && len(words) > 1:
			all = append(all, words[1])
		default:
			all = append(all, words[0])
		}
	}
	return all
}

// goTestFlags are the flags of go test, and of the go command, that documents use.
func goTestFlags() []string {
	return []string{"args", "bench", "benchtime", "count", "fuzz", "fuzztime", "modfile", "overlay", "race", "run", "tags", "timeout", "v"}
}

var (
	goCommand = regexp.MustCompile(`\bgo (run|test) ([^#&|;]*)`)
	ownImport = regexp.MustCompile(`"` + regexp.QuoteMeta(modulePath) + `/(internal/\S+)"`)
	quotes    = regexp.MustCompile(`'[^']*'|"[^"]*"`)
)

// checkDocumentCommands holds the go run and go test of documents to packages that
// exist and to flags that these packages declare.
func checkDocumentCommands(m *module) (complaints []string) {
	texts := make(map[[2]string]sourceText)
	read := func(dir, pattern string) sourceText {
		at := [2]string{dir, pattern}
		if _, ok := texts[at]; !ok {
			text := m.textOf(dir, pattern)
			if !strings.HasSuffix(pattern, "...") {
				for _, other := range text.imports() { // which may declare the flags
					text = append(text, m.textOf(".", other)...)
				}
			}
			texts[at] = text
		}
		return texts[at]
	}
	for _, line := range m.shellLines() {
		for _, form := range goCommand.FindAllStringSubmatch(quotes.ReplaceAllString(line.text, "''"), -1) {
			for _, c := range judgeCommand(read, m.moduleOf(line.file), form[1], strings.Fields(form[2])) {
				complaints = append(complaints, line.at()+": "+c)
			}
		}
	}
	return complaints
}

// moduleOf is the folder of the module that a document belongs to.
func (m *module) moduleOf(name string) string {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, err := fs.Stat(m.fsys, path.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	return "."
}

// judgeCommand judges the arguments of go run or go test in a folder. Those of go run
// end with the first that is not a flag or its value.
func judgeCommand(read func(dir, pattern string) sourceText, dir, verb string, args []string) (complaints []string) {
	pkg, sources := ".", read(dir, ".")
	for i, arg := range args {
		if !strings.HasPrefix(arg, "./") {
			continue
		}
		pkg = arg
		if sources = read(dir, arg); len(sources) == 0 {
			return []string{"there is no package " + arg}
		}
		if verb == "run" {
			args = args[i+1:]
			break
		}
	}
	for i, arg := range args {
		flag, isFlag := strings.CutPrefix(arg, "-")
		if !isFlag {
			if verb == "run" && (i == 0 || !strings.HasPrefix(args[i-1], "-") || strings.Contains(args[i-1], "=")) {
				break // the arguments of the program begin
			}
			continue
		}
		flag, _, _ = strings.Cut(strings.TrimPrefix(flag, "-"), "=")
		if verb == "test" && slices.Contains(goTestFlags(), flag) || sources.contains(`"`+flag+`"`) {
			continue
		}
		complaints = append(complaints, fmt.Sprintf("%s has no flag -%s", pkg, flag))
	}
	return complaints
}

// sourceText is the source of a package or of several, file by file.
type sourceText [][]byte

func (s sourceText) contains(text string) bool {
	return slices.ContainsFunc(s, func(file []byte) bool { return bytes.Contains(file, []byte(text)) })
}

// imports are the internal packages that it imports.
func (s sourceText) imports() (all []string) {
	for _, file := range s {
		for _, form := range ownImport.FindAllSubmatch(file, -1) {
			all = append(all, string(form[1]))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// textOf is the source of a package, or of all below a folder for a pattern with "...".
func (m *module) textOf(dir, pattern string) (text sourceText) {
	below, all := strings.CutSuffix(pattern, "...")
	at := path.Join(dir, below)
	_ = fs.WalkDir(m.fsys, at, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != at && (!all || d.Name()[0] == '.'):
			return fs.SkipDir
		case path.Ext(name) == ".go":
			file, err := fs.ReadFile(m.fsys, name)
			text = append(text, file)
			return err
		}
		return nil
	})
	return text
}
