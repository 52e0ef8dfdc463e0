package policy_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
)

// judged is how many random programs the judge runs:
//
//	LONG_TESTS=1 go test ./permission/policy -run RandomPrograms -v -judge 100000 -timeout 1h
var judged = flag.Int("judge", 20000, "how many random programs of the shell are judged")

// recorders are programs that only note that they were started.
func recorders() []string { return []string{"zap", "zip1", "zop"} }

// recording runs texts and reports which recorders they start, however they name
// them: each has its path in itself.
var recording = trial[[]string]{
	path: "bin",
	prepare: func(dir string, _ int, _ string) error {
		if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
			return err
		}
		for _, name := range recorders() {
			text := fmt.Sprintf("#!/bin/sh\necho %s >> %s/started\necho x\n", name, dir)
			if err := os.WriteFile(filepath.Join(dir, "bin", name), []byte(text), 0o755); err != nil {
				return err
			}
		}
		return nil
	},
	happened: func(dir string, _ []byte) []string {
		text, _ := os.ReadFile(filepath.Join(dir, "started"))
		names := strings.Fields(string(text))
		slices.Sort(names)
		return slices.Compact(names)
	},
}

// observed is of how many random programs one is run in any case.
const observed = 20

// TestRandomPrograms runs random programs of the shell's grammar. A rule about a program
// that bash starts must deny the text: otherwise it is a way around the rule. A text that
// all rules deny is a way around none of them, whatever it does. So bash runs the others, and
// a sample of all, which shows that the grammar still makes programs that do something.
func TestRandomPrograms(t *testing.T) {
	t.Parallel()
	long.Test(t, "runs commands in a shell")
	rules := make(map[string]permission.Func)
	for _, name := range recorders() {
		rules[name] = policy.MustRules("Bash(" + name + ":*)").Deny("no")
	}
	never := policy.MustRules("Bash(nonesuch:*)").Deny("no")
	type program struct {
		passes   []string // the rules that pass it
		observed bool
	}
	var run []program // by bash
	var texts []string
	read := 0
	for i := range *judged {
		text := grammar{rand.New(rand.NewPCG(*seed, uint64(i)))}.program()
		if decided(t, never, bash(text)) == "" {
			read++
		}
		p := program{observed: i%observed == 0}
		for _, name := range recorders() {
			if decided(t, rules[name], bash(text)) != permission.BehaviorDeny {
				p.passes = append(p.passes, name)
			}
		}
		if p.observed || len(p.passes) > 0 {
			run, texts = append(run, p), append(texts, text)
		}
	}
	sampled, effective, bypasses := 0, 0, 0
	for i, names := range recording.effects(t, texts) {
		if run[i].observed {
			sampled++
			if len(names) > 0 {
				effective++
			}
		}
		for _, name := range names {
			if slices.Contains(run[i].passes, name) {
				bypasses++
				t.Errorf("bash starts %s, and the rule about it passes %q", name, texts[i])
			}
		}
	}
	t.Logf("%d random programs of seed %d: the policy understands %d, bash has run %d, %d of %d observed ones start recorders, and %d starts pass a rule", *judged, *seed, read, len(texts), effective, sampled, bypasses)
	if effective < sampled/4 || read < *judged/8 {
		t.Errorf("%d of %d observed programs start something and %d of %d are understood, want many more", effective, sampled, read, *judged)
	}
}

// grammar makes random programs.
type grammar struct{ *rand.Rand }

