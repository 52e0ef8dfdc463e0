package rules

import (
	"fmt"
	"io/fs"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/claude-agent-go/claude/hook"
)

// Tables in documents are made from tables in the source. In Markdown the line
// above one names it:
//
//	<!-- table hook events -->
//
// In a comment of a Go file it is an indented block that begins with the table's
// head. "go test ./internal/test/rules -update" fills both in.

// table is one that documents show.
type table struct {
	name string // in Markdown
	file string // of the comment that has it, or ""
	head []string
	rows [][]string
}

func tables() []table {
	events := table{name: "hook events", head: []string{"event", "matcher", "effect", "when a hook fails closed", "seen since"}}
	comment := table{file: "hook/doc.go", head: []string{"event", "matcher", "output", "effect"}}
	closed := table{file: "hook/failure.go", head: []string{"event", "what a block does"}}
	for _, info := range hook.Events() {
		events.rows = append(events.rows, []string{"`hook." + string(info.Event) + "`", info.Subject, info.Effect, info.Closed, info.Since})
		comment.rows = append(comment.rows, []string{string(info.Event), orDash(info.Subject), typeName(info.Output), info.Effect})
		if info.Closed != "" {
			closed.rows = append(closed.rows, []string{string(info.Event), info.Closed})
		}
	}
	return []table{events, comment, closed}
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func typeName(t reflect.Type) string {
	if t == nil {
		return "none"
	}
	return t.Name()
}

// markdown is the table as lines of Markdown.
func (t *table) markdown() string {
	var b strings.Builder
	line := func(cells []string) {
		b.WriteString("|")
		for _, cell := range cells {
			if cell != "" {
				cell = " " + cell
			}
			b.WriteString(cell + " |")
		}
		b.WriteString("\n")
	}
	line(t.head)
	b.WriteString(strings.Repeat("|---", len(t.head)) + "|\n")
	for _, row := range t.rows {
		line(row)
	}
	return b.String()
}

// comment is the table as lines of a Go comment, behind an indentation.
func (t *table) comment(indent string) string {
	width := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			width[i] = max(width[i], len(cell))
		}
	}
	var b strings.Builder
	for _, row := range append([][]string{t.head}, t.rows...) {
		line := ""
		for i, cell := range row {
			line += fmt.Sprintf("%-*s", width[i]+2, cell)
		}
		b.WriteString(indent + "//\t" + strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

var (
	tableForm = regexp.MustCompile(`^<!-- table (.+) -->$`)
	columns   = regexp.MustCompile(` {2,}`)
)

func tableRules() []rule {
	return []rule{{
		name:  "tables",
		check: checkTables,
		bad: fstest.MapFS{
			"docs/a.md":       source("<!-- table hook events -->", "| event |", "|---|", "| `hook.Gone` |", "Text.", "<!-- table nothing -->"),
			"hook/doc.go":     source("// Package hook has", "//", "//\tevent       matcher  output  effect", "//\tPreToolUse  tool     none", "//", "// events.", "package hook"),
			"hook/failure.go": source("package hook", "", "const (", "\t// FailClosed blocks:", "\t//", "\t//\tevent  effect", "\t//\tStop   continues", "\tFailClosed = 1", ")"),
		},
		want: []string{"docs/a.md:1: differs from the table of the source", "docs/a.md:6: there is no table nothing",
			"hook/doc.go:3: differs from the table of the source", "hook/failure.go: no table with the head event, what a block does"},
	}, {
		name:  "events in documents",
		check: checkEvents,
		bad: fstest.MapFS{
			"README.md":           source("| hook events with types | 3 | 10 | 33 |"),
			"SECURITY.md":         source("A hook of PreToolUse or UserPromptSubmit blocks."),
			"docs/guide/hooks.md": source("At `PreToolUse`, `PermissionRequest` or `UserPromptSubmit`"),
		},
		want: []string{"README.md says that there are 3 events", "SECURITY.md does not name the gates PreToolUse, PermissionRequest and UserPromptSubmit together"},
	}}
}

func checkTables(m *module) []string {
	var complaints []string
	for _, name := range append(m.documents(), "hook/doc.go", "hook/failure.go") {
		data, err := fs.ReadFile(m.fsys, name)
		if err == nil {
			_, some := tabled(name, string(data))
			complaints = append(complaints, some...)
		}
	}
	return complaints
}

// tabled is a file with its tables as they should be, and what is wrong with it
// as it is.
func tabled(name, text string) (string, []string) {
	if strings.HasSuffix(name, ".go") {
		return tabledComment(name, text)
	}
	var complaints []string
	text = countForm.ReplaceAllString(text, fmt.Sprintf("${1}%d ", len(hook.Events())))
	lines := strings.SplitAfter(text, "\n")
	var b strings.Builder
	for i := 0; i < len(lines); i++ {
		b.WriteString(lines[i])
		form := tableForm.FindStringSubmatch(strings.TrimSpace(lines[i]))
		if form == nil {
			continue
		}
		at := slices.IndexFunc(tables(), func(t table) bool { return t.name == form[1] })
		if at < 0 {
			complaints = append(complaints, fmt.Sprintf("%s:%d: there is no table %s", name, i+1, form[1]))
			continue
		}
		end := i + 1
		for end < len(lines) && strings.HasPrefix(lines[end], "|") {
			end++
		}
		should := tables()[at].markdown()
		if strings.Join(lines[i+1:end], "") != should {
			complaints = append(complaints, fmt.Sprintf("%s:%d: differs from the table of the source (go test ./internal/test/rules -update)", name, i+1))
		}
		b.WriteString(should)
		i = end - 1
	}
	return b.String(), complaints
}

// tabledComment is tabled for the one table that a Go file has.
func tabledComment(name, text string) (string, []string) {
	all := tables()
	at := slices.IndexFunc(all, func(t table) bool { return t.file == name })
	if at < 0 {
		return text, nil
	}
	t, lines := &all[at], strings.SplitAfter(text, "\n")
	for i, line := range lines {
		indent, cells, ok := strings.Cut(line, "//\t")
		if !ok || strings.TrimSpace(indent) != "" || !slices.Equal(columns.Split(strings.TrimSpace(cells), -1), t.head) {
			continue
		}
		end := i
		for end < len(lines) && strings.HasPrefix(lines[end], indent+"//\t") {
			end++
		}
		should := t.comment(indent)
		if strings.Join(lines[i:end], "") == should {
			return text, nil
		}
		return strings.Join(lines[:i], "") + should + strings.Join(lines[end:], ""),
			[]string{fmt.Sprintf("%s:%d: differs from the table of the source (go test ./internal/test/rules -update)", name, i+1)}
	}
	return text, []string{fmt.Sprintf("%s: no table with the head %s", name, strings.Join(t.head, ", "))}
}

var countForm = regexp.MustCompile(`(hook events with types \| )(\d+) `)

// checkEvents compares what prose says about events with the table.
func checkEvents(m *module) []string {
	var complaints []string
	var gates []string
	for _, info := range hook.Events() {
		if info.Gate {
			gates = append(gates, string(info.Event))
		}
	}
	last := len(gates) - 1
	sentence := regexp.MustCompile(strings.Join(gates[:last], ", ") + " (and|or) " + gates[last])
	for _, name := range []string{"README.md", "SECURITY.md", "docs/guide/hooks.md", "docs/guide/sessions.md", "docs/decisions/gates.md", "hook/doc.go"} {
		data, err := fs.ReadFile(m.fsys, name)
		if err != nil {
			continue
		}
		if n := countForm.FindSubmatch(data); n != nil && string(n[2]) != fmt.Sprint(len(hook.Events())) {
			complaints = append(complaints, fmt.Sprintf("%s says that there are %s events, the table has %d", name, n[2], len(hook.Events())))
		}
		words := strings.Join(strings.Fields(strings.NewReplacer("`", "", "//", "").Replace(string(data))), " ")
		if name != "README.md" && !sentence.MatchString(words) {
			complaints = append(complaints, fmt.Sprintf("%s does not name the gates %s and %s together", name, strings.Join(gates[:last], ", "), gates[last]))
		}
	}
	return complaints
}
