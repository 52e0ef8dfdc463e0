package otelclaude_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const pageWidth = 1200

type recorded = sdktrace.ReadOnlySpan

// waterfall is a trace as testdata/waterfall.html shows it.
type waterfall struct {
	Trace string
	Bars  []*bar // children after their parents, siblings by their start
	start time.Time
	end   time.Time
}

// bar is one span of a waterfall.
type bar struct {
	Name       string
	Notes      []string // attributes
	Kind       string   // how it is coloured
	Depth      int
	Start, End time.Time
	id, parent string
	of         *waterfall
}

// newWaterfall takes the spans of one trace that this process has recorded, and
// what a receiver has of the same trace.
func newWaterfall(t *testing.T, ours []recorded, to *receiver) *waterfall {
	t.Helper()
	w := &waterfall{Trace: ours[0].SpanContext().TraceID().String()}
	var bars []*bar
	for _, s := range ours {
		b := &bar{Name: s.Name(), Kind: "ours", Start: s.StartTime(), End: s.EndTime(), id: s.SpanContext().SpanID().String(), parent: s.Parent().SpanID().String()}
		if strings.HasPrefix(b.Name, "permission ") {
			b.Kind = "wait"
		}
		for _, key := range shown {
			if v := value(s, key); v != "" {
				b.Notes = append(b.Notes, v)
			}
		}
		bars = append(bars, b)
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	for _, s := range to.spans {
		if s.TraceID == w.Trace {
			bars = append(bars, &bar{Name: s.Name, Kind: "theirs", Start: unixNano(t, s.Start), End: unixNano(t, s.End), id: s.SpanID, parent: s.Parent})
		}
	}
	w.arrange(bars)
	return w
}

// unixNano is a time as OTLP has it.
func unixNano(t *testing.T, n json.Number) time.Time {
	t.Helper()
	ns, err := n.Int64()
	if err != nil {
		t.Fatal(err)
	}
	return time.Unix(0, ns)
}

// arrange puts children after their parents, siblings by their start.
func (w *waterfall) arrange(bars []*bar) {
	slices.SortStableFunc(bars, func(a, b *bar) int { return a.Start.Compare(b.Start) })
	known := make(map[string]bool)
	for _, b := range bars {
		known[b.id] = true
	}
	var below func(parent string, depth int)
	below = func(parent string, depth int) {
		for _, b := range bars {
			if b.parent == parent || depth == 0 && !known[b.parent] {
				b.Depth, b.of = depth, w
				w.Bars = append(w.Bars, b)
				below(b.id, depth+1)
			}
		}
	}
	below("", 0)
	w.start, w.end = w.Bars[0].Start, w.Bars[0].End
	for _, b := range w.Bars {
		if b.Start.Before(w.start) {
			w.start = b.Start
		}
		if b.End.After(w.end) {
			w.end = b.End
		}
	}
}

// page draws the waterfall.
func (w *waterfall) page(t *testing.T) []byte {
	t.Helper()
	layout, err := template.ParseFiles("testdata/waterfall.html")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := layout.Execute(&out, w); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Took is how long the whole trace took.
func (w *waterfall) Took() string { return took(w.end.Sub(w.start)) }

// share is which part of the whole a duration is, in percent.
func (w *waterfall) share(d time.Duration) float64 {
	return math.Round(10000*float64(d)/float64(w.end.Sub(w.start))) / 100
}

// tick is a line of the scale.
type tick struct {
	Left float64
	Text string
}

// Ticks are the lines of the scale, at most eight.
func (w *waterfall) Ticks() (ticks []tick) {
	whole, step := w.end.Sub(w.start), 100*time.Millisecond
	for _, factor := range []time.Duration{1, 2, 5, 10, 20, 50, 100} {
		if step = factor * 100 * time.Millisecond; whole/step < 8 {
			break
		}
	}
	for at := time.Duration(0); at < whole-step/3; at += step {
		ticks = append(ticks, tick{w.share(at), fmt.Sprintf("%g s", at.Seconds())})
	}
	return ticks
}

// Took is how long the span took.
func (b *bar) Took() string { return took(b.End.Sub(b.Start)) }

// Left is where the bar begins, in percent.
func (b *bar) Left() float64 { return b.of.share(b.Start.Sub(b.of.start)) }

// Width is how wide the bar is, in percent.
func (b *bar) Width() float64 { return b.of.share(b.End.Sub(b.Start)) }

// Right is how much room there is behind the bar, in percent.
func (b *bar) Right() float64 { return b.of.share(b.of.end.Sub(b.End)) }

// Late reports whether a text does not fit behind the bar.
func (b *bar) Late() bool { return b.Right() < 9 }

// took is a duration as people write it.
func took(d time.Duration) string {
	switch ms := float64(d) / float64(time.Millisecond); {
	case ms == 0:
		return "0"
	case ms < 10:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	default:
		return fmt.Sprintf("%.2f s", ms/1000)
	}
}
