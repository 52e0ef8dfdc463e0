package otelclaude

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/claude-agent-go/claude/message"
)

// metrics are the instruments. Those of the conventions have the buckets that
// the conventions ask for.
type metrics struct {
	duration   metric.Float64Histogram
	firstChunk metric.Float64Histogram
	tokens     metric.Int64Histogram
	cost       metric.Float64Counter
	permission metric.Float64Histogram
	sessions   metric.Int64UpDownCounter
	retries    metric.Int64Counter
	queue      metric.Int64UpDownCounter
	live       metric.Int64UpDownCounter
	wait       metric.Float64Histogram
	fenced     metric.Int64Counter
}

var (
	secondsBuckets = metric.WithExplicitBucketBoundaries(0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
	// waitBuckets reach from a rule that decides at once to a person at lunch.
	waitBuckets  = metric.WithExplicitBucketBoundaries(0.001, 0.01, 0.1, 1, 5, 15, 60, 300, 900, 3600)
	tokenBuckets = metric.WithExplicitBucketBoundaries(1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
)

func newMetrics(m metric.Meter) (*metrics, error) {
	var out metrics
	var errs [11]error
	out.duration, errs[0] = m.Float64Histogram("gen_ai.client.operation.duration", metric.WithUnit("s"), secondsBuckets,
		metric.WithDescription("How long turns and tool calls took."))
	out.firstChunk, errs[1] = m.Float64Histogram("gen_ai.client.operation.time_to_first_chunk", metric.WithUnit("s"), secondsBuckets,
		metric.WithDescription("Time to the first token of a turn, as the CLI measured it."))
	out.tokens, errs[2] = m.Int64Histogram("gen_ai.client.token.usage", metric.WithUnit("{token}"), tokenBuckets,
		metric.WithDescription("Tokens of a turn's main conversation, by kind."))
	out.cost, errs[3] = m.Float64Counter("claude.cost", metric.WithUnit("USD"),
		metric.WithDescription("Cost of turns, subagents included."))
	out.permission, errs[4] = m.Float64Histogram("claude.permission.wait", metric.WithUnit("s"), waitBuckets,
		metric.WithDescription("How long tool calls waited for the permission callback."))
	out.sessions, errs[5] = m.Int64UpDownCounter("claude.sessions", metric.WithUnit("{session}"),
		metric.WithDescription("Sessions that are running."))
	out.retries, errs[6] = m.Int64Counter("claude.api.retries", metric.WithUnit("{retry}"),
		metric.WithDescription("API calls that the CLI repeated."))
	out.queue, errs[7] = m.Int64UpDownCounter("claude.fleet.queue", metric.WithUnit("{prompt}"),
		metric.WithDescription("Prompts that a fleet knows of and that have no outcome."))
	out.live, errs[8] = m.Int64UpDownCounter("claude.fleet.live", metric.WithUnit("{conversation}"),
		metric.WithDescription("Conversations that are awake in a fleet."))
	out.wait, errs[9] = m.Float64Histogram("claude.fleet.wait", metric.WithUnit("s"), waitBuckets,
		metric.WithDescription("How long prompts waited until a CLI got them."))
	out.fenced, errs[10] = m.Int64Counter("claude.fleet.fenced", metric.WithUnit("{refusal}"),
		metric.WithDescription("Writes and renewals that the store refused because another process owns the conversation."))
	return &out, errors.Join(errs[:]...)
}

// operation records the end of a turn or a tool call.
func (m *metrics) operation(ctx context.Context, began time.Time, attrs ...attribute.KeyValue) {
	m.duration.Record(ctx, time.Since(began).Seconds(), metric.WithAttributes(append(attrs, keyProvider.String(provider))...))
}

// result records what a turn used. cost is what it added.
func (m *metrics) result(ctx context.Context, r *message.Result, cost float64, model string) {
	base := []attribute.KeyValue{keyOperation.String(opAgent), keyProvider.String(provider)}
	if model != "" {
		base = append(base, keyResponseModel.String(model))
	}
	common := metric.WithAttributeSet(attribute.NewSet(base...))
	for kind, n := range map[string]int{
		"input":          r.Usage.InputTokens,
		"output":         r.Usage.OutputTokens,
		"cache_read":     r.Usage.CacheReadInputTokens,
		"cache_creation": r.Usage.CacheCreationInputTokens,
	} {
		if n > 0 {
			m.tokens.Record(ctx, int64(n), common, metric.WithAttributes(keyTokenType.String(kind)))
		}
	}
	if r.TTFTMS > 0 {
		m.firstChunk.Record(ctx, r.TTFTMS/1000, common)
	}
	if cost > 0 {
		m.cost.Add(ctx, cost, common)
	}
}
