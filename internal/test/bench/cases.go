package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
)

// contender is a client with a name and what it takes part in.
type contender struct {
	name   string
	client client
}

// The names of contenders.
const (
	nameOurs       = "ours"
	nameTypeScript = "ts"
	nameSplit      = "split"
	nameCheck      = "check"
)

// row is a case and its outcome. The ratios are ours divided by the other;
// what was not measured is nil.
type row struct {
	Case        string   `json:"case"`
	Ours        *float64 `json:"ours"`
	TS          *float64 `json:"ts"`
	Limit       *float64 `json:"limit"`
	OursVsTS    *float64 `json:"ours_vs_ts"`
	OursVsLimit *float64 `json:"ours_vs_limit"`
	Allocs      *float64 `json:"allocs"`
	// Spread is how far our rounds are apart: the middle half of them, as a part
	// of their median.
	Spread *float64 `json:"spread"`
	// The processor time of each client's process, in nanoseconds.
	CPU      *float64 `json:"cpu"`
	TSCPU    *float64 `json:"ts_cpu"`
	LimitCPU *float64 `json:"limit_cpu"`
}

func (r *row) ratios() {
	r.OursVsTS, r.OursVsLimit = ratio(r.Ours, r.TS), ratio(r.Ours, r.Limit)
}

func ratio(a, b *float64) *float64 {
	if a == nil || b == nil || *b == 0 {
		return nil
	}
	return new(*a / *b)
}

// bench holds the clients and how much is to be done.
type bench struct {
	root       string // of the module
	contenders []contender
	rounds     int
	divide     int // what is measured less of: 1 for everything
}

func (b *bench) client(name string) client {
	for _, t := range b.contenders {
		if t.name == name {
			return t.client
		}
	}
	return nil
}

// scale is how many of n are measured.
func (b *bench) scale(n int) int { return max(n/b.divide, 1) }

// group is some cases that are measured together.
type group struct {
	name string
	run  func(context.Context, *bench) ([]row, error)
}

// sessionGroups measure live sessions.
func sessionGroups() []group {
	return []group{
		streamCase("small delta, 250 B", "delta", 50000),
		streamCase("assistant message, 2 KB", "assistant", 10000),
		streamCase("tool result, 100 KB", "100KB", 200),
		streamCase("tool result, 10 MB", "10MB", 3),
		roundTrips("permission", "permission"),
		roundTrips("hook", "hook"),
		roundTrips("MCP tool call", "mcp"),
		{"start", start},
		{"advice", advice},
		{"idle session", idle},
		{"sessions at once", many},
		{"sessions with a process each", manyProcesses},
		{"growth", growth},
	}
}

// interleave measures every contender in turn, rounds times, after one round to
// warm up. A prompt of "" leaves a contender out.
func (b *bench) interleave(ctx context.Context, rounds, n int, prompt func(contender) string) (map[string][]sample, error) {
	samples := make(map[string][]sample)
	for i := range rounds + 1 {
		for _, t := range b.contenders {
			p := prompt(t)
			if p == "" {
				continue
			}
			s, err := t.client.round(ctx, fmt.Sprintf("%s %d", p, n))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.name, err)
			}
			if s.median == 0 && s.messages != n {
				return nil, fmt.Errorf("%s: %d messages of %d", t.name, s.messages, n)
			}
			if i > 0 {
				samples[t.name] = append(samples[t.name], s)
			}
		}
	}
	return samples, nil
}

// median of some quantity of samples, nil if there are none.
func median(samples []sample, of func(sample) float64) *float64 {
	if len(samples) == 0 {
		return nil
	}
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	return medianOf(values)
}

func medianOf(values []float64) *float64 {
	slices.Sort(values)
	return new(values[len(values)/2])
}

// spread of some quantity of samples, nil if there are too few for one.
func spread(samples []sample, of func(sample) float64) *float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	return spreadOf(values)
}

func spreadOf(values []float64) *float64 {
	if len(values) < 4 {
		return nil
	}
	slices.Sort(values)
	quarter := len(values) / 4
	return new((values[len(values)-1-quarter] - values[quarter]) / values[len(values)/2])
}

