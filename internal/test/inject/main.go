package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
)

// page is where the table goes.
const page = "docs/seeded.md"

func main() {
	write := flag.Bool("write", false, "write "+page)
	only := flag.String("only", "", "a pattern for the names of bugs; the page keeps what it says about the others")
	against := flag.String("against", "", "run go test with these arguments, in this environment, in place of the tests of each bug")
	limit := flag.Duration("limit", 20*time.Minute, "give up after this time")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), *limit)
	defer cancel()
	if err := run(ctx, *only, strings.Fields(*against), *write); err != nil {
		fmt.Println("FAILED:", err)
		os.Exit(1)
	}
}

var errAgainst = errors.New("the page is about the tests of each bug: -write goes without -against")

func run(ctx context.Context, only string, against []string, write bool) error {
	if write && len(against) > 0 {
		return errAgainst
	}
	chosen, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	all, err := bugs()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "seeded-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := copyModule(".", dir); err != nil {
		return err
	}
	var found []finding
	before := findings(page)
	tried, survived := 0, 0
	sound := make(map[string]bool)
	begin := time.Now()
	for _, b := range all {
		if !chosen.MatchString(b.name) {
			found = append(found, finding{b, before[b.name]})
			continue
		}
		tried++
		if !sound[b.build] && len(against) == 0 {
			if got := test(ctx, dir, b.build, choices(all, b.build)); got.failed {
				return fmt.Errorf("go test %s fails without a bug:\n%s", b.build, got.output)
			}
			sound[b.build] = true
		}
		f, err := seed(ctx, dir, b, against)
		if err != nil {
			return err
		}
		if f.by == "" {
			survived++
		}
		fmt.Printf("%-24s %-60s %s\n", b.name, b.what, f.verdict())
		found = append(found, f)
	}
	fmt.Printf("%d bugs, %d caught, %d survived, in %v\n", tried, tried-survived, survived, time.Since(begin).Round(time.Second))
	if write {
		if err := os.WriteFile(page, []byte(table(found)), 0o666); err != nil {
			return err
		}
	}
	if survived > 0 {
		return errors.New("not all bugs were caught")
	}
	return nil
}

// finding is the outcome of trying a bug.
type finding struct {
	bug
	by string // the test that failed, "" if none did
}

func (f finding) verdict() string {
	if f.by == "" {
		return "SURVIVED"
	}
	return "caught by " + f.by
}

// seed puts one bug into the copy, runs its tests or others, and takes it out again.
func seed(ctx context.Context, dir string, b bug, against []string) (finding, error) {
	path, before, after, err := b.change(dir, make(sources))
	if err != nil {
		return finding{}, err
	}
	if err := os.WriteFile(path, after, 0o666); err != nil {
		return finding{}, err
	}
	var got outcome
	if len(against) > 0 {
		got = goTest(ctx, dir, os.Environ(), append([]string{"-timeout=1h"}, against...))
	} else {
		got = test(ctx, dir, b.build, b.run)
	}
	if err := os.WriteFile(path, before, 0o666); err != nil {
		return finding{}, err
	}
	switch {
	case ctx.Err() != nil:
		return finding{}, ctx.Err()
	case got.failed && got.by == "":
		return finding{}, fmt.Errorf("bug %s does not build:\n%s", b.name, got.output)
	}
	return finding{b, got.by}, nil
}

// outcome is that of go test.
type outcome struct {
	failed bool
	by     string // the first test that failed
	output string
}

var (
	failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
	startedRun = regexp.MustCompile(`(?m)^=== RUN   ([^\s/]+)`)
)

// choices is every test that bugs of a build are tried with.
func choices(all []bug, build string) string {
	var patterns []string
	for _, b := range all {
		if b.build == build && !slices.Contains(patterns, b.run) {
			patterns = append(patterns, b.run)
		}
	}
	return strings.Join(patterns, "|")
}

// test runs tests in the copy. They never meet the real CLI there.
func test(ctx context.Context, dir, build, run string) outcome {
	module, own := inModule(dir, strings.Fields(build))
	quick := append(os.Environ(), long.Variable+"=")
	return goTest(ctx, module, quick, append([]string{"-timeout=60s", "-run=" + run}, own...))
}

func goTest(ctx context.Context, module string, env, args []string) outcome {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-count=1", "-v", "-failfast", "-vet=off"}, args...)...)
	cmd.Dir, cmd.Env = module, env
	text, err := cmd.CombinedOutput()
	return judge(string(text), err != nil)
}

// inModule returns the folder of the module that the package of a build is in,
// and the build as that module sees it.
func inModule(dir string, build []string) (module string, own []string) {
	pkg := path.Clean(build[len(build)-1])
	for at := pkg; at != "."; at = path.Dir(at) {
		module = filepath.Join(dir, filepath.FromSlash(at))
		if _, err := os.Stat(filepath.Join(module, "go.mod")); err == nil {
			own = append(own, build[:len(build)-1]...)
			return module, append(own, "./"+strings.TrimPrefix(strings.TrimPrefix(pkg, at), "/"))
		}
	}
	return dir, build
}

// judge reads what go test -v has printed.
func judge(output string, failed bool) outcome {
	got := outcome{failed: failed, output: output}
	if !failed {
		return got
	}
	if m := failedTest.FindStringSubmatch(got.output); m != nil {
		got.by = m[1]
	} else if all := startedRun.FindAllStringSubmatch(got.output, -1); len(all) > 0 {
		got.by = all[len(all)-1][1] // it took the program with it
	}
	return got
}

// copyModule copies what go test needs, with the other modules below: not what is
// hidden.
func copyModule(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, path)
		switch {
		case d.IsDir() && path != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(target, 0o777)
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o666)
	})
}

var row = regexp.MustCompile("(?m)^\\| (\\S+) \\|.*\\| `(\\w+)` \\|$")

// findings reads a page's verdict on each bug, for bugs that are not tried now.
func findings(path string) map[string]string {
	text, _ := os.ReadFile(path) // without a page nothing is known
	by := make(map[string]string)
	for _, match := range row.FindAllStringSubmatch(string(text), -1) {
		by[match[1]] = match[2]
	}
	return by
}

// table is the page.
func table(found []finding) string {
	var b strings.Builder
	b.WriteString("# Seeded bugs\n\nGenerated by `go run ./internal/test/inject -write`, which puts each bug into a copy of the module and runs the tests.\n\n")
	b.WriteString("| bug | what is wrong | where | caught by |\n|---|---|---|---|\n")
	caught := 0
	for _, f := range found {
		by := "**nobody**"
		if f.by != "" {
			by = "`" + f.by + "`"
			caught++
		}
		fmt.Fprintf(&b, "| %s | %s | `%s` | %s |\n", f.name, f.what, f.place(), by)
	}
	fmt.Fprintf(&b, "\n%d of %d were caught.\n", caught, len(found))
	return b.String()
}
