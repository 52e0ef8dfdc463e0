package policy_test

import (
	"flag"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
)

// readings is how many random programs the judge of reading runs:
//
//	LONG_TESTS=1 go test ./permission/policy -run RandomReadings -v -readings 20000 -timeout 1h
var readings = flag.Int("readings", 1500, "how many random programs that read files are judged")

// TestRandomReadings runs random programs that read files by names which they
// assemble. A rule about a file whose text comes out must deny the program:
// otherwise it is a way around the rule.
func TestRandomReadings(t *testing.T) {
	t.Parallel()
	texts := make([]string, *readings)
	for i := range texts {
		g := reader{grammar{rand.New(rand.NewPCG(*seed, uint64(i)+1<<32))}}
		texts[i] = g.program()
	}
	passes := make([][2]bool, len(texts))
	run := trial[reached]{cwd: "repo", home: "home", happened: whatHappened,
		prepare: func(dir string, i int, text string) error {
			if err := prepareProject(dir); err != nil {
				return err
			}
			ctx := permission.WithHome(t.Context(), filepath.Join(dir, "home"))
			req := bash(text)
			req.Cwd = filepath.Join(dir, "repo")
			for n, rule := range []string{"Read(.env)", "Read(./.env)"} {
				d, err := policy.MustRules(rule).At(req.Cwd).Deny("no")(ctx, req)
				passes[i][n] = err == nil && d.Behavior() != permission.BehaviorDeny
			}
			return nil
		}}
	leaks, bypasses, understood := 0, 0, 0
	for i, r := range run.effects(t, texts) {
		if passes[i][0] {
			understood++
		}
		if !r.read {
			continue
		}
		leaks++
		if passes[i][0] || passes[i][1] {
			bypasses++
			t.Errorf("bash reads .env, and a rule about it passes %q", texts[i])
		}
	}
	t.Logf("%d random programs of seed %d: %d of them read .env, %d pass the rule, and %d do both", len(texts), *seed, leaks, understood, bypasses)
	if leaks < len(texts)/4 || understood < len(texts)/20 {
		t.Errorf("%d of %d programs read the file and %d pass, want many more", leaks, len(texts), understood)
	}
}

// reader makes random programs that read files.
type reader struct{ grammar }

// program puts a name together in some steps and reads the file.
func (g reader) program() string {
	name := ".env"
	if g.IntN(4) == 0 {
		name = g.pick("notes.txt", "sub/in", "./notes.txt") // a harmless one
	}
	setup, word := g.name(name, 1+g.IntN(3))
	if g.IntN(5) == 0 {
		return g.pick("true; ", "x=1; ", "f=a; ", "cd .; ", "shopt -s nullglob; ", "IFS=$' \\t\\n'; ") + setup + g.read(word)
	}
	return setup + g.read(word)
}

// read is a command that reads a file.
func (g reader) read(word string) string {
	return strings.ReplaceAll(g.pick("cat @", "grep '' @", "cat < @", "head -1 @", "sed '' @", "awk 1 @", "while read l; do echo $l; done < @", "echo \"$(<@)\"", "mapfile m < @; echo ${m[0]}", "for q in @; do grep '' $q; done", "if true; then grep '' @; fi", "{ cat; } < @", "f9() { grep '' \"$1\"; }; f9 @", "bash -c 'grep \"\" \"$1\"' _ @", "cp @ copy", "exec 5< @; cat <&5", "tac @ | cat", "set -- @; grep '' $1", "z=@; grep '' $z", "xargs grep '' <<< @", "nl @"), "@", word)
}

