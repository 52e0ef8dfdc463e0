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

// unhookedCases compare a session that nobody observes with the same session in a
// build that could not be observed.
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

// unhookedPairs is how often the two builds take turns.
const unhookedPairs = 7

// unhookedRows measures what the hooks of a Trace cost when nobody uses them: the
// root's own benchmarks, in a build as it is and in one without the hooks. CPU
// time counts, and the median of what two runs in a row differ by.
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
		var times, ratios []float64
		var ours, limit unhookedRun
		for i := range unhookedPairs {
			first, second := &ours, &limit
			programs := []string{with, without}
			if i%2 == 1 { // neither is always the first
				first, second, programs = second, first, []string{without, with}
			}
			if *first, err = runUnhooked(ctx, b.root, programs[0], c.bench, b.scale(c.n)); err != nil {
				return nil, err
			}
			if *second, err = runUnhooked(ctx, b.root, programs[1], c.bench, b.scale(c.n)); err != nil {
				return nil, err
			}
			times, ratios = append(times, ours.ns), append(ratios, ours.ns/limit.ns)
		}
		typical := medianOf(times)
		rows = append(rows,
			row{Case: c.name + unhookedTime, Ours: typical, Limit: new(*typical / *medianOf(ratios))},
			row{Case: c.name + unhookedAllocs, Ours: new(ours.allocs), Limit: new(limit.allocs)})
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

// unhookedRun is what one operation cost in a run of a benchmark.
type unhookedRun struct{ ns, allocs float64 }

var allocsPerOp = regexp.MustCompile(`\s([0-9]+) allocs/op`)

func runUnhooked(ctx context.Context, root, program, pattern string, n int) (unhookedRun, error) {
	cmd := exec.CommandContext(ctx, program, "-test.run", "^$", "-test.bench", pattern, "-test.benchtime", strconv.Itoa(n)+"x")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		return unhookedRun{}, fmt.Errorf("%s: %w\n%s", pattern, err, out)
	}
	found := allocsPerOp.FindSubmatch(out)
	if found == nil {
		return unhookedRun{}, fmt.Errorf("%s: no allocations in\n%s", pattern, out)
	}
	allocs, err := strconv.ParseFloat(string(found[1]), 64)
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return unhookedRun{ns: float64(cpu.Nanoseconds()) / float64(n), allocs: allocs}, err
}

// hookChecks are the places on the path of a line that ask whether somebody
// observes it.
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

// emptyValue is what a method returns that does nothing.
func emptyValue(kind string) (ast.Expr, error) {
	text, ok := map[string]string{
		"context.Context": "ctx", "func(error)": "func(error) {}", "func([]byte)": "nil", "bool": "false", "traced": "traced{}",
	}[kind]
	if !ok {
		return nil, fmt.Errorf("it returns %s: say in emptyValue what that is", kind)
	}
	return parser.ParseExpr(text)
}
