package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
)

// run is a go test command.
type run struct {
	dir      string   // of the module
	quick    bool     // only the quick level
	packages []string // patterns
	flags    []string // for these packages, whenever their tests run
	limits   []string // for the whole command only
}

// plain lists what is never tested with the race detector, which makes computing
// several times slower and sees nothing where nothing is shared. These packages
// start no goroutine and guard nothing; of a package that does, only some tests
// are named. All others run with it on the quick level, and without it on the long level if
// their tests have more to do there. The packages of [starting] run with it on the long level
// too: there the time is that of the CLI, and what happens is not scripted.
func plain() []plainTests {
	return []plainTests{
		{pkg: "internal/release"},    // it compresses programs and runs others; first, because it takes longest
		{pkg: "fleet/internal/plan"}, // one goroutine that visits half a million worlds
		{pkg: "acp/internal/schemagen"},
		{pkg: "acp/internal/translate"},
		{pkg: "internal/acp/schema"},
		{pkg: "control"},
		{pkg: "fleet/internal/shrink"},
		{pkg: "fleet/internal/slots"},
		{pkg: "hook"},
		{pkg: "internal/brief"},
		{pkg: "internal/edit"},
		{pkg: "internal/form"},
		{pkg: "internal/inspect"},
		{pkg: "internal/jsonx"},
		{pkg: "internal/matcher"},
		{pkg: "internal/operation"},
		{pkg: "internal/price"},
		{pkg: "internal/recordform"},
		{pkg: "internal/regular"},
		{pkg: "internal/restore"},
		{pkg: "internal/schema"},
		{pkg: "internal/scratch"},
		{pkg: "internal/show"},
		{pkg: "internal/terminal"},
		{pkg: "internal/test/conformance"},
		{pkg: "internal/test/corpus"},
		{pkg: "internal/test/cputime"},
		{pkg: "internal/test/inject"},
		{pkg: "internal/test/knots"},
		{pkg: "internal/test/long"},
		{pkg: "internal/test/need"},
		{pkg: "internal/test/parity"},
		{pkg: "internal/test/rules"},
		{pkg: "internal/test/wine"},
		{pkg: "internal/uuid"},
		{pkg: "internal/wire"},
		{pkg: "message"},
		{pkg: "permission"},
		{pkg: "serve/api"},
		{pkg: "telemetry"},
		// Files and lines of many megabytes; tests with the race detector read short ones.
		{pkg: "history", tests: []string{"TestLargeFiles"}},
		{pkg: "internal/mirror", tests: []string{"TestDownIsBounded", "TestSlowIsBounded"}},
		{pkg: "internal/transcript", tests: []string{"TestHostileCompactions", "TestHostileFiles", "TestIndexIsSmall", "TestLineTooLong"}},
		{pkg: "serve/page", tests: []string{"FuzzEverywhere", "TestCostDoesNotGrow", "TestHostileEverywhere", "TestHugeOutput", "TestLongTexts", "TestLongTextsEverywhere"}},
		// Thousands of sessions that fail; TestFail, a sample, has the race detector.
		{pkg: "internal/test/faults", tests: []string{"TestFailEverywhere"}},
		// The end of an output of which every beginning is tried.
		{pkg: "internal/proc", tests: []string{"TestTailNeverStartsInSecret"}},
		// A parser against thousands of texts, which are run in real shells.
		{pkg: "permission/policy", tests: []string{"TestBoundedTime", "TestClasses", "TestFileClasses", "TestFileNumbers", "TestHookClasses", "TestHostileCommands", "TestRandomPrograms", "TestRandomReadings", "TestPushSpellings", "TestShellNumbers", "TestZshNumbers"}},
	}
}

// slowest lists the packages that take longest, in this order: they start first,
// so that none of them runs alone at the end.
func slowest() []string {
	return []string{
		"./cmd/claudectl", "./internal/test/bench", "./serve/page", "./serve", "./acp", "./store", "./fleet",
		"./.", "./examples/service", "./internal/test/faults", "./internal/test/mutation", "./internal/proc",
	}
}