// processor fills in the processor time of a row for one of n.
func (r *row) processor(samples map[string][]sample, n int) {
	each := func(name string) *float64 {
		cpu := median(samples[name], func(s sample) float64 { return float64(s.cpu) / float64(n) })
		if cpu == nil || *cpu == 0 {
			return nil
		}
		return cpu
	}
	r.CPU, r.TSCPU, r.LimitCPU = each(nameOurs), each(nameTypeScript), each(nameSplit)
}

// streamCase measures n messages in a row, in nanoseconds for each.
func streamCase(name, prompt string, n int) group {
	return group{name, func(ctx context.Context, b *bench) ([]row, error) {
		n := b.scale(n)
		samples, err := b.interleave(ctx, b.rounds, n, func(contender) string { return prompt })
		if err != nil {
			return nil, err
		}
		each := func(s sample) float64 { return float64(s.wall) / float64(n) }
		split := row{
			Case: name + " (limit: split), ns",
			Ours: median(samples[nameOurs], each), TS: median(samples[nameTypeScript], each), Limit: median(samples[nameSplit], each),
			Allocs: median(samples[nameOurs], func(s sample) float64 { return s.allocs / float64(n) }),
			Spread: spread(samples[nameOurs], each),
		}
		split.processor(samples, n)
		check := split
		check.Case, check.Limit, check.LimitCPU = name+" (limit: check), ns", median(samples[nameCheck], each), nil
		return []row{split, check}, nil
	}}
}

// tripRounds is how many rounds of round trips there are for one of messages. A
// whole round of them goes well or badly, as the system happens to place the
// threads of both sides.
const tripRounds = 5

// roundTrips measures requests of the CLI, one after the other, in nanoseconds.
func roundTrips(name, prompt string) group {
	return group{name, func(ctx context.Context, b *bench) ([]row, error) {
		n := b.scale(500)
		samples, err := b.interleave(ctx, tripRounds*b.rounds, n, func(t contender) string {
			switch t.name {
			case nameSplit:
				return echoPrefix + prompt
			case nameCheck:
				return ""
			}
			return prompt
		})
		if err != nil {
			return nil, err
		}
		rows := make([]row, 0, 2)
		for _, q := range []struct {
			name string
			of   func(sample) float64
		}{
			{"median", func(s sample) float64 { return float64(s.median) }},
			{"p99", func(s sample) float64 { return float64(s.p99) }},
		} {
			r := row{
				Case: fmt.Sprintf("%s round trip (limit: echo), %s, ns", name, q.name),
				Ours: median(samples[nameOurs], q.of), TS: median(samples[nameTypeScript], q.of), Limit: median(samples[nameSplit], q.of),
				Allocs: median(samples[nameOurs], func(s sample) float64 { return s.allocs / float64(n) }),
				Spread: spread(samples[nameOurs], q.of),
			}
			r.processor(samples, n)
			rows = append(rows, r)
		}
		return rows, nil
	}}
}

// start measures from nothing to the first message of a turn. The limit is
// the time of the fake CLI itself; the rows of the SDKs show the time above it.
func start(ctx context.Context, b *bench) ([]row, error) {
	times := make(map[string][]float64)
	for i := range b.scale(20) + 1 {
		for _, t := range b.contenders {
			if t.name == nameCheck {
				continue
			}
			d, err := t.client.start(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.name, err)
			}
			if i > 0 {
				times[t.name] = append(times[t.name], float64(d))
			}
		}
	}
	limit := medianOf(times[nameSplit])
	r := row{Case: "start to first message, without the CLI's own time (limit), ns", Limit: limit, Ours: new(*medianOf(times[nameOurs]) - *limit)}
	if ts := times[nameTypeScript]; ts != nil {
		r.TS = new(*medianOf(ts) - *limit)
	}
	return []row{r}, nil
}

// The rows of sessions that wait.
const (
	rowIdle           = "idle session in process, one of 10000, bytes"
	rowIdleGoroutines = "idle session in process, one of 10000, goroutines"
)

