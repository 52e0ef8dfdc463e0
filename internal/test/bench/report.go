package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/claude-agent-go/claude/internal/test/officialsdk"
)

// The header of the table.
const columns = "case|ours|TypeScript|limit|faster than TypeScript|× limit|allocations"

// cells are a row for people.
func (r row) cells() []string {
	name, unit := r.Case, ""
	if i := strings.LastIndex(name, ", "); i >= 0 {
		unit = name[i+2:]
	}
	name = strings.TrimSuffix(name, ", ns") // which shows by itself
	quantity := func(v *float64) string { return format(v, unit) }
	return []string{name, quantity(r.Ours), quantity(r.TS), quantity(r.Limit), times(ratio(r.TS, r.Ours)), times(r.OursVsLimit), format(r.Allocs, "")}
}

func times(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.2f×", *v)
}

// format writes a quantity with three digits or so.
func format(v *float64, unit string) string {
	switch {
	case v == nil:
		return "–"
	case unit == "ns":
		return duration(*v)
	case unit == "bytes":
		return fmt.Sprintf("%.1f KiB", *v/1024)
	}
	return fmt.Sprintf("%.1f", *v)
}

func duration(ns float64) string {
	switch {
	case ns >= 1e6:
		return fmt.Sprintf("%.2f ms", ns/1e6)
	case ns >= 1e3:
		return fmt.Sprintf("%.2f µs", ns/1e3)
	}
	return fmt.Sprintf("%.0f ns", ns)
}

// table is all rows for a terminal.
func table(rows []row) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.ReplaceAll(columns, "|", "\t"))
	for _, r := range rows {
		fmt.Fprintln(w, strings.Join(r.cells(), "\t"))
	}
	w.Flush()
	return out.String()
}

// page is docs/performance.md.
func page(rows []row, verdicts []verdict, load string) string {
	var out strings.Builder
	fmt.Fprintf(&out, `# Performance

Written by `+"`go run ./internal/test/bench -write docs/performance.md`"+`, which measures everything again. Ratios count; times are those of one machine. They mean something when nothing else runs on it: with a load of more than its cores before the start, promises may seem broken that hold.

| | |
|---|---|
| date | %s |
| machine | %s, %d cores, %s/%s |
| load before | %s |
| Go | %s |
| official TypeScript SDK | %s |

## What is promised

| promise | measured | |
|---|---|---|
`, time.Now().UTC().Format(time.DateOnly), processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, load, runtime.Version(), rival())
	for _, v := range verdicts {
		fmt.Fprintf(&out, "| %s | %s | %s |\n", v.text, v.got, v.word())
	}
	out.WriteString("\n## What was measured\n\n| " + strings.ReplaceAll(columns, "|", " | ") + " |\n|---|--:|--:|--:|--:|--:|--:|\n")
	for _, r := range rows {
		out.WriteString("| " + strings.Join(r.cells(), " | ") + " |\n")
	}
	out.WriteString(method)
	return out.String()
}

// method says how the numbers come about.
const method = `
Allocations are those of this process, for each message or round trip.

## How it is measured

The benchmark plays the CLI itself: started again with a variable set, it is a fake CLI that writes as fast as it is read. This SDK, the TypeScript SDK (in a node process of its own) and the limits start that same program and ask it for the same rounds by a prompt. Rounds of different clients take turns, and the median of a client's rounds counts, so that a noisy machine disturbs all of them alike. One round before the first is not counted.

- **Messages** are timed by the client, from the prompt to the result, and divided by their number. Every message is decoded and its text looked at. Every client must get every message.
- **Round trips** are timed by the fake CLI, from its request to the reply, one after the other, with the same clock for all clients. The median and the 99th percentile of a round are taken, and the median of those over all rounds.
- **Start** is the time from nothing to the first message of a turn, process and handshake included, without what the fake CLI itself needs for that, which is the limit. A real CLI needs about half a second more; see Pool for that.
- **Idle sessions** use a transport without a process and without goroutines, so that what is counted belongs to the session: the heap after a collection, and stacks. Each has had a turn before.
- **Sessions at once** use the same transport. A turn ends only when all of its messages were sent and all of its callbacks answered, so that a loss would be an error.

The limits: *split* reads the same pipe and only finds the ends of lines; *check* also asks ` + "`encoding/json`" + ` whether each line is valid; *echo* writes each request back as it came, without an SDK.
`

// loadAverage says how busy the machine is, where the system says it.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(text)); err == nil && len(fields) > 0 {
		return fields[0]
	}
	return "unknown"
}

// rival names the SDK that was raced.
func rival() string {
	out, err := exec.Command("node", "--version").Output()
	if err != nil {
		return "not measured: node is missing"
	}
	return fmt.Sprintf("%s %s on node %s", officialsdk.Name, officialsdk.Version, bytes.TrimSpace(out))
}

// processor names the processor, where the system says it.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "processor unknown"
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "processor unknown"
}