// starting lists the packages whose time is that of the real CLI, which they start
// hundreds of times, those that take longest first.
func starting() []string {
	return []string{"./internal/test/e2e", "./claudetest", "./history", "./permission/policy"}
}

// plainTests are the tests of a package, or some of them.
type plainTests struct {
	pkg   string
	tests []string // all if empty
}

// beside is how many commands of a stage run at once.
const beside = 2

// suite lists what is run: stages, one after the other, whose commands run side by side.
// vet has its own step.
func suite(ctx context.Context, root string) (stages [][]run, err error) {
	racing, deep, err := packages(ctx, root)
	if err != nil {
		return nil, err
	}
	const vet = "-vet=off"
	withCLI := run{dir: root, packages: starting(), flags: []string{vet, "-race"}, limits: []string{"-p=2", "-timeout=30m"}}
	racing = slices.DeleteFunc(racing, func(pkg string) bool { return slices.Contains(withCLI.packages, pkg) })
	whole := run{dir: root, flags: []string{vet}, limits: []string{"-p=2", "-timeout=20m"}}
	parts := run{dir: root, flags: []string{vet}, limits: []string{"-p=1", "-timeout=20m"}}
	var names []string
	for _, p := range plain() {
		pkg := "./" + p.pkg
		switch {
		case len(p.tests) == 0:
			whole.packages = append(whole.packages, pkg)
			racing = slices.DeleteFunc(racing, func(other string) bool { return other == pkg })
			continue
		case slices.Contains(withCLI.packages, pkg):
			parts.packages = append(parts.packages, pkg)
		}
		names = append(names, p.tests...)
	}
	slices.SortStableFunc(racing, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	pattern := "^(" + strings.Join(names, "|") + ")$"
	parts.limits = append(parts.limits, "-run="+pattern)
	withCLI.limits = append(withCLI.limits, "-skip="+pattern)
	// Tests wait for processes and timers half of the time, so three packages at once keep two
	// cores at work. No test has a bound that a busy machine breaks.
	raced := run{dir: root, quick: true, packages: racing, flags: withCLI.flags, limits: []string{"-p=3", "-timeout=20m", "-skip=" + pattern}}
	deep = slices.DeleteFunc(deep, func(pkg string) bool { return !slices.Contains(racing, pkg) })
	slices.SortStableFunc(deep, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	thorough := run{dir: root, packages: deep, flags: []string{vet}, limits: []string{"-p=3", "-timeout=30m"}}
	// Other modules have drivers of their own, and the race detector makes a
	// database that is written in Go crawl.
	mods, err := modules(root)
	if err != nil {
		return nil, err
	}
	var others []run
	for _, dir := range mods {
		others = append(others, run{dir: dir, packages: []string{"./..."}, flags: []string{vet}, limits: []string{"-timeout=20m"}})
	}
	// Tests of databases and of message servers wait for most of their time. The times that
	// parts measures are those of threads, and still it has the machine for itself.
	return [][]run{{raced}, {thorough}, {withCLI, whole}, {parts}, others}, nil
}

// rank is the place of a package among the slowest, or behind them all.
func rank(pkg string) int {
	if i := slices.Index(slowest(), pkg); i >= 0 {
		return i
	}
	return len(slowest())
}

// modules lists the folders of the modules below root that have tests. That of
// the tools has none.
func modules(root string) (dirs []string, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch dir := filepath.Dir(path); {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.Name() == "go.mod" && dir != root && dir != filepath.Join(root, "tools"):
			dirs = append(dirs, dir)
		}
		return nil
	})
	return dirs, err
}

// levels is the package that makes a test one of the long level.
const levels = "github.com/claude-agent-go/claude/internal/test/long"