// What the page advises, and what it compares with.
const (
	rowCollector = "small delta, 250 B, with GOGC=400 (limit: as it is), ns"
	rowHandover  = "hand-over to another goroutine and back, ns"
	moreGarbage  = 400
)

// advice measures deltas when the collector runs less often, and what it takes to
// give something to another goroutine and to get it back.
func advice(ctx context.Context, b *bench) ([]row, error) {
	n := b.scale(50000)
	var usual, seldom []float64
	for i := range b.rounds + 1 { // the first warms up
		for _, times := range []*[]float64{&usual, &seldom} {
			before := 0
			if times == &seldom {
				before = debug.SetGCPercent(moreGarbage)
			}
			s, err := b.client(nameOurs).round(ctx, fmt.Sprintf("delta %d", n))
			if before != 0 {
				debug.SetGCPercent(before)
			}
			if err != nil {
				return nil, err
			}
			if i > 0 {
				*times = append(*times, float64(s.wall)/float64(n))
			}
		}
	}
	return []row{
		{Case: rowCollector, Ours: medianOf(seldom), Limit: medianOf(usual), Spread: spreadOf(seldom)},
		{Case: rowHandover, Ours: new(handover(b.scale(100000)))},
	}, nil
}

// handover passes something to a goroutine and back, n times, and returns how long
// that takes, in nanoseconds.
func handover(n int) float64 {
	there, back := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(back)
		for range there {
			back <- struct{}{}
		}
	}()
	begin := time.Now()
	for range n {
		there <- struct{}{}
		<-back
	}
	each := float64(time.Since(begin)) / float64(n)
	close(there)
	<-back
	return each
}

// idle measures sessions that wait.
func idle(ctx context.Context, b *bench) ([]row, error) {
	bytes, goroutines, err := idleCost(ctx, b.scale(idleSessions))
	return []row{{Case: rowIdle, Ours: &bytes}, {Case: rowIdleGoroutines, Ours: &goroutines}}, err
}

// many measures sessions at once, in nanoseconds for each message or callback.
func many(ctx context.Context, b *bench) ([]row, error) {
	var rows []row
	for _, of := range []int{1, 10, 100, 1000} {
		n := of
		if b.divide > 10 { // a test
			n = min(of, 10)
		}
		all, err := openSessions(ctx, usualTurn(), n)
		if err != nil {
			return nil, err
		}
		rounds := max(b.scale(1000)/n, 3)
		times := make([]float64, 0, rounds)
		var wall time.Duration
		for range rounds {
			if wall, err = all.run(ctx, usualTurn()); err != nil {
				break
			}
			times = append(times, float64(wall)/float64(n*(manyMessages+manyCallbacks)))
		}
		if closed := all.close(); err == nil {
			err = closed
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{Case: fmt.Sprintf("%d sessions at once × (%d messages + %d callbacks), each, ns", of, manyMessages, manyCallbacks), Ours: medianOf(times)})
	}
	return rows, nil
}

// growth measures deltas in turns of different length, in one session. The
// lengths take turns too.
func growth(ctx context.Context, b *bench) ([]row, error) {
	lengths := []struct{ n, rounds int }{{1e3, 40}, {1e4, 5}, {1e5, 2}, {1e6, 1}}
	times := make([][]float64, len(lengths))
	for range min(b.rounds, 3) {
		for i, l := range lengths {
			n := min(l.n, 1e6/b.divide)
			for range b.scale(l.rounds) {
				s, err := b.client(nameOurs).round(ctx, fmt.Sprintf("delta %d", n))
				if err != nil {
					return nil, err
				}
				if s.messages != n {
					return nil, fmt.Errorf("%d messages of %d", s.messages, n)
				}
				times[i] = append(times[i], float64(s.wall)/float64(n))
			}
		}
	}
	rows := make([]row, len(lengths))
	for i, l := range lengths {
		rows[i] = row{Case: fmt.Sprintf("small delta in a turn of %d, ns", l.n), Ours: medianOf(times[i])}
	}
	return rows, nil
}
