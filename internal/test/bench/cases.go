package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// track is a client with a name and what it takes part in.
type track struct {
	name string
	lane lane
}

// The names of tracks.
const (
	trackOurs  = "ours"
	trackTS    = "ts"
	trackSplit = "split"
	trackCheck = "check"
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
	root   string // of the module
	tracks []track
	rounds int
	divide int // what is measured less of: 1 for everything
}

func (b *bench) lane(name string) lane {
	for _, t := range b.tracks {
		if t.name == name {
			return t.lane
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
		stream("small delta, 250 B", "delta", 100000),
		stream("assistant message, 2 KB", "assistant", 30000),
		stream("tool result, 100 KB", "100KB", 400),
		stream("tool result, 10 MB", "10MB", 6),
		trips("permission", "permission"),
		trips("hook", "hook"),
		trips("MCP tool call", "mcp"),
		{"start", start},
		{"idle session", idle},
		{"sessions at once", many},
		{"growth", growth},
	}
}

// interleave measures every track in turn, rounds times, after one round to
// warm up. A prompt of "" leaves a track out.
func (b *bench) interleave(ctx context.Context, rounds, n int, prompt func(track) string) (map[string][]sample, error) {
	samples := make(map[string][]sample)
	for i := range rounds + 1 {
		for _, t := range b.tracks {
			p := prompt(t)
			if p == "" {
				continue
			}
			s, err := t.lane.round(ctx, fmt.Sprintf("%s %d", p, n))
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
	return middle(values)
}

func middle(values []float64) *float64 {
	slices.Sort(values)
	return new(values[len(values)/2])
}

// stream measures n messages in a row, in nanoseconds for each.
func stream(name, prompt string, n int) group {
	return group{name, func(ctx context.Context, b *bench) ([]row, error) {
		n := b.scale(n)
		samples, err := b.interleave(ctx, b.rounds, n, func(track) string { return prompt })
		if err != nil {
			return nil, err
		}
		each := func(s sample) float64 { return float64(s.wall) / float64(n) }
		split := row{
			Case: name + " (limit: split), ns",
			Ours: median(samples[trackOurs], each), TS: median(samples[trackTS], each), Limit: median(samples[trackSplit], each),
			Allocs: median(samples[trackOurs], func(s sample) float64 { return s.allocs / float64(n) }),
		}
		check := split
		check.Case, check.Limit = name+" (limit: check), ns", median(samples[trackCheck], each)
		return []row{split, check}, nil
	}}
}

// tripRounds is how many rounds of round trips there are for one of messages. A
// whole round of them goes well or badly, as the system happens to place the
// threads of both sides.
const tripRounds = 5

// trips measures requests of the CLI, one after the other, in nanoseconds.
func trips(name, prompt string) group {
	return group{name, func(ctx context.Context, b *bench) ([]row, error) {
		n := b.scale(1000)
		samples, err := b.interleave(ctx, tripRounds*b.rounds, n, func(t track) string {
			switch t.name {
			case trackSplit:
				return echoPrefix + prompt
			case trackCheck:
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
			rows = append(rows, row{
				Case: fmt.Sprintf("%s round trip (limit: echo), %s, ns", name, q.name),
				Ours: median(samples[trackOurs], q.of), TS: median(samples[trackTS], q.of), Limit: median(samples[trackSplit], q.of),
				Allocs: median(samples[trackOurs], func(s sample) float64 { return s.allocs / float64(n) }),
			})
		}
		return rows, nil
	}}
}

// start measures from nothing to the first message of a turn. The limit is
// what the fake CLI itself needs for that; of the SDKs what is above it.
func start(ctx context.Context, b *bench) ([]row, error) {
	times := make(map[string][]float64)
	for i := range b.scale(20) + 1 {
		for _, t := range b.tracks {
			if t.name == trackCheck {
				continue
			}
			d, err := t.lane.start(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.name, err)
			}
			if i > 0 {
				times[t.name] = append(times[t.name], float64(d))
			}
		}
	}
	limit := middle(times[trackSplit])
	r := row{Case: "start to first message, without the CLI's own time (limit), ns", Limit: limit, Ours: new(*middle(times[trackOurs]) - *limit)}
	if ts := times[trackTS]; ts != nil {
		r.TS = new(*middle(ts) - *limit)
	}
	return []row{r}, nil
}

// idle measures sessions that wait.
func idle(ctx context.Context, b *bench) ([]row, error) {
	bytes, goroutines, err := footprint(ctx, b.scale(1000))
	return []row{
		{Case: "idle session in process, bytes", Ours: &bytes},
		{Case: "idle session in process, goroutines", Ours: &goroutines},
	}, err
}

// many measures sessions at once, in nanoseconds for each message or callback.
func many(ctx context.Context, b *bench) ([]row, error) {
	var rows []row
	for _, of := range []int{1, 10, 100, 1000} {
		n := of
		if b.divide > 10 { // a test
			n = min(of, 10)
		}
		all, err := gather(ctx, n)
		if err != nil {
			return nil, err
		}
		rounds := max(b.scale(1000)/n, 3)
		times := make([]float64, 0, rounds)
		var wall time.Duration
		for range rounds {
			if wall, err = all.run(ctx); err != nil {
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
		rows = append(rows, row{Case: fmt.Sprintf("%d sessions at once × (%d messages + %d callbacks), each, ns", of, manyMessages, manyCallbacks), Ours: middle(times)})
	}
	return rows, nil
}

// growth measures deltas in turns of different length, in one session. The
// lengths take turns too.
func growth(ctx context.Context, b *bench) ([]row, error) {
	lengths := []struct{ n, rounds int }{{1e3, 60}, {1e4, 10}, {1e5, 3}, {1e6, 1}}
	times := make([][]float64, len(lengths))
	for range min(b.rounds, 5) {
		for i, l := range lengths {
			n := min(l.n, 1e6/b.divide)
			for range b.scale(l.rounds) {
				s, err := b.lane(trackOurs).round(ctx, fmt.Sprintf("delta %d", n))
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
		rows[i] = row{Case: fmt.Sprintf("small delta in a turn of %d, ns", l.n), Ours: middle(times[i])}
	}
	return rows, nil
}