// packages lists those of the module in root, as patterns. The tests of the deep ones depend
// on levels; those of the others are the same on the long level as on the quick one.
func packages(ctx context.Context, root string) (all, deep []string, err error) {
	const fields = `{{.ImportPath}}{{"\t"}}{{.Dir}}{{"\t"}}{{join .Deps " "}}{{"\t"}}{{join .TestImports " "}} {{join .XTestImports " "}}`
	cmd := exec.CommandContext(ctx, "go", "list", "-f="+fields, "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("%v: %w", cmd, err)
	}
	top, err := filepath.Abs(root)
	if err != nil {
		return nil, nil, err
	}
	var rows [][]string
	knows := map[string]bool{levels: true} // by import path
	for line := range strings.Lines(string(out)) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		rows = append(rows, row)
		if slices.Contains(strings.Fields(row[2]), levels) {
			knows[row[0]] = true
		}
	}
	for _, row := range rows {
		rel, err := filepath.Rel(top, row[1])
		if err != nil {
			return nil, nil, err
		}
		pkg := "./" + filepath.ToSlash(rel)
		all = append(all, pkg)
		if knows[row[0]] || slices.ContainsFunc(strings.Fields(row[3]), func(path string) bool { return knows[path] }) {
			deep = append(deep, pkg)
		}
	}
	return all, deep, nil
}

// all runs the stages and returns what their events said together.
func all(ctx context.Context, stages [][]run, log io.Writer) *results {
	total := newResults()
	var mu sync.Mutex
	each(stages, func(r run) {
		begin := time.Now()
		res := r.test(ctx, slices.Concat(r.limits, r.packages)...)
		var crashes strings.Builder
		for _, id := range res.crashed() {
			fmt.Fprintf(&crashes, "%sagain, whole: %v, in which the race detector itself crashed\n", res.said(id.pkg), id)
			res.replace(id.pkg, r.test(ctx, slices.Concat(r.limits, []string{id.pkg})...))
		}
		mu.Lock()
		defer mu.Unlock()
		total.add(res)
		fmt.Fprintf(log, "%s%s took %.0f s, %.0f s of CPU\n", &crashes, r, time.Since(begin).Seconds(), res.cpu.Seconds())
	})
	return total
}

// each starts the commands of a stage in their order when those of the stage before have
// ended, and no more of them than may run beside each other.
func each(stages [][]run, start func(run)) {
	for _, stage := range stages {
		var wait sync.WaitGroup
		free := make(chan struct{}, beside)
		for _, r := range stage {
			free <- struct{}{}
			wait.Go(func() {
				defer func() { <-free }()
				start(r)
			})
		}
		wait.Wait()
	}
}

func (r run) String() string {
	what := strings.Join(r.packages, " ")
	if len(r.packages) > 20 {
		what = fmt.Sprintf("(%d packages)", len(r.packages))
	}
	level := long.Variable + "=1 "
	if r.quick {
		level = ""
	}
	return fmt.Sprintf("%sgo -C %s test %s %s", level, r.dir, strings.Join(r.flags, " "), what)
}

// environment is that of the tests, on the long level unless quick. A binary with the race detector
// takes a second to exit, so that it can finish its reports. A tenth of that is enough,
// and hundreds of binaries run here, with those that tests start.
func environment(environ []string, quick bool) []string {
	level := "1"
	if quick {
		level = ""
	}
	environ = append(environ, long.Variable+"="+level)
	if slices.ContainsFunc(environ, func(entry string) bool { return strings.HasPrefix(entry, "GORACE=") }) {
		return environ
	}
	return append(environ, "GORACE=atexit_sleep_ms=100")
}

// test runs go test with the flags of r and with args.
func (r run) test(ctx context.Context, args ...string) *results {
	res := newResults()
	cmd := exec.CommandContext(ctx, "go", "test", "-json", "-count=1")
	cmd.Args = append(append(cmd.Args, r.flags...), args...)
	cmd.Dir = r.dir
	cmd.Env = environment(os.Environ(), r.quick)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Stderr = &res.stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		err = res.read(out, r)
		err = errors.Join(err, cmd.Wait())
		res.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !(ok && exit.ExitCode() == 1 && res.explained()) {
		res.broken = append(res.broken, fmt.Errorf("%v: %w", cmd, err))
	}
	return res
}
