package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// measureTimes measures the part several times in a row. What one run in ten
// breaks is not a promise, so a goal is met only if it was in all of them.
func (p part) measureTimes(ctx context.Context, b *bench, match *regexp.Regexp, asJSON bool, times int) (*measured, error) {
	var runs [][]row
	var m *measured
	for i := range max(times, 1) {
		if times > 1 {
			fmt.Fprintf(os.Stderr, "%s: run %d of %d, load %s\n", p.name, i+1, times, loadAverage())
		}
		one, err := p.measure(ctx, b, match, asJSON)
		if err != nil {
			return nil, err
		}
		if m == nil {
			m = one
		}
		runs = append(runs, one.rows)
	}
	if len(runs) > 1 {
		m.runs, m.rows, m.verdicts = runs, medianRows(runs), judgeRuns(p.goals, runs)
	}
	return m, nil
}

// medianRows has the median of each quantity, over the runs.
func medianRows(runs [][]row) []row {
	rows := slices.Clone(runs[0])
	for i := range rows {
		for _, field := range []func(*row) **float64{
			func(r *row) **float64 { return &r.Ours },
			func(r *row) **float64 { return &r.TS },
			func(r *row) **float64 { return &r.Limit },
			func(r *row) **float64 { return &r.OursVsTS },
			func(r *row) **float64 { return &r.OursVsLimit },
			func(r *row) **float64 { return &r.Allocs },
			func(r *row) **float64 { return &r.Spread },
			func(r *row) **float64 { return &r.CPU },
			func(r *row) **float64 { return &r.TSCPU },
			func(r *row) **float64 { return &r.LimitCPU },
		} {
			if values := column(runs, i, func(r row) *float64 { return *field(&r) }); len(values) > 0 {
				*field(&rows[i]) = medianOf(values)
			}
		}
	}
	return rows
}

// column is one quantity of a case in all runs that have it.
func column(runs [][]row, i int, of func(row) *float64) (values []float64) {
	for _, rows := range runs {
		if v := of(rows[i]); v != nil {
			values = append(values, *v)
		}
	}
	return values
}

// judgeRuns looks at goals in each run.
func judgeRuns(goals []goal, runs [][]row) []verdict {
	type judged struct {
		verdict
		badness float64
	}
	all := make([]verdict, 0, len(goals))
	for i, g := range goals {
		each := make([]judged, 0, len(runs))
		held := 0
		for _, rows := range runs {
			one := judged{verdict: judge(goals, rows)[i]}
			if g.badness != nil {
				if v := g.badness(finder(rows)); v != nil {
					one.badness = *v
				}
			}
			if one.ok {
				held++
			} else {
				one.badness++ // of those that are not compared, the worst is one that was missed
			}
			each = append(each, one)
		}
		slices.SortStableFunc(each, func(a, b judged) int {
			switch {
			case a.badness < b.badness:
				return -1
			case a.badness > b.badness:
				return 1
			}
			return 0
		})
		v := each[len(each)/2].verdict
		v.worst, v.runs, v.held, v.ok = each[len(each)-1].got, len(runs), held, held == len(runs)
		v.promise = g.promise(v.worst)
		all = append(all, v)
	}
	return all
}

// promises lists what held in all of several runs: the goals that were met in each
// of them, and of the others what the worst run reached. It is empty for one run.
func promises(verdicts []verdict) string {
	if len(verdicts) == 0 || verdicts[0].runs < 2 {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, "\n### What held in all %d runs\n\n", verdicts[0].runs)
	for _, v := range verdicts {
		switch {
		case v.worst == "":
		case v.ok:
			fmt.Fprintf(&out, "- %s\n", v.promise)
		default:
			fmt.Fprintf(&out, "- %s (the goal was met in %d)\n", v.promise, v.held)
		}
	}
	return out.String()
}

// worstTable shows what was worst in several runs. It is empty for one.
func worstTable(runs [][]row) string {
	if len(runs) < 2 {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, "\n### The worst of %d runs\n\n| case | ours, median | ours, worst | faster than TypeScript, median | worst | × limit, median | worst |\n|---|--:|--:|--:|--:|--:|--:|\n", len(runs))
	for i, r := range medianRows(runs) {
		name, unit := r.name()
		ours := column(runs, i, func(r row) *float64 { return r.Ours })
		ts := column(runs, i, func(r row) *float64 { return ratio(r.TS, r.Ours) })
		limit := column(runs, i, func(r row) *float64 { return r.OursVsLimit })
		cells := []string{name, format(r.Ours, unit), format(most(ours), unit), "–", "–", "–", "–"}
		if len(ts) > 0 {
			cells[3] = times(medianOf(ts))
			// A time from which another was taken off can be nothing but noise.
			if worst := slices.Min(ts); worst > 0 {
				cells[4] = times(&worst)
			}
		}
		if len(limit) > 0 {
			cells[5], cells[6] = times(medianOf(limit)), times(most(limit))
		}
		out.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return out.String()
}

func most(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	return new(slices.Max(values))
}
