package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
)

// binary is a compiled test binary.
type binary struct {
	pkg  string
	dir  string // where it runs
	path string
}

// compile compiles the tests of packages.
func compile(ctx context.Context, dir, scratch string, patterns []string) ([]binary, error) {
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	list := exec.CommandContext(ctx, "go", "list", "-f={{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}")
	list.Args = append(list.Args, patterns...)
	list.Dir, list.Stderr = dir, os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("%v: %w", list, err)
	}
	var binaries []binary
	for line := range strings.Lines(string(out)) {
		pkg, home, _ := strings.Cut(strings.TrimSpace(line), " ")
		if pkg != "" {
			// The last folder is the package's, as under go test: some tests look at
			// their own name.
			path := filepath.Join(scratch, strconv.Itoa(len(binaries)), filepath.Base(home)+".test")
			binaries = append(binaries, binary{pkg, home, path})
		}
	}
	errs := make([]error, len(binaries))
	each(len(binaries), runtime.NumCPU(), func(i int) {
		build := exec.CommandContext(ctx, "go", "test", "-c", "-o", binaries[i].path, binaries[i].pkg)
		build.Dir = dir
		if out, err := build.CombinedOutput(); err != nil {
			errs[i] = fmt.Errorf("%v: %w\n%s", build, err, out)
		}
	})
	return binaries, cmp.Or(errs...)
}

// outcome is how the tests of a package went.
type outcome struct {
	pkg    string
	err    error
	output []byte
	cpu    time.Duration // with the processes that it waited for
}

// round runs each binary once, several at a time as go test does.
func (p *plan) round(ctx context.Context, binaries []binary) []outcome {
	outcomes := make([]outcome, len(binaries))
	each(len(binaries), cmp.Or(p.procs, runtime.NumCPU()), func(i int) {
		outcomes[i] = p.test(ctx, binaries[i])
	})
	return outcomes
}

// test runs a binary as go test does.
func (p *plan) test(ctx context.Context, b binary) outcome {
	limit := "10m"
	if p.long {
		limit = "30m"
	}
	cmd := exec.CommandContext(ctx, b.path, "-test.paniconexit0", "-test.timeout="+limit)
	cmd.Dir = b.dir
	cmd.Env = p.environment(os.Environ(), b.dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute // for what a test has left behind, which holds the output
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	o := outcome{pkg: b.pkg, err: err, output: output.Bytes()}
	if state := cmd.ProcessState; state != nil {
		o.cpu = state.UserTime() + state.SystemTime()
	}
	return o
}

// environment is that of the tests.
func (p *plan) environment(environ []string, dir string) []string {
	environ = slices.DeleteFunc(environ, func(entry string) bool { return strings.HasPrefix(entry, long.Variable+"=") })
	environ = append(environ, "PWD="+dir)
	if p.long {
		environ = append(environ, long.Variable+"=1")
	}
	if p.procs > 0 {
		environ = append(environ, "GOMAXPROCS="+strconv.Itoa(p.procs))
	}
	return environ
}

// each calls f for 0 to n-1, some of them at once.
func each(n, atOnce int, f func(i int)) {
	var wait sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i := range n {
		slots <- struct{}{}
		wait.Go(func() {
			f(i)
			<-slots
		})
	}
	wait.Wait()
}

// cpu returns their total CPU time.
func cpu(outcomes []outcome) (sum time.Duration) {
	for _, o := range outcomes {
		sum += o.cpu
	}
	return sum
}

// dearest prints the packages that took the most CPU.
func dearest(w io.Writer, outcomes []outcome) {
	sorted := slices.SortedFunc(slices.Values(outcomes), func(a, b outcome) int { return cmp.Compare(b.cpu, a.cpu) })
	for _, o := range sorted[:min(10, len(sorted))] {
		fmt.Fprintf(w, "%7.1f s of CPU %s\n", o.cpu.Seconds(), o.pkg)
	}
}
