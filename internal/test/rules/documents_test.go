package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing/fstest"
)

// exampleLines is below how many lines an example must stay to be read at once.
const exampleLines = 80

func documentRules() []rule {
	return []rule{{
		name:  "links",
		check: checkLinks,
		bad: fstest.MapFS{
			"README.md": source("[a](docs/a.md) [b](docs/b.md#part) [c](https://example.com/c.md) [d](#here)", "![e](docs/e.png)"),
			"docs/a.md": source("[up](../README.md) [gone](a/x.md)", "```", "[code](nowhere)", "```"),
		},
		want: []string{"README.md:1: there is no docs/b.md", "README.md:2: there is no docs/e.png", "docs/a.md:1: there is no docs/a/x.md"},
	}, {
		name:  "names in documents",
		check: checkNames,
		bad: fstest.MapFS{
			"a.go":      source("package claude", "type Options struct { Model string }", "type Session struct{}", "func (*Session) Run() {}", "func Ask() {}"),
			"hook/h.go": source("package hook", "func Stop() {}"),
			"docs/guide/a.md": source(
				"`claude.Ask(ctx)` `claude.Gone` `Options.Model` `Options{Model: x}` `Options.Gone` `Session.Run` `*Session` `hook.Stop` `hook.Go()`",
				"`options.go` `Other.Thing` `permission.gone` `message.Result`",
				"```sh", "`claude.Code`", "```"),
		},
		want: []string{"a.md:1: there is no claude.Gone", "a.md:1: there is no Options.Gone", "a.md:1: there is no hook.Go", "a.md:2: there is no message.Result"},
	}, {
		name:  "error texts",
		check: checkTroubleshooting,
		bad: fstest.MapFS{
			"a.go":         source("package claude", `var a = errors.New("claude: too busy")`, `var b = fmt.Sprintf("no version %s below %d here", x, y)`),
			"a_test.go":    source("package claude", `var c = "only tested"`),
			troublesFile:   source("# Title", "## `claude: too busy`", "## `no version … below … here`", "## `claude: too lazy`", "## `claude: too bu`", "## `claude: no version … above`", "## `only tested`"),
			"docs/x/tr.md": source("## `elsewhere`"),
		},
		want: []string{"no source says \"claude: too lazy\"", "no source says \"claude: too bu\"", "no source says \"above\"", "no source says \"only tested\""},
	}, {
		name:  "packages in the architecture",
		check: checkArchitecture,
		bad: fstest.MapFS{
			"a.go":                   source("package claude"),
			"hook/h.go":              source("package hook"),
			"internal/lost/l.go":     source("package lost"),
			"examples/one/main.go":   source("package main"),
			"examples/one/m_test.go": source("package main"),
			architectureFile:         source("**`claude`**, `hook`, internal/lost, `examples`"),
		},
		want: []string{"docs/architecture.md does not name internal/lost"},
	}, {
		name:  "embedded pages",
		check: checkEmbedded,
		bad: fstest.MapFS{
			"docs/same.md":          source("one"),
			"docs/new.md":           source("two"),
			"internal/docs/same.md": source("one"),
			"internal/docs/new.md":  source("2"),
			"internal/docs/gone.md": source("three"),
		},
		want: []string{"internal/docs/new.md differs from docs/new.md", "internal/docs/gone.md: open docs/gone.md"},
	}, {
		name:  "examples",
		check: checkExamples,
		bad: fstest.MapFS{
			"examples/fine/main.go":        source("package main"),
			"examples/fine/main_test.go":   source("package main"),
			"examples/long/main.go":        source("package main", strings.Repeat("\n", exampleLines-2)),
			"examples/long/main_test.go":   source("package main"),
			"examples/untested/main.go":    source("package main"),
			"examples/secret/main.go":      source("package main"),
			"examples/secret/main_test.go": source("package main"),
			"docs/guide/README.md":         source("../../examples/fine ../../examples/long ../../examples/untested"),
		},
		want: []string{"examples/long/main.go has 80 lines", "examples/untested has no main_test.go", "docs/guide/README.md does not name examples/secret"},
	}, {
		name:  "changelog",
		check: checkChangelog,
		bad: fstest.MapFS{
			"version.go":   source("package claude", `const Version = "0.2.0"`),
			"CHANGELOG.md": source("# Changelog", "## [0.1.0]"),
		},
		want: []string{"CHANGELOG.md has no part for 0.2.0"},
	}, {
		name:  "commands of the README",
		check: checkCommands,
		bad: fstest.MapFS{
			"README.md": source("```sh", "go build ./x   # a remark", "go test ./...", "```", "```sh", "go get example.com", "```"),
			".ci/run":   source("go vet", "GOFLAGS=-race go test ./... >log"),
		},
		want: []string{`.ci/run does not run "go build ./x" of README.md`},
	}}
}