// name returns commands that assemble a name, and the word that then stands for
// it.
func (g reader) name(name string, depth int) (setup, word string) {
	v := g.pick("a", "b", "c", "d", "e", "f")
	if depth == 0 {
		at := 1 + g.IntN(len(name)-1)
		switch g.IntN(8) {
		case 0:
			return "", name[:at] + "''" + name[at:]
		case 1:
			return "", "'" + name[:at] + `'"` + name[at:] + `"`
		case 2:
			return "", name[:at] + "${none}" + name[at:]
		case 3:
			return "", name[:at] + `\` + name[at:]
		case 4:
			return "", name[:at] + "{" + name[at:at+1] + ",}" + name[at+1:]
		case 5:
			return "", name[:at] + "[" + name[at:at+1] + "]" + name[at+1:]
		case 6:
			return "", name[:at] + "?" + name[at+1:]
		}
		return "", name
	}
	at := 1 + g.IntN(len(name)-1)
	quote := func(expansion string) string { return g.pick(expansion, `"`+expansion+`"`) }
	inner := func(text string) (string, string) {
		if g.IntN(2) == 0 || len(text) < 2 || strings.ContainsAny(text, " :#%") {
			return "", "'" + text + "'"
		}
		return g.name(text, depth-1)
	}
	switch g.IntN(22) {
	case 0:
		s, w := inner(name + "x")
		return s + v + "=" + w + "; ", quote("${" + v + "%x}")
	case 1:
		s, w := inner("x" + name)
		return s + v + "=" + w + "; ", quote("${" + v + "#x}")
	case 2:
		s, w := inner("xy" + name)
		return s + v + "=" + w + "; ", quote("${" + v + ":2}")
	case 3:
		s, w := inner(name[:at] + "X" + name[at:])
		return s + v + "=" + w + "; ", quote("${" + v + g.pick("/X/", "//X", "/X") + "}")
	case 4:
		s, w := inner(strings.ToUpper(name))
		return s + v + "=" + w + "; ", quote("${" + v + ",,}")
	case 5:
		s, w := inner(name[:at])
		return s + v + "=" + w + "; ", quote("${"+v+"}") + name[at:]
	case 6:
		s, w := inner(name[at:])
		return s + v + "=" + w + "; ", name[:at] + quote("$"+v)
	case 7:
		s, w := inner(name)
		return s + v + "=(x " + w + " y); ", quote("${" + v + g.pick("[1]", "[@]:1:1", "[*]:1:1", "[-2]") + "}")
	case 8:
		s, w := inner(name[:at])
		return s + v + "=" + w + "; " + v + "+=" + name[at:] + "; ", quote("$" + v)
	case 9:
		s, w := inner(name)
		return s + "set -- x " + w + "; ", quote(g.pick("$2", "${2}", "${@:2:1}", "${@: -1}"))
	case 10:
		s, w := inner("x" + name)
		return s + "read " + v + " <<< " + w + "; ", quote("${" + v + "#x}")
	case 11:
		return g.pick("printf -v "+v, "printf -v"+v) + " '%s%s' '" + name[:at] + "' '" + name[at:] + "'; ", quote("$" + v)
	case 12:
		return v + "=$(echo " + name[:at] + "); ", quote("$"+v) + name[at:]
	case 13:
		return "", "$(printf '" + name[:at] + "%s' '" + name[at:] + "')"
	case 14:
		return "IFS=:; " + v + "=x:" + name[:at] + "; ", "$" + v + name[at:]
	case 15:
		return "declare -l " + v + "=" + strings.ToUpper(name) + "; ", quote("$" + v)
	case 16:
		return "[[ x" + name + " =~ x(.*) ]]; ", `"${BASH_REMATCH[1]}"`
	case 17:
		s, w := inner(name)
		return s + v + "=" + w + "; " + g.pick("g", "h", "i") + "=$" + v + "; g=$" + v + "; ", quote("$g")
	case 18:
		return "declare -A " + v + "=([" + name + "x]=1); for k in \"${!" + v + "[@]}\"; do " + "j=${k%x}; done; ", quote("$j")
	case 19:
		return "", "${none:-" + name[:at] + "}" + name[at:]
	case 20:
		return "mapfile -t " + v + " <<< 'x" + name + "'; ", quote("${" + v + "[0]#x}")
	}
	return "", "$'" + name[:at] + `\x` + hexOf(name[at]) + "'" + name[at+1:]
}

func hexOf(c byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[c>>4], digits[c&15]})
}
