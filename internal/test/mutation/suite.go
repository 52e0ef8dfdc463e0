package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
)

// suite is the test binary of one package, with the mutants of a target in it.
type suite struct {
	pkg    string // of the tests, relative to the module
	binary string
	outer  []string // the command that confines the binary, if there is one
	tests  []*test
}

// test is one test of a suite.
type test struct {
	name    string
	took    time.Duration
	failed  bool
	reached map[int]bool // the mutants that it reaches
}

// tested are the tests that can run again and again: those with the real CLI
// cost seconds each, and show what the CLI does.
var tested = regexp.MustCompile(`^(Test|Fuzz|Example)`)

// build makes the test binary of a package.
func build(ctx context.Context, pkg, overlay, dir string, outer []string) (*suite, error) {
	s := &suite{pkg: pkg, outer: outer, binary: filepath.Join(dir, strings.NewReplacer("/", "-", ".", "root").Replace(pkg)+".test")}
	if _, err := output(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", s.binary, "./"+pkg); err != nil {
		return nil, err
	}
	var list bytes.Buffer
	cmd := s.command(ctx, "-test.list", ".")
	cmd.Stdout = &list
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("list the tests of %s: %w", pkg, err)
	}
	for name := range strings.FieldsSeq(list.String()) {
		if tested.MatchString(name) && !strings.HasPrefix(name, "TestReal") {
			s.tests = append(s.tests, &test{name: name})
		}
	}
	return s, nil
}

// command runs the binary where go test would, and confined.
func (s *suite) command(ctx context.Context, args ...string) *exec.Cmd {
	line := slices.Concat(s.outer, []string{s.binary}, args)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir = filepath.FromSlash(s.pkg)
	cmd.WaitDelay = 5 * time.Second                   // for children that hold the output
	cmd.Env = append(os.Environ(), long.Variable+"=") // mutants meet the quick level
	return cmd
}

// survey runs each test alone, without a mutant, to see how long it takes and
// what it reaches. Tests that fail so are left out and named; so are slow ones,
// because a mutant may have to pass through all tests that reach it.
func (s *suite) survey(ctx context.Context, dir string, workers int, slow time.Duration) (broken []string, err error) {
	each(workers, s.tests, func(t *test) {
		notes := filepath.Join(dir, "reached-"+t.name)
		cmd := s.command(ctx, "-test.run", "^"+t.name+"$", "-test.timeout", "2m")
		cmd.Env = append(cmd.Env, "MUTANT_REACHED="+notes)
		begin := time.Now()
		t.failed = cmd.Run() != nil
		t.took = time.Since(begin)
		t.reached = make(map[int]bool)
		text, _ := os.ReadFile(notes) // none if nothing was reached
		_ = os.Remove(notes)          // another suite may have a test of that name
		for word := range strings.FieldsSeq(string(text)) {
			if id, err := strconv.Atoi(word); err == nil {
				t.reached[id] = true
			}
		}
	})
	for _, t := range s.tests {
		if t.failed {
			broken = append(broken, s.pkg+"."+t.name)
		}
	}
	s.tests = slices.DeleteFunc(s.tests, func(t *test) bool { return t.failed || t.took > slow })
	slices.SortFunc(s.tests, func(a, b *test) int { return int(a.took - b.took) })
	return broken, ctx.Err()
}

// quick is how long a test takes that is tried before the others.
const quick = 300 * time.Millisecond

var failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^panic: |^fatal error: `)

// catches returns the test that notices a mutant, "" if none does. The one that
// noticed it before is tried first.
func (s *suite) catches(ctx context.Context, id int, before string) string {
	var first, early, late []*test
	for _, t := range s.tests {
		switch {
		case !t.reached[id]:
		case s.pkg+"."+t.name == before:
			first = append(first, t)
		case t.took < quick:
			early = append(early, t)
		default:
			late = append(late, t)
		}
	}
	for _, some := range [][]*test{first, early, late} {
		if by := s.run(ctx, id, some); by != "" {
			return by
		}
	}
	return ""
}

// run tries some tests on a mutant.
func (s *suite) run(ctx context.Context, id int, some []*test) string {
	if len(some) == 0 || ctx.Err() != nil {
		return ""
	}
	bound := 15 * time.Second
	names := make([]string, len(some))
	for i, t := range some {
		names[i] = t.name
		bound += 3 * t.took
	}
	bound = min(bound, 60*time.Second)
	ctx, cancel := context.WithTimeout(ctx, bound+10*time.Second)
	defer cancel()
	var out bytes.Buffer
	cmd := s.command(ctx, "-test.run", "^("+strings.Join(names, "|")+")$", "-test.failfast", "-test.timeout", bound.String())
	cmd.Env = append(cmd.Env, "MUTANT="+strconv.Itoa(id))
	cmd.Stdout, cmd.Stderr = &out, &out
	if cmd.Run() == nil {
		return ""
	}
	if m := failedTest.FindSubmatch(out.Bytes()); m != nil && m[1] != nil {
		return s.pkg + "." + string(m[1])
	}
	return s.pkg // a panic, a hang or an exit
}

// reaches reports whether any test reaches the mutant.
func (s *suite) reaches(id int) bool {
	return slices.ContainsFunc(s.tests, func(t *test) bool { return t.reached[id] })
}