var linkForm = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// checkLinks follows the links of documents to files of the module.
func checkLinks(m *module) []string {
	var complaints []string
	m.prose(func(name string, n int, line string) {
		for _, link := range linkForm.FindAllStringSubmatch(line, -1) {
			target, _, _ := strings.Cut(link[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			target = path.Join(path.Dir(name), target)
			if _, err := fs.Stat(m.fsys, target); err != nil {
				complaints = append(complaints, fmt.Sprintf("%s:%d: there is no %s", name, n, target))
			}
		}
	})
	return complaints
}

// prose calls fn with the lines of all documents that are not code.
func (m *module) prose(fn func(name string, n int, line string)) {
	for _, name := range m.documents() {
		text, err := fs.ReadFile(m.fsys, name)
		if err != nil {
			continue
		}
		code, n := false, 0
		for line := range strings.Lines(string(text)) {
			n++
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				code = !code
			} else if !code {
				fn(name, n, line)
			}
		}
	}
}

// nameForm is a name of a public package, or a member of a type of the root
// package, as prose writes it between backquotes.
var nameForm = regexp.MustCompile("`[*&]?(?:(claude|message|hook|permission|policy|control|tool|claudetest|host)\\.)?([A-Z]\\w*)(?:\\[\\w+\\])?(?:\\.([A-Z]\\w*))?(?:[({][^`]*)?`")

// checkNames looks up the names that the guide and the README use.
func checkNames(m *module) []string {
	known := make(map[string]bool)
	for _, line := range m.api() {
		dir, what, _ := strings.Cut(line, " ")
		known[path.Base(dir)+"."+apiName(what)] = true
	}
	var complaints []string
	m.prose(func(name string, n int, line string) {
		if !strings.HasPrefix(name, "docs/guide/") && name != "README.md" {
			return
		}
		for _, form := range nameForm.FindAllStringSubmatch(line, -1) {
			pkg, first, member := form[1], form[2], form[3]
			shown := strings.Trim(strings.Join(form[1:], "."), ".")
			if pkg == "" && !known["claude."+first] {
				continue // not one of our names
			}
			if pkg == "" {
				pkg = "claude"
			}
			full := pkg + "." + first
			if member != "" {
				full += "." + member
			}
			if !known[full] && !promoted(known, pkg, first, member) {
				complaints = append(complaints, fmt.Sprintf("%s:%d: there is no %s", name, n, shown))
			}
		}
	})
	return complaints
}

// apiName is the name in a line of the API: "Ask", "Options.Model".
func apiName(line string) string {
	kind, rest, _ := strings.Cut(line, " ")
	if kind == "method" {
		recv, method, _ := strings.Cut(strings.TrimLeft(rest, "(*"), ") ")
		recv, _, _ = strings.Cut(recv, "[")
		rest = recv + "." + method
	}
	return rest[:len(rest)-len(strings.TrimLeftFunc(rest, func(r rune) bool {
		return r == '.' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}))]
}

// promoted reports whether a member is one of a struct that is embedded in a
// type of the same package.
func promoted(known map[string]bool, pkg, typ, member string) bool {
	for _, embedded := range []string{"Header", "Base", "Tool", "Common"} {
		if member != "" && known[pkg+"."+typ+"."+embedded] && known[pkg+"."+embedded+"."+member] {
			return true
		}
	}
	return false
}

const troublesFile = "docs/guide/troubleshooting.md"

var (
	troubleForm = regexp.MustCompile("(?m)^#+ `(.*)`$")
	verbForm    = regexp.MustCompile(`%[-+# 0]*\d*(?:\.\d+)?[a-zA-Z]`)
)

// checkTroubleshooting holds the error texts of the guide to what the source can say.
// "…" stands for whatever is filled in.
func checkTroubleshooting(m *module) []string {
	text, err := fs.ReadFile(m.fsys, troublesFile)
	if err != nil {
		return nil
	}
	var texts []string
	for _, f := range m.sources() {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				value, _ := strconv.Unquote(lit.Value)
				texts = append(texts, verbForm.ReplaceAllString(value, "…"))
			}
			return true
		})
	}
	var complaints []string
	for _, heading := range troubleForm.FindAllStringSubmatch(string(text), -1) {
		said := func(text, piece string) bool { return text == piece }
		if strings.Contains(heading[1], "…") {
			said = strings.Contains
		}
		for piece := range strings.SplitSeq(heading[1], "…") {
			piece = strings.Trim(piece, " :")
			bare := strings.TrimPrefix(piece, "claude: ") // a prefix of its own in most errors
			if !slices.ContainsFunc(texts, func(text string) bool { return said(text, piece) || said(text, bare) }) {
				complaints = append(complaints, fmt.Sprintf("%s: no source says %q", troublesFile, piece))
			}
		}
	}
	return complaints
}

