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
const columns = "case|ours|TypeScript|limit|faster than TypeScript|× limit|allocations|spread|CPU|CPU of TypeScript|CPU of the limit"

// rule is the line below it.
func rule() string { return "|---" + strings.Repeat("|--:", strings.Count(columns, "|")) + "|\n" }

// cells are a row for people.
func (r row) cells() []string {
	name, unit := r.name()
	quantity := func(v *float64) string { return format(v, unit) }
	return []string{name, quantity(r.Ours), quantity(r.TS), quantity(r.Limit), times(ratio(r.TS, r.Ours)), times(r.OursVsLimit), format(r.Allocs, ""),
		percent(r.Spread), format(r.CPU, "ns"), format(r.TSCPU, "ns"), format(r.LimitCPU, "ns")}
}

// name returns the name of the case for people, and the unit that is in it.
func (r row) name() (name, unit string) {
	name = r.Case
	if i := strings.LastIndex(name, ", "); i >= 0 {
		unit = name[i+2:]
	}
	return strings.TrimSuffix(name, ", ns"), unit // which shows by itself
}

func percent(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", *v*100)
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
	case ns < 0:
		return "-" + duration(-ns)
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

`, m.part.title, time.Now().UTC().Format(time.DateOnly), processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, m.load, runtime.Version(), officialSDK(), m.part.of)
	out.WriteString(goalTable(m.verdicts))
	out.WriteString(promises(m.verdicts))
	fmt.Fprintf(&out, "\n### What was measured of %s\n\n| %s |\n%s", m.part.of, strings.ReplaceAll(columns, "|", " | "), rule())
	for _, r := range m.rows {
		out.WriteString("| " + strings.Join(r.cells(), " | ") + " |\n")
	}
	out.WriteString(worstTable(m.runs))
	out.WriteString(m.part.method)
	return out.String()
}

// goalTable shows the goals: what was measured once, or in several runs.
func goalTable(verdicts []verdict) string {
	var out strings.Builder
	many := len(verdicts) > 0 && verdicts[0].runs > 1
	if many {
		out.WriteString("| goal | median | worst | held |\n|---|---|---|---|\n")
	} else {
		out.WriteString("| goal | measured | |\n|---|---|---|\n")
	}
	for _, v := range verdicts {
		if many {
			fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", v.text, v.got, v.worst, v.word())
		} else {
			fmt.Fprintf(&out, "| %s | %s | %s |\n", v.text, v.got, v.word())
		}
	}
	return out.String()
}

// loadAverage returns how busy the machine is, where the system reports it.
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

// processor names the processor, where the system reports it.
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
