package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// How a test ended on one version.
const (
	passed        = "yes"
	failed        = "FAILED"
	notApplicable = "-"
)

// suite runs the tests with the real CLI on each version and adds their outcomes,
// by version and test. The error names the tests that failed.
func suite(ctx context.Context, versions []string, all map[string]map[string]string) error {
	var broken []error
	for _, version := range versions {
		if _, err := realcli.Install(ctx, version, os.Stderr); err != nil {
			return err
		}
		outcomes, err := runTests(ctx, version, "^TestReal", "./...")
		if err != nil {
			return fmt.Errorf("%s: %w", version, err)
		}
		all[version] = outcomes
		for _, test := range slices.Sorted(maps.Keys(outcomes)) {
			if outcomes[test] == failed {
				broken = append(broken, fmt.Errorf("%s failed on %s", test, version))
			}
		}
	}
	return errors.Join(broken...)
}

// runMissing runs on each version the tests that the page lacks, and drops the
// tests that no longer exist.
func runMissing(ctx context.Context) error {
	page, err := os.ReadFile(suitePage)
	if err != nil {
		return err
	}
	there, err := listTests(ctx)
	if err != nil {
		return err
	}
	all := readSuite(string(page))
	var broken []error
	for _, version := range realcli.Pinned() {
		known := all[version]
		maps.DeleteFunc(known, func(test, _ string) bool { return !slices.Contains(there, test) })
		missing := slices.DeleteFunc(slices.Clone(there), func(test string) bool { return known[test] != "" })
		if len(missing) == 0 {
			continue
		}
		if _, err := realcli.Install(ctx, version, os.Stderr); err != nil {
			return err
		}
		pattern, packages := selection(missing)
		outcomes, err := runTests(ctx, version, pattern, packages...)
		if err != nil {
			return fmt.Errorf("%s: %w", version, err)
		}
		for _, test := range missing { // others of the same name have run before
			known[test] = outcomes[test]
			if outcomes[test] == failed {
				broken = append(broken, fmt.Errorf("%s failed on %s", test, version))
			}
		}
	}
	return errors.Join(errors.Join(broken...), os.WriteFile(suitePage, []byte(renderSuite(realcli.Pinned(), all)), 0o644))
}

// modulePath begins the import paths of packages, and not their names on the page.
const modulePath = "github.com/claude-agent-go/claude"

// listTests lists the tests with the real CLI as the page names them.
func listTests(ctx context.Context) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-json", "-list=^TestReal", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var all []string
	for line := range bytes.Lines(out) {
		var event struct{ Action, Package, Output string }
		if json.Unmarshal(line, &event) == nil && event.Action == "output" && strings.HasPrefix(event.Output, "TestReal") {
			all = append(all, strings.TrimPrefix(event.Package, modulePath)+" "+strings.TrimSpace(event.Output))
		}
	}
	return all, nil
}

// selection is the pattern and the packages by which go test finds some tests.
func selection(tests []string) (pattern string, packages []string) {
	var names []string
	for _, test := range tests {
		dir, name, _ := strings.Cut(test, " ")
		names = append(names, name)
		if pkg := "." + dir; !slices.Contains(packages, pkg) {
			packages = append(packages, pkg)
		}
	}
	return "^(" + strings.Join(names, "|") + ")$", packages
}

// runTests runs tests on one version. Tests that fail are not an error.
func runTests(ctx context.Context, version, pattern string, packages ...string) (map[string]string, error) {
	// One package at a time: old CLIs start slowly, and some tests are held to
	// the time they take.
	args := append([]string{"test", "-count=1", "-p=1", "-timeout=40m", "-json", "-run=" + pattern}, packages...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), realcli.VersionVariable+"="+version, long.Variable+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	outcomes, err := readEvents(io.TeeReader(out, progress{version}))
	if exit, ok := errors.AsType[*exec.ExitError](cmd.Wait()); ok && exit.ExitCode() != 1 {
		return nil, exit
	}
	if err == nil && len(outcomes) == 0 {
		err = errors.New("no test has run")
	}
	return outcomes, err
}