const architectureFile = "docs/architecture.md"

// checkArchitecture wants a word about each package; the examples are one.
func checkArchitecture(m *module) []string {
	text, err := fs.ReadFile(m.fsys, architectureFile)
	if err != nil {
		return nil
	}
	var complaints []string
	seen := make(map[string]bool)
	for _, f := range m.sources() {
		name := f.dir()
		if name == "." {
			name = "claude"
		} else if path.Dir(name) == "examples" {
			name = "examples"
		}
		if !seen[name] && !strings.Contains(string(text), "`"+name+"`") {
			complaints = append(complaints, architectureFile+" does not name "+name)
		}
		seen[name] = true
	}
	return complaints
}

// checkExamples wants examples that are short, tested and easy to find.
func checkExamples(m *module) []string {
	const index = "docs/guide/README.md"
	list, err := fs.ReadFile(m.fsys, index)
	if err != nil {
		return nil
	}
	var complaints []string
	for _, f := range m.sources() {
		if path.Base(f.path) != "main.go" || path.Dir(f.dir()) != "examples" {
			continue
		}
		if f.lines >= exampleLines {
			complaints = append(complaints, fmt.Sprintf("%s has %d lines, fewer than %d are wanted", f.path, f.lines, exampleLines))
		}
		if _, err := fs.Stat(m.fsys, f.dir()+"/main_test.go"); err != nil {
			complaints = append(complaints, f.dir()+" has no main_test.go")
		}
		if !strings.Contains(string(list), f.dir()) {
			complaints = append(complaints, index+" does not name "+f.dir())
		}
	}
	return complaints
}

var versionForm = regexp.MustCompile(`(?m)^const Version = "(.*)"$`)

// checkChangelog wants the version of the module in its changelog.
func checkChangelog(m *module) []string {
	for _, f := range m.sources() {
		form := versionForm.FindSubmatch(f.src)
		if f.dir() != "." || form == nil {
			continue
		}
		if text, _ := fs.ReadFile(m.fsys, "CHANGELOG.md"); !strings.Contains(string(text), "\n## ["+string(form[1])+"]") {
			return []string{fmt.Sprintf("CHANGELOG.md has no part for %s", form[1])}
		}
	}
	return nil
}

// checkCommands wants the gate to run what the README tells people to begin
// with: its first block of commands.
func checkCommands(m *module) []string {
	readme, err := fs.ReadFile(m.fsys, "README.md")
	if err != nil {
		return nil
	}
	gate, _ := fs.ReadFile(m.fsys, ".ci/run")
	_, rest, _ := strings.Cut(string(readme), "```sh\n")
	block, _, _ := strings.Cut(rest, "```")
	var complaints []string
	for line := range strings.Lines(block) {
		command, _, _ := strings.Cut(line, "#")
		if command = strings.TrimSpace(command); !strings.Contains(string(gate), command) {
			complaints = append(complaints, fmt.Sprintf(".ci/run does not run %q of README.md", command))
		}
	}
	return complaints
}

// embeddedPages are copies of documents that a program carries: go:embed does
// not reach the folder docs.
func (m *module) embeddedPages() []string {
	pages, _ := fs.Glob(m.fsys, "internal/docs/*.md")
	return pages
}

func checkEmbedded(m *module) (complaints []string) {
	for _, page := range m.embeddedPages() {
		of := path.Join("docs", path.Base(page))
		want, err := fs.ReadFile(m.fsys, of)
		if err != nil {
			complaints = append(complaints, fmt.Sprintf("%s: %v", page, err))
			continue
		}
		if got, err := fs.ReadFile(m.fsys, page); err != nil || string(got) != string(want) {
			complaints = append(complaints, fmt.Sprintf("%s differs from %s (go test ./internal/test/rules -update)", page, of))
		}
	}
	return complaints
}