func (g grammar) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g grammar) program() string {
	text := g.list(1 + g.IntN(3))
	for range g.IntN(9) - 6 { // a few are damaged
		special := g.pick("'", `"`, "`", `\`, "$", "{", "}", "(", ")", "#", "\n", ";", " ", "<(", "$(", "\\\n", "!", "&", "|", "=")
		at := g.IntN(len(text) + 1)
		if g.IntN(3) == 0 && at < len(text) {
			text = text[:at] + text[at+1:]
		} else {
			text = text[:at] + special + text[at:]
		}
	}
	return text
}

// list are commands one after the other.
func (g grammar) list(depth int) string {
	text := g.command(depth)
	for range g.IntN(3) {
		between := g.pick("; ", "\n", " && ", " || ", " | ", " & ", "; ", "\n")
		if strings.HasSuffix(text, "\n") { // of a here-document
			between = ""
		}
		text += between + g.command(depth)
	}
	return text
}

// command is any command.
func (g grammar) command(depth int) string {
	if depth <= 0 {
		return g.recorder()
	}
	d := depth - 1
	switch g.IntN(36) {
	case 0:
		return "if " + g.inner(d) + "then " + g.inner(d) + "fi"
	case 1:
		return "while " + g.inner(d) + "do " + g.inner(d) + "break; done"
	case 2:
		return "for x in " + g.word(d) + " " + g.word(d) + "; do " + g.inner(d) + "done"
	case 3:
		return "case " + g.word(d) + " in " + g.pick("*", "a", "x|*", "(*") + ") " + g.inner(d) + ";; esac"
	case 4:
		return "(" + g.list(d) + "\n)"
	case 5:
		return "{ " + g.inner(d) + "}"
	case 6:
		return "f() { " + g.inner(d) + "}; f " + g.word(d)
	case 7:
		return "[[ " + g.word(d) + g.pick(" == ", " != ", " =~ ", " < ") + g.word(d) + " ]]"
	case 8:
		return "cat <<" + g.pick("E", "-E", "'E'", `"E"`, `\E`) + "\n" + g.quoted(d) + "\n" + g.pick("", g.raw()+"\n") + "E\n"
	case 9:
		return "cat <<< " + g.word(d)
	case 10:
		return g.pick("! ", "time ", "time -p ") + g.command(d)
	case 11:
		return g.pick("eval ", "command ", "builtin eval ", "env ", "exec ", "trap ") + g.pick(g.recorder(), "'"+g.recorder()+"'", g.word(d)) + g.pick("", " EXIT")
	case 12:
		return g.pick("x", "a[0]", "a") + g.pick("=", "+=") + g.pick(g.word(d), "("+g.word(d)+" "+g.word(d)+")")
	case 13:
		return "bash -c " + g.pick("'"+strings.ReplaceAll(g.list(d), "'", `'\''`)+"'", `"`+g.quoted(d)+`"`)
	case 14:
		return "(( " + g.pick("1", "x", "a[0]", "1+'"+g.raw()+"'", `"`+g.quoted(d)+`"`) + " ))"
	case 15:
		return g.command(d) + " " + g.pick("> out", "2>/dev/null", "< /dev/null", "<> out", ">&2", "3<"+g.substitution(d), "> "+g.word(d)) + g.pick("", " # it's", " #"+g.raw())
	case 16:
		return "set -- " + g.word(d) + "; " + g.pick("$1", `"$@"`, "echo $1", g.recorder())
	case 17:
		if g.IntN(4) == 0 {
			return g.word(d) + " " + g.word(d)
		}
	}
	text := g.pick(g.recorder(), "echo", "true", ":", "echo", "cat", "printf %s")
	for range g.IntN(4) {
		text += g.pick(" ", " ", "\t", " \\\n") + g.word(d)
	}
	return g.pick("", "", "x=1 ", "x="+g.word(d)+" ") + text
}

// inner is a list that a keyword follows.
func (g grammar) inner(depth int) string { return g.list(depth) + "\n" }

func (g grammar) recorder() string {
	name := g.pick(recorders()...)
	switch g.IntN(14) {
	case 0:
		return name[:1] + g.pick("''", `""`, `\`, "\\\n", "$'", `"$z"`, "${z}", "$(true)") + name[1:]
	case 1:
		return g.pick("bin/", "./bin/", `"$PWD"/bin/`, "$PWD/bin/", "bin//../bin/") + name
	case 2:
		return g.pick("'", `"`, "$'", "{") + name + g.pick("'", `"`, ",}")
	}
	return name + g.pick("", "", " a", " 'a'")
}

// word is a word of one or more parts.
func (g grammar) word(depth int) string {
	text := ""
	for range 1 + g.IntN(3) {
		text += g.part(depth)
	}
	return text
}

// part is a part of a word outside of quotes.
func (g grammar) part(depth int) string {
	switch g.IntN(18) {
	case 0, 1:
		return "'" + strings.ReplaceAll(g.raw(), "'", "") + "'"
	case 2, 3:
		return `"` + g.quoted(depth) + `"`
	case 4:
		return "$'" + strings.ReplaceAll(g.raw(), "'", `\'`) + "'"
	case 5, 6:
		return g.substitution(depth)
	case 7, 8:
		return g.parameter(depth, false)
	case 9:
		return g.pick("<(", ">(") + g.command(depth-1) + ")"
	case 10:
		return g.pick("{a,b}", "{"+g.pick(recorders()...)+",x}", "*", "?", "[a-z]*", "~", g.pick("b", "c", "@(a|b)"), `\'`, `\"`, "\\`", `\$`, `\ `, "\\\n", "#", "a#b")
	case 11:
		return `$"` + g.quoted(depth) + `"`
	}
	return g.pick("a", "x", "-n", "1", "b.c", g.pick(recorders()...))
}

// quoted is a text for double quotes or a here-document.
func (g grammar) quoted(depth int) string {
	text := ""
	for range g.IntN(4) {
		switch g.IntN(8) {
		case 0, 1:
			text += g.substitution(depth)
		case 2, 3, 4:
			text += g.parameter(depth, true)
		case 5:
			text += g.pick(`\"`, `\$`, "\\`", `\\`, "'", "\\\n", "$", "{", "}", "#", "(", ")", "<(x)", "it's", "!")
		default:
			text += g.pick("a", " b ", "x=1", "\n")
		}
	}
	return text
}

// substitution returns a substitution, such as that of a command's output.
func (g grammar) substitution(depth int) string {
	if depth <= 0 {
		return "$(" + g.recorder() + ")"
	}
	switch g.IntN(6) {
	case 0, 1:
		return g.backquotes(g.list(depth - 1))
	case 2:
		return "$((" + g.pick("1", " 1 + x ", "'1'", `"`+g.quoted(depth-1)+`"`, g.parameter(depth-1, true)) + "))"
	case 3:
		return "$[" + g.pick("1", "x", g.parameter(depth-1, true)) + "]"
	}
	return "$(" + g.list(depth-1) + g.pick("", "\n", " ") + ")"
}

// backquotes are mostly escaped as they must be.
func (g grammar) backquotes(text string) string {
	switch g.IntN(8) {
	case 0:
		text = strings.ReplaceAll(text, "`", strings.Repeat(`\`, g.IntN(5))+"`")
	case 1:
		text = strings.ReplaceAll(strings.ReplaceAll(text, "`", "\\`"), `"`, `\"`)
	default:
		text = strings.NewReplacer(`\`, `\\`, "`", "\\`", "$", g.pick("$", `\$`)).Replace(text)
	}
	return "`" + text + "`"
}

// parameter is the expansion of a variable.
func (g grammar) parameter(depth int, quoted bool) string {
	name := g.pick("x", "z", "a", "a[0]", "1", "@", "HOME", "#", "z")
	if depth <= 0 || g.IntN(6) == 0 {
		return g.pick("$x", "${x}", "$z", "$1", `${a[@]}`, "${#x}", "${!z}", "$@", "$$", "${x:0:1}")
	}
	operand := ""
	for range 1 + g.IntN(2) {
		if quoted && g.IntN(2) == 0 {
			operand += g.pick(g.quoted(depth-1), "'"+g.raw()+"'", `"`+g.quoted(depth-1)+`"`, "'", "$'"+g.raw()+"'", `\}`, "\\'")
		} else {
			operand += g.part(depth - 1)
		}
	}
	return "${" + name + g.pick(":-", "-", ":-", ":=", ":+", "+", ":?", "#", "##", "%", "%%", "/", "//", "/a/", "^", ",,", ":-", "+") + operand + "}"
}

// raw is a text for single quotes. It looks as if it did something.
func (g grammar) raw() string {
	text := ""
	for range g.IntN(3) {
		text += g.pick("a", "$("+g.recorder()+")", "`"+g.recorder()+"`", "${x:-$("+g.recorder()+")}", `"`, `\`, "}", "{", "#", "\n", "$", "'", "<("+g.recorder()+")", ")", "; "+g.recorder()+" ;", "E\n", "\\n", `\x27`, `\'`)
	}
	return text
}
