package rules

import (
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
	}}
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
	texts := make(map[[2]string]string)
	read := func(dir, pattern string) string {
		at := [2]string{dir, pattern}
		if _, ok := texts[at]; !ok {
			text := m.textOf(dir, pattern)
			if !strings.HasSuffix(pattern, "...") {
				for _, form := range ownImport.FindAllStringSubmatch(text, -1) { // which may declare the flags
					text += m.textOf(".", form[1])
				}
			}
			texts[at] = text
		}
		return texts[at]
	}
	for _, name := range m.documents() {
		text, err := fs.ReadFile(m.fsys, name)
		if err != nil || name == "CHANGELOG.md" { // which also has commands of the past
			continue
		}
		n, fence := 0, ""
		for line := range strings.Lines(string(text)) {
			n++
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "```") {
				if fence == "" {
					fence = line
				} else {
					fence = ""
				}
			}
			if fence != "```sh" {
				continue
			}
			for _, form := range goCommand.FindAllStringSubmatch(quotes.ReplaceAllString(line, "''"), -1) {
				for _, c := range judgeCommand(read, m.moduleOf(name), form[1], strings.Fields(form[2])) {
					complaints = append(complaints, fmt.Sprintf("%s:%d: %s", name, n, c))
				}
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
func judgeCommand(read func(dir, pattern string) string, dir, verb string, args []string) (complaints []string) {
	pkg, sources := ".", read(dir, ".")
	for i, arg := range args {
		if !strings.HasPrefix(arg, "./") {
			continue
		}
		pkg = arg
		if sources = read(dir, arg); sources == "" {
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
		if verb == "test" && slices.Contains(goTestFlags(), flag) || strings.Contains(sources, `"`+flag+`"`) {
			continue
		}
		complaints = append(complaints, fmt.Sprintf("%s has no flag -%s", pkg, flag))
	}
	return complaints
}

// textOf is the source of a package, or of all below a folder for a pattern with "...".
func (m *module) textOf(dir, pattern string) string {
	below, all := strings.CutSuffix(pattern, "...")
	at := path.Join(dir, below)
	var b strings.Builder
	_ = fs.WalkDir(m.fsys, at, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != at && (!all || d.Name()[0] == '.'):
			return fs.SkipDir
		case path.Ext(name) == ".go":
			text, err := fs.ReadFile(m.fsys, name)
			b.Write(text)
			return err
		}
		return nil
	})
	return b.String()
}
