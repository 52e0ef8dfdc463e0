package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

func telemetryGroups() []group {
	return []group{{"telemetry", observed}, {"telemetry, off", unhookedRows}}
}

// observedLine is the line of go test -bench with the medians.
var observedLine = regexp.MustCompile(`(?m)^BenchmarkDeltas(?:-\d+)?\s.*$`)

// observedCases are the metrics of that line by the name of their case.
var observedCases = []struct{ metric, name string }{
	{"on-ns", "small delta, observed (limit: not observed), ns"},
	{"noop-ns", "small delta, observed without an SDK (limit: not observed), ns"},
}

// observed measures what it costs to be observed with OpenTelemetry, in module
// otelclaude: OpenTelemetry is not this module's.
func observed(ctx context.Context, b *bench) ([]row, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-vet=off", "-run", "^$", "-bench", "^BenchmarkDeltas$", "-benchtime", strconv.Itoa(b.scale(500))+"x", ".")
	cmd.Dir = filepath.Join(b.root, "otelclaude")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("otelclaude: %w\n%s", err, out)
	}
	return observedRows(string(out))
}

// observedRows reads what the benchmark has printed.
func observedRows(out string) (rows []row, err error) {
	line := observedLine.FindString(out)
	value := func(metric string) *float64 {
		found := regexp.MustCompile(`([0-9.e+]+) ` + metric + `(?:\s|$)`).FindStringSubmatch(line)
		if found == nil {
			err = fmt.Errorf("otelclaude: no %s in\n%s", metric, out)
			return nil
		}
		var ns float64
		if ns, err = strconv.ParseFloat(found[1], 64); err != nil {
			return nil
		}
		return &ns
	}
	for _, c := range observedCases {
		ours, limit := value(c.metric), value("off-ns")
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{Case: c.name, Ours: ours, Limit: limit})
	}
	return rows, nil
}

// telemetryGoals are about sessions that are observed.
func telemetryGoals() []goal {
	goals := []goal{
		nearLimit("to be observed costs less than 5 % of a stream of deltas", observedCases[0].name, 1.05),
		nearLimit("and without an SDK as well", observedCases[1].name, 1.05),
	}
	for _, c := range unhookedCases {
		goals = append(goals,
			nearLimit("nobody observes, "+c.name+": within 3 % of a build without the hooks", c.name+unhookedTime, 1.03),
			nearLimit("nobody observes, "+c.name+": no allocation more", c.name+unhookedAllocs, 1))
	}
	return goals
}

// telemetryMethod describes how telemetry is measured.
const telemetryMethod = `
### How telemetry is measured

Module ` + "`otelclaude`" + ` has the benchmark (` + "`go test -run '^$' -bench .`" + ` there). Three sessions read the same answers of 2,000 deltas from a CLI without a process, which says them as fast as they are read: one as it is, one that is observed by the OpenTelemetry API without an SDK, and one with the SDK's tracer and meter. They take turns, and the median of each one's rounds counts. A test there that always runs counts the allocations.

What the hooks cost that nobody uses is measured in the root package. Its benchmarks are built twice, once with ` + "`go build -overlay`" + `, so that every call of a Trace is gone and no line is looked at. The two programs run side by side on one core, because the machine changes its pace by more than what is looked for. Their processor time counts, and the median of the ratios of seven pairs.
`
