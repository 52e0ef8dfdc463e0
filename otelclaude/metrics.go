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
// the conventions prescribe.
type metrics struct {
	duration   metric.Float64Histogram
	firstChunk metric.Float64Histogram
	tokens     metric.Int64Histogram
	cached     metric.Int64Counter
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
	var errs [12]error
	out.duration, errs[0] = m.Float64Histogram("gen_ai.client.operation.duration", metric.WithUnit("s"), secondsBuckets,
		metric.WithDescription("How long turns and tool calls took."))
	out.firstChunk, errs[1] = m.Float64Histogram("gen_ai.client.operation.time_to_first_chunk", metric.WithUnit("s"), secondsBuckets,
		metric.WithDescription("Time to the first token of a turn, as the CLI measured it."))
	out.tokens, errs[2] = m.Int64Histogram("gen_ai.client.token.usage", metric.WithUnit("{token}"), tokenBuckets,
		metric.WithDescription("Tokens of a turn, subagents included. The input includes what was cached."))
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
	out.cached, errs[11] = m.Int64Counter("claude.token.cached", metric.WithUnit("{token}"),
		metric.WithDescription("The part of the input tokens that was read from the cache, or written to it."))
	return &out, errors.Join(errs[:]...)
}

// operation records the end of a turn or a tool call.
func (m *metrics) operation(ctx context.Context, began time.Time, attrs ...attribute.KeyValue) {
	m.duration.Record(ctx, time.Since(began).Seconds(), metric.WithAttributes(append(attrs, keyProvider.String(provider))...))
}

// result records the usage of a turn: tokens by model, and its share of the cost.
func (m *metrics) result(ctx context.Context, r *message.Result, used map[string]message.ModelUsage, cost float64, model string) {
	for name, u := range used {
		m.usage(ctx, u, modelAttributes(name))
	}
	common := modelAttributes(model)
	if r.TTFTMS > 0 {
		m.firstChunk.Record(ctx, r.TTFTMS/1000, common)
	}
	if cost > 0 {
		m.cost.Add(ctx, cost, common)
	}
}

func modelAttributes(model string) metric.MeasurementOption {
	attrs := []attribute.KeyValue{keyOperation.String(opAgent), keyProvider.String(provider)}
	if model != "" {
		attrs = append(attrs, keyResponseModel.String(model))
	}
	return metric.WithAttributeSet(attribute.NewSet(attrs...))
}

// usage records tokens. The conventions know input and output only, and count
// cached tokens as input; so the cached part has an instrument of its own, and a
// sum over the kinds of either counts nothing twice.
func (m *metrics) usage(ctx context.Context, u message.ModelUsage, common metric.MeasurementOption) {
	for kind, n := range map[string]int{"input": inputTokens(u), "output": u.OutputTokens} {
		if n > 0 {
			m.tokens.Record(ctx, int64(n), common, metric.WithAttributes(keyTokenType.String(kind)))
		}
	}
	for kind, n := range map[string]int{"cache_read": u.CacheReadInputTokens, "cache_creation": u.CacheCreationInputTokens} {
		if n > 0 {
			m.cached.Add(ctx, int64(n), common, metric.WithAttributes(keyTokenType.String(kind)))
		}
	}
}

// inputTokens returns the input as the conventions count it. The API counts
// cached tokens separately.
func inputTokens(u message.ModelUsage) int {
	return u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens
}

// usedSince returns the usage between two sums of a session by model. A CLI that
// does not count by model counts at least the main conversation.
func usedSince(before, after map[string]message.ModelUsage, r *message.Result, model string) map[string]message.ModelUsage {
	if len(r.ModelUsage) == 0 && len(r.TurnModelUsage) == 0 {
		return map[string]message.ModelUsage{model: mainUsage(r)}
	}
	used := make(map[string]message.ModelUsage, len(after))
	for name, u := range after {
		b := before[name]
		used[name] = message.ModelUsage{
			InputTokens:              u.InputTokens - b.InputTokens,
			OutputTokens:             u.OutputTokens - b.OutputTokens,
			CacheReadInputTokens:     u.CacheReadInputTokens - b.CacheReadInputTokens,
			CacheCreationInputTokens: u.CacheCreationInputTokens - b.CacheCreationInputTokens,
		}
	}
	return used
}

// mainUsage counts the tokens that the main conversation of a turn used.
func mainUsage(r *message.Result) message.ModelUsage {
	return message.ModelUsage{
		InputTokens: r.Usage.InputTokens, OutputTokens: r.Usage.OutputTokens,
		CacheReadInputTokens: r.Usage.CacheReadInputTokens, CacheCreationInputTokens: r.Usage.CacheCreationInputTokens,
	}
}
