package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// unhookedCases compare an unobserved session with the same session in a build
// that could not be observed.
var unhookedCases = []struct {
	name, bench string
	n           int
}{
	{"small delta", "^BenchmarkStream$", 400_000},
	{"permission round trip", "^BenchmarkFrames$/^permission$", 60_000},
}

const (
	unhookedTime   = ", not observed (limit: a build without the hooks), CPU, ns"
	unhookedAllocs = ", not observed (limit: a build without the hooks), allocations"
)

// unhookedPairs is how often the two builds run side by side.
const unhookedPairs = 7

// unhookedRows measures the cost of the hooks of a Trace when they are not used:
// the root's own benchmarks, in a build as it is and beside it in one without the
// hooks.
func unhookedRows(ctx context.Context, b *bench) (rows []row, err error) {
	dir, err := os.MkdirTemp("", "bench-unhooked-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	overlay, err := withoutHooks(b.root, dir)
	if err != nil {
		return nil, err
	}
	with, without := filepath.Join(dir, "with"), filepath.Join(dir, "without")
	if err := errors.Join(buildTests(ctx, b.root, with), buildTests(ctx, b.root, without, "-overlay", overlay)); err != nil {
		return nil, err
	}
	for _, c := range unhookedCases {
		var allocs [2]float64
		ours, limit, err := ratioBeside(unhookedPairs, func(swapped bool) (float64, float64, error) {
			n := b.scale(c.n)
			of, err := pair(ctx, benchmark(ctx, b.root, with, c.bench, n), benchmark(ctx, b.root, without, c.bench, n), swapped)
			if err != nil {
				return 0, 0, err
			}
			for i := range of {
				if allocs[i], err = readAllocs(of[i].out); err != nil {
					return 0, 0, fmt.Errorf("%s: %w", c.bench, err)
				}
			}
			return float64(of[0].cpu) / float64(n), float64(of[1].cpu) / float64(n), nil
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows,
			row{Case: c.name + unhookedTime, Ours: ours, Limit: limit},
			row{Case: c.name + unhookedAllocs, Ours: &allocs[0], Limit: &allocs[1]})
	}
	return rows, nil
}

// buildTests builds the tests of the root package, where its benchmarks are.
func buildTests(ctx context.Context, root, program string, flags ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-c", "-o", program}, append(flags, ".")...)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", filepath.Base(program), err, out)
	}
	return nil
}

// benchmark runs a benchmark of a program that buildTests has made.
func benchmark(ctx context.Context, root, program, pattern string, n int) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, "-test.run", "^$", "-test.bench", pattern, "-test.benchtime", strconv.Itoa(n)+"x")
	cmd.Dir = root
	return cmd
}

var allocsPerOp = regexp.MustCompile(`\s([0-9]+) allocs/op`)

func readAllocs(out []byte) (float64, error) {
	found := allocsPerOp.FindSubmatch(out)
	if found == nil {
		return 0, fmt.Errorf("no allocations in\n%s", out)
	}
	return strconv.ParseFloat(string(found[1]), 64)
}

// hookChecks are the places on the path of a line that check for an observer.
var hookChecks = map[string]string{
	"internal/peer/peer.go":     "p.cfg.OnLine != nil",
	"internal/ndjson/writer.go": "w.OnWrite != nil",
}

// withoutHooks writes an overlay for go build in which sessions have no hooks: no
// line is looked at, and what calls a Trace returns at once, so that the compiler
// removes the call.
func withoutHooks(root, dir string) (overlay string, err error) {
	replace := make(map[string]string)
	put := func(file string, source []byte) error {
		path := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		replace[filepath.Join(root, filepath.FromSlash(file))] = path
		return os.WriteFile(path, source, 0o600)
	}
	for file, check := range hookChecks {
		source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return "", err
		}
		if n := strings.Count(string(source), check); n != 1 {
			return "", fmt.Errorf("%s has %q %d times, want once", file, check, n)
		}
		if err := put(file, []byte(strings.Replace(string(source), check, "false", 1))); err != nil {
			return "", err
		}
	}
	source, err := os.ReadFile(filepath.Join(root, "trace.go"))
	if err != nil {
		return "", err
	}
	if source, err = emptyTracer(source); err != nil {
		return "", fmt.Errorf("trace.go: %w", err)
	}
	if err := put("trace.go", source); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// emptyTracer lets every method of tracer return at once.
func emptyTracer(source []byte) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "trace.go", source, 0)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil || typeOf(fset, f.Recv.List[0].Type) != "*tracer" {
			continue
		}
		n++
		result := new(ast.ReturnStmt)
		if f.Type.Results != nil {
			for _, r := range f.Type.Results.List {
				value, err := emptyValue(typeOf(fset, r.Type))
				if err != nil {
					return nil, fmt.Errorf("%s: %w", f.Name.Name, err)
				}
				for range max(len(r.Names), 1) {
					result.Results = append(result.Results, value)
				}
			}
		}
		f.Body.List = append([]ast.Stmt{result}, f.Body.List...)
	}
	if n == 0 {
		return nil, errors.New("tracer has no methods")
	}
	var out strings.Builder
	err = printer.Fprint(&out, fset, file)
	return []byte(out.String()), err
}

func typeOf(fset *token.FileSet, e ast.Expr) string {
	var out strings.Builder
	_ = printer.Fprint(&out, fset, e) // a strings.Builder takes everything
	return out.String()
}

// emptyValue returns the result of a method that does nothing.
func emptyValue(kind string) (ast.Expr, error) {
	text, ok := map[string]string{
		"context.Context": "ctx", "func(error)": "func(error) {}", "func([]byte)": "nil", "bool": "false", "traced": "traced{}",
	}[kind]
	if !ok {
		return nil, fmt.Errorf("it returns %s: say in emptyValue what that is", kind)
	}
	return parser.ParseExpr(text)
}
