package otelclaude_test

import (
	"context"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/otelclaude"
)

// deltas is how many pieces the answer of a benchmark has.
const deltas = 2000

// stream asks for an answer in many pieces and reads all of them.
func stream(tb testing.TB, opts *claude.Options) (pieces int) {
	for _, err := range claude.Query(context.Background(), "go", opts) {
		if err != nil {
			tb.Fatal(err)
		}
		pieces++
	}
	return pieces
}

func streaming(tb testing.TB, observed bool) *claude.Options {
	opts := &claude.Options{
		PartialMessages: true,
		Transport:       claudetest.New(claudetest.Say(strings.Repeat("word ", deltas)).Chunks(5, 0)),
	}
	if !observed {
		return opts
	}
	opts, err := otelclaude.Instrument(opts, &otelclaude.Config{TracerProvider: sdktrace.NewTracerProvider()})
	if err != nil {
		tb.Fatal(err)
	}
	return opts
}

func BenchmarkDeltas(b *testing.B) {
	for name, observed := range map[string]bool{"off": false, "on": true} {
		b.Run(name, func(b *testing.B) {
			opts := streaming(b, observed)
			b.ReportAllocs()
			for b.Loop() {
				stream(b, opts)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*deltas), "ns/delta")
		})
	}
}