// progress shows the ends of tests to a waiting person.
type progress struct{ version string }

func (p progress) Write(events []byte) (int, error) {
	for line := range bytes.Lines(events) { // a line in two pieces is not shown
		var event struct{ Action, Test string }
		if json.Unmarshal(line, &event) == nil && strings.HasPrefix(event.Test, "TestReal") && !strings.Contains(event.Test, "/") &&
			slices.Contains([]string{"pass", "fail", "skip"}, event.Action) {
			fmt.Fprintf(os.Stderr, "%s: %s %s\n", p.version, event.Test, event.Action)
		}
	}
	return len(events), nil
}

// readEvents reads the outcomes of tests from go test -json, by package and name. A
// test that was skipped for another reason than the version has failed here.
func readEvents(r io.Reader) (map[string]string, error) {
	outcomes := make(map[string]string)
	excused := make(map[string]bool)
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return outcomes, nil
		}
		if err != nil {
			return nil, err
		}
		var event struct{ Action, Package, Test, Output string }
		if json.Unmarshal(line, &event) != nil || event.Test == "" {
			continue
		}
		top, _, sub := strings.Cut(event.Test, "/")
		test := strings.TrimPrefix(event.Package, modulePath) + " " + top
		switch {
		case event.Action == "output" && strings.Contains(event.Output, realcli.NotApplicable+": "):
			excused[event.Test] = true
		case event.Action == "run" && !sub:
			outcomes[test] = failed // until it ends otherwise
		case event.Action == "pass" && !sub:
			outcomes[test] = passed
		case event.Action == "skip" && !sub && excused[event.Test]:
			outcomes[test] = notApplicable
		}
	}
}

// readSuite reads the page that renderSuite writes.
func readSuite(page string) map[string]map[string]string {
	all := make(map[string]map[string]string)
	var versions []string
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 3 {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		name, values := cells[1], cells[2:len(cells)-1]
		if name == "" {
			versions = values
			for _, version := range versions {
				all[version] = make(map[string]string)
			}
		}
		test, ok := strings.CutPrefix(name, "`")
		for i, outcome := range values {
			if ok && outcome != "" && i < len(versions) {
				all[versions[i]][testName(strings.TrimSuffix(test, "`"))] = outcome
			}
		}
	}
	return all
}

// testName is the name of a test as events have it: with the folder of its
// package, which is empty for the root.
func testName(shown string) string {
	if strings.Contains(shown, " ") {
		return shown
	}
	return " " + shown
}

func renderSuite(versions []string, all map[string]map[string]string) string {
	var b strings.Builder
	b.WriteString("# The tests on each version of the CLI\n\nGenerated by `go run ./internal/test/compat -suite`, which runs `go test -run TestReal ./...` with each version. \"-\" means that the test needs something the version does not have, and says so.\n\n")
	row := func(name string, value func(version string) string) {
		fmt.Fprintf(&b, "| %s |", name)
		for _, version := range versions {
			fmt.Fprintf(&b, " %s |", value(version))
		}
		b.WriteString("\n")
	}
	row("", func(version string) string { return version })
	row("---", func(string) string { return "---" })
	for _, kind := range []struct{ name, outcome string }{{"passed", passed}, {"not applicable", notApplicable}, {"failed", failed}} {
		row(kind.name, func(version string) string {
			n := 0
			for _, outcome := range all[version] {
				if outcome == kind.outcome {
					n++
				}
			}
			return fmt.Sprint(n)
		})
	}
	tests := make(map[string]bool)
	for _, outcomes := range all {
		for test := range outcomes {
			tests[test] = true
		}
	}
	for _, test := range slices.Sorted(maps.Keys(tests)) {
		row("`"+strings.TrimPrefix(test, " ")+"`", func(version string) string { return all[version][test] })
	}
	return b.String()
}
