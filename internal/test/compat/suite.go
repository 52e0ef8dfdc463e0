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

	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// How a test ended on one version.
const (
	passed        = "yes"
	failed        = "FAILED"
	notApplicable = "-"
)

// suite runs the tests with the real CLI on each version and returns the page
// with their outcomes. The error names the tests that failed.
func suite(ctx context.Context, versions []string) (page string, err error) {
	all := make(map[string]map[string]string) // by version and test
	var broken []error
	for _, version := range versions {
		if _, err := realcli.Install(ctx, version, os.Stderr); err != nil {
			return "", err
		}
		outcomes, err := runTests(ctx, version)
		if err != nil {
			return "", fmt.Errorf("%s: %w", version, err)
		}
		all[version] = outcomes
		for _, test := range slices.Sorted(maps.Keys(outcomes)) {
			if outcomes[test] == failed {
				broken = append(broken, fmt.Errorf("%s failed on %s", test, version))
			}
		}
	}
	return renderSuite(versions, all), errors.Join(broken...)
}

// runTests runs the tests on one version. Tests that fail are no error.
func runTests(ctx context.Context, version string) (map[string]string, error) {
	// One package at a time: old CLIs start slowly, and some tests are held to
	// the time they take.
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-p=1", "-timeout=40m", "-json", "-run=^TestReal", "./...")
	cmd.Env = append(os.Environ(), realcli.VersionVariable+"="+version, "CI=true")
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

// progress shows the ends of tests to whoever waits.
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

// readEvents reads what go test -json says of tests, by package and name. A test
// that was skipped for another reason than the version has failed here.
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
		test := strings.TrimPrefix(event.Package, "github.com/claude-agent-go/claude") + " " + top
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

func renderSuite(versions []string, all map[string]map[string]string) string {
	var b strings.Builder
	b.WriteString("# The tests on each version of the CLI\n\nMade by `go run ./internal/test/compat -suite`, which runs `go test -run TestReal ./...` with each version. \"-\" means that a test shows something the version does not have, and says so.\n\n")
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
