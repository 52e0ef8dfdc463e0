package takeover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// Plan selects the runs.
type Plan struct {
	Tools  []Tool
	Gates  []Gate
	Delays []time.Duration
	Runs   int // of each moment
	// Writes is the number of writes of a turn at which the process is killed, before and
	// after each; they are spread evenly, and differ from run to run. Negative: at all of
	// them.
	Writes int
	Side   int // how many are made at once
	// Keep is a file to which each run is added as it ends, and whose runs are not made
	// again. Empty: none.
	Keep string
}

// Table is the outcome of runs.
type Table struct {
	Backend string
	mu      sync.Mutex
	rows    map[Case]*row // by tool and gate only
	Faults  []string      // cases, each with what is wrong
}

// row is a row of a table.
type row struct {
	cells               map[string]*cell // by column
	runs, killed        int
	none, once, more    int // runs by their number of effects
	told                int
	asked, anew, unused int
	wrong               int
}

// cell counts the runs of a kind of moment.
type cell struct{ runs, killed, wrong int }

// outcome is how a run ended, as far as a table shows it.
type outcome struct {
	Killed              bool
	Effects             int
	Told                bool
	Asked, Anew, Unused int
	Wrong               []string `json:",omitempty"`
}

// outcomeOf judges a run. An error means that it could not be made.
func outcomeOf(s *Story, err error) (o outcome) {
	if s != nil {
		v := Judge(s)
		o = outcome{s.Killed, len(s.Effects), v.Told, len(s.Questions), v.Anew, v.Unused, v.Wrong}
	}
	if err != nil {
		o.Wrong = append(o.Wrong, err.Error())
	}
	return o
}

// RunAll makes the runs of a plan. Each that is wrong is also printed to log. If it is ended
// early, the table has the runs until then.
func (l *Lab) RunAll(ctx context.Context, p Plan, log io.Writer) (t *Table, err error) {
	t = &Table{Backend: l.Backend.Name, rows: make(map[Case]*row)}
	kept, err := openKept(p.Keep, l.Backend.Name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, kept.close()) }()
	for c, o := range kept.all() {
		if slices.Contains(p.Tools, c.Tool) && slices.Contains(p.Gates, c.Gate) {
			t.add(c, o)
		}
	}
	cases, err := l.cases(ctx, p)
	if err != nil {
		return t, err
	}
	cases = slices.DeleteFunc(cases, kept.has)
	begin, done := time.Now(), 0
	err = side(ctx, p.Side, len(cases), func(ctx context.Context, i int) error {
		s, err := l.Run(ctx, cases[i])
		if ctx.Err() != nil {
			return ctx.Err()
		}
		o := outcomeOf(s, err)
		t.mu.Lock()
		defer t.mu.Unlock()
		if done++; done%25 == 0 {
			fmt.Fprintf(log, "%d of %d runs in %.0f s\n", done, len(cases), time.Since(begin).Seconds())
		}
		if fault := t.add(cases[i], o); fault != "" {
			fmt.Fprintln(log, fault)
		}
		return kept.add(cases[i], o)
	})
	return t, err
}

