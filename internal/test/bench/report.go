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
	case unit == "bytes" && *v >= 1<<20:
		return fmt.Sprintf("%.1f MiB", *v/(1<<20))
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

// section writes the part of the page.
func (m *measured) section() string {
	var out strings.Builder
	fmt.Fprintf(&out, `## %s

| | |
|---|---|
| date | %s |
| machine | %s, %d cores, %s/%s |
| load before | %s |
| Go | %s |
| official TypeScript SDK | %s |

### Goals for %s

| goal | measured | |
|---|---|---|
`, m.part.title, time.Now().UTC().Format(time.DateOnly), processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, m.load, runtime.Version(), officialSDK(), m.part.of)
	for _, v := range m.verdicts {
		fmt.Fprintf(&out, "| %s | %s | %s |\n", v.text, v.got, v.word())
	}
	fmt.Fprintf(&out, "\n### What was measured of %s\n\n| %s |\n|---|--:|--:|--:|--:|--:|--:|\n", m.part.of, strings.ReplaceAll(columns, "|", " | "))
	for _, r := range m.rows {
		out.WriteString("| " + strings.Join(r.cells(), " | ") + " |\n")
	}
	out.WriteString(m.part.method)
	return out.String()
}

// loadAverage says how busy the machine is, where the system says it.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(text)); err == nil && len(fields) > 0 {
		return fields[0]
	}
	return "unknown"
}

// officialSDK names the SDK that was raced.
func officialSDK() string {
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
