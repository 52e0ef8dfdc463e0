package policy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"testing"
)

// Every expression of the package compiles, and the look at the first byte of a text changes
// nothing that it fits. Expressions are compiled when they are first used, so a mistake would
// show only there.
func TestExpressionsCompile(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	values := make(constants)
	var calls []*ast.CallExpr
	set := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || name == "expression.go" {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				return !expressionMakers[n.Name.Name]
			case *ast.ValueSpec:
				for i, value := range n.Values {
					values[n.Names[i].Name] = value
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.Ident); ok && expressionMakers[f.Name] {
					calls = append(calls, n)
				}
			}
			return true
		})
	}
	for _, call := range calls {
		text, err := values.evaluate(call)
		if err == nil {
			err = fitsAsCompiled(text)
		}
		if err != nil {
			t.Errorf("%s: %v", set.Position(call.Pos()), err)
		}
	}
	if len(calls) < 250 {
		t.Errorf("%d expressions were found, want those of the whole package", len(calls))
	}
}

// expressionMakers are the functions that make expressions.
var expressionMakers = map[string]bool{"lazily": true, "option": true, "word": true, "argument": true, "formats": true}

// constants are the values of the package by name.
type constants map[string]ast.Expr

// evaluate returns the text of an expression that is made of literals, constants and the
// functions of this package that make such texts.
func (c constants) evaluate(e ast.Expr) (string, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.INT {
			return e.Value, nil
		}
		return strconv.Unquote(e.Value) // of a rune as well
	case *ast.Ident:
		if value, ok := c[e.Name]; ok {
			return c.evaluate(value)
		}
	case *ast.ParenExpr:
		return c.evaluate(e.X)
	case *ast.BinaryExpr:
		left, err := c.evaluate(e.X)
		if err != nil {
			return "", err
		}
		right, err := c.evaluate(e.Y)
		return left + right, err
	case *ast.CallExpr:
		var args []string
		for _, arg := range e.Args {
			text, err := c.evaluate(arg)
			if err != nil {
				return "", err
			}
			args = append(args, text)
		}
		return call(fmt.Sprint(e.Fun), args)
	}
	return "", fmt.Errorf("cannot be evaluated: %T", e)
}

func call(name string, args []string) (string, error) {
	number := func(i int) int { n, _ := strconv.Atoi(args[i]); return n }
	switch name {
	case "lazily", "argument", "formats", "string":
		return args[0], nil
	case "word":
		return word(args[0]).text, nil
	case "option":
		return option(args[0], number(1), args[2:]...).text, nil
	case "abbreviated":
		return abbreviated(args[0], number(1)), nil
	}
	return "", fmt.Errorf("cannot be evaluated: %s", name)
}

// fitsAsCompiled compares what an expression fits with what it fits when it is compiled, for
// texts that begin with every byte and texts along its own paths.
func fitsAsCompiled(text string) error {
	compiled, err := regexp.Compile(text)
	if err != nil {
		return err
	}
	e := lazily(text)
	parsed, _ := syntax.Parse(text, syntax.Perl)
	prog, _ := syntax.Compile(parsed.Simplify())
	rnd := rand.New(rand.NewPCG(uint64(len(text)), 35))
	samples := []string{"", "-", "--", "é", "\xff", "\u212a"}
	for c := range 256 {
		samples = append(samples, string([]byte{byte(c)}), string([]byte{byte(c), 'a'}))
	}
	for range 50 {
		samples = append(samples, along(prog, rnd))
	}
	for _, s := range samples {
		if want := compiled.MatchString(s); e.MatchString(s) != want || (e.FindStringSubmatch(s) != nil) != want {
			return fmt.Errorf("%q fits %q: %t, want %t", text, s, !want, want)
		}
	}
	return nil
}

// along returns a text that one way through an expression reads, if its conditions hold.
func along(prog *syntax.Prog, rnd *rand.Rand) string {
	var text strings.Builder
	for at, steps := prog.Start, 0; steps < 200; steps++ {
		switch inst := prog.Inst[at]; inst.Op {
		case syntax.InstMatch, syntax.InstFail:
			return text.String()
		case syntax.InstAlt, syntax.InstAltMatch:
			if at = int(inst.Out); rnd.IntN(2) == 0 {
				at = int(inst.Arg)
			}
		case syntax.InstRune, syntax.InstRune1:
			from := 2 * rnd.IntN((len(inst.Rune)+1)/2)
			r := inst.Rune[from]
			if from+1 < len(inst.Rune) {
				r += rnd.Int32N(min(inst.Rune[from+1]-r, 200) + 1)
			}
			text.WriteRune(r)
			at = int(inst.Out)
		case syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			text.WriteRune('a' + rnd.Int32N(300))
			at = int(inst.Out)
		default:
			at = int(inst.Out)
		}
	}
	return text.String()
}