// cases lists the runs of a plan, so that those side by side are of different kinds.
func (l *Lab) cases(ctx context.Context, p Plan) (all []Case, err error) {
	var kinds []Case
	for _, tool := range p.Tools {
		for _, gate := range p.Gates {
			kinds = append(kinds, Case{Tool: tool, Gate: gate})
		}
	}
	var mu sync.Mutex
	writes := make(map[Case]int) // also by the parity of runs: a deferral has more
	counted := make([]Case, 0, 2*len(kinds))
	for _, c := range kinds {
		for run := range min(2, p.Runs) {
			if c.Run = run; run == 0 || c.Gate == Person {
				counted = append(counted, c)
			}
		}
	}
	if p.Writes != 0 {
		err = side(ctx, p.Side, len(counted), func(ctx context.Context, i int) error {
			n, err := l.Writes(ctx, counted[i])
			mu.Lock()
			defer mu.Unlock()
			writes[counted[i]] = n
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	for run := range p.Runs {
		for _, d := range p.Delays {
			for _, c := range kinds {
				c.Run, c.At = run, Moment{Delay: d}
				all = append(all, c)
			}
		}
		for _, c := range kinds {
			if c.Run = 0; c.Gate == Person {
				c.Run = run % 2
			}
			n := writes[c]
			c.Run = run
			for _, at := range spread(n, p.Writes, run) {
				for _, after := range []bool{false, true} {
					c.At = Moment{Write: at, After: after}
					all = append(all, c)
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Case) int { return cmp.Compare(a.Run, b.Run) })
	return all, nil
}

// spread chooses some of the numbers from 1 to n, different ones for each run.
func spread(n, count, run int) (chosen []int) {
	if count < 0 || count > n {
		count = n
	}
	for i := range count {
		chosen = append(chosen, (i*n/count+run)%n+1)
	}
	return chosen
}

// side calls do with the numbers below n, several at once, until one fails.
func side(ctx context.Context, at, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	places := make(chan struct{}, max(1, at))
	var wg sync.WaitGroup
	for i := 0; i < n && ctx.Err() == nil; i++ {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			if ctx.Err() != nil {
				return
			}
			if err := do(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// add counts a run, and returns what is wrong with it.
func (t *Table) add(c Case, o outcome) (fault string) {
	kind := Case{Tool: c.Tool, Gate: c.Gate}
	r := t.rows[kind]
	if r == nil {
		r = &row{cells: make(map[string]*cell)}
		t.rows[kind] = r
	}
	at := r.cells[c.At.column()]
	if at == nil {
		at = new(cell)
		r.cells[c.At.column()] = at
	}
	at.runs++
	r.count(o)
	if o.Killed {
		at.killed++
	}
	if len(o.Wrong) == 0 {
		return ""
	}
	r.wrong++
	at.wrong++
	fault = fmt.Sprintf("%s: %s: %s", t.Backend, c, strings.Join(o.Wrong, "; "))
	t.Faults = append(t.Faults, fault)
	return fault
}

// count adds what was seen in a run.
func (r *row) count(o outcome) {
	r.runs++
	if o.Killed {
		r.killed++
	}
	switch o.Effects {
	case 0:
		r.none++
	case 1:
		r.once++
	default:
		r.more++
	}
	if o.Told {
		r.told++
	}
	r.asked += o.Asked
	r.anew += o.Anew
	r.unused += o.Unused
}

// Print writes the table in Markdown: for each moment the runs, those that were
// wrong, and the observations in all of them. A run counts as killed if its process
// reached its moment.
func (t *Table) Print(w io.Writer) {
	columns := []string{"writes"}
	for _, d := range Delays() {
		columns = append(columns, d.String())
	}
	fmt.Fprintf(w, "### %s\n\n| tool | gate | %s | killed | effects 0 / 1 / more | told | asked | anew | unused | wrong |\n", t.Backend, strings.Join(columns, " | "))
	fmt.Fprintf(w, "|%s\n", strings.Repeat("---|", len(columns)+9))
	total := new(row)
	for _, tool := range Tools() {
		for _, gate := range Gates() {
			r := t.rows[Case{Tool: tool, Gate: gate}]
			if r == nil {
				continue
			}
			fmt.Fprintf(w, "| %s | %s |", tool, gate)
			for _, name := range columns {
				fmt.Fprintf(w, " %s |", r.cells[name])
			}
			fmt.Fprintf(w, " %d of %d | %d / %d / %d | %d | %d | %d | %d | %d |\n", r.killed, r.runs, r.none, r.once, r.more, r.told, r.asked, r.anew, r.unused, r.wrong)
			total.runs, total.killed, total.wrong = total.runs+r.runs, total.killed+r.killed, total.wrong+r.wrong
		}
	}
	fmt.Fprintf(w, "\n%d runs, %d of them killed, %d wrong.\n", total.runs, total.killed, total.wrong)
	for _, f := range t.Faults {
		fmt.Fprintf(w, "- %s\n", f)
	}
}

// String counts the runs, and those that were wrong.
func (c *cell) String() string {
	switch {
	case c == nil:
		return "-"
	case c.wrong > 0:
		return fmt.Sprintf("%d, **%d wrong**", c.runs, c.wrong)
	}
	return fmt.Sprint(c.runs)
}
