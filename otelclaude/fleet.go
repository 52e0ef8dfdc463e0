package otelclaude

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
)

// InstrumentFleet returns options whose fleet is observed together with all its
// sessions: the options that Options.Session returns are instrumented as by
// [Instrument], and you need not do that yourself. A Trace in opts is kept and
// still called.
//
// A prompt has the span send_prompt, which belongs to the span in the context of
// Send, and for each attempt to answer it the span run_prompt, in whatever
// process that happens. The turn is a child of run_prompt. Trace contexts are
// stored with the prompts.
func InstrumentFleet(opts fleet.Options, config *Config) (fleet.Options, error) {
	in, err := newInstrumentation(config)
	if err != nil {
		return fleet.Options{}, err
	}
	f := &observedFleet{instrumentation: in}
	opts.Trace = joinFleet(f.trace(), opts.Trace)
	if session := opts.Session; session != nil {
		opts.Session = func(ctx context.Context, key string) (*claude.Options, error) {
			own, err := session(ctx, key)
			if err != nil {
				return nil, err
			}
			return in.options(own), nil
		}
	}
	return opts, nil
}

// observedFleet follows one fleet.
type observedFleet struct {
	*instrumentation
	mu   sync.Mutex
	load fleet.TraceLoad
}

func (f *observedFleet) trace() *fleet.PromptTrace {
	return &fleet.PromptTrace{Sending: f.sending, Running: f.running, Load: f.loaded, Fenced: f.fenced}
}

// start starts a span of a prompt.
func (f *observedFleet) start(ctx context.Context, name string, kind trace.SpanKind, p fleet.TracePrompt, attrs ...attribute.KeyValue) (context.Context, trace.Span) {
	attrs = append(attrs, keyFleetKey.String(p.Key))
	if p.ID != "" {
		attrs = append(attrs, keyPrompt.String(p.ID))
	}
	attrs = append(attrs, f.attributes...)
	return f.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attrs...))
}

// sending follows a prompt until it is accepted.
func (f *observedFleet) sending(ctx context.Context, p fleet.TracePrompt) (map[string]string, func(string, error)) {
	ctx, span := f.start(ctx, "send_prompt", trace.SpanKindProducer, p)
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier, func(id string, err error) {
		if err != nil {
			fail(span, fleetError(err), "")
		} else {
			span.SetAttributes(keyPrompt.String(id))
		}
		span.End()
	}
}

// running follows an attempt to answer a prompt. It belongs to the span in the
// carrier, not to one that the fleet was opened in.
func (f *observedFleet) running(ctx context.Context, p fleet.TracePrompt) (context.Context, func(fleet.TraceOutcome) map[string]string) {
	ctx = trace.ContextWithSpanContext(ctx, trace.SpanContext{})
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier(p.Carrier))
	ctx, span := f.start(ctx, "run_prompt", trace.SpanKindConsumer, p, keyPromptWork.String(string(p.Work)), keyAttempt.Int(p.Attempt))
	if p.Work == fleet.WorkBegins {
		f.metrics.wait.Record(ctx, max(0, time.Since(p.Accepted).Seconds()))
	}
	w := &work{span: span, continues: p.Work != fleet.WorkBegins}
	w.take(p.Carrier)
	return context.WithValue(ctx, workKey{}, w), func(o fleet.TraceOutcome) map[string]string {
		span.SetAttributes(keyPromptStatus.String(string(o.Status)))
		if o.Question != "" {
			span.SetAttributes(keyQuestion.String(o.Question))
		}
		switch {
		case o.Status == fleet.PromptFailed:
			fail(span, errTurn, "")
		case o.Err != nil:
			fail(span, fleetError(o.Err), "")
		}
		span.End()
		return w.carrier(p.Carrier)
	}
}

// loaded records a change of load.
func (f *observedFleet) loaded(l fleet.TraceLoad) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ctx := context.Background()
	if n := l.Queued - f.load.Queued; n != 0 {
		f.metrics.queue.Add(ctx, int64(n))
	}
	if n := l.Live - f.load.Live; n != 0 {
		f.metrics.live.Add(ctx, int64(n))
	}
	f.load = l
}

// fenced counts writes that the store refused. The key is not an attribute: there
// are too many of them.
func (f *observedFleet) fenced(string) { f.metrics.fenced.Add(context.Background(), 1) }

// fleetErrors are the names of a fleet's errors.
var fleetErrors = []struct {
	err  error
	name string
}{
	{fleet.ErrOverloaded, "overloaded"}, {fleet.ErrBudget, "budget_spent"}, {fleet.ErrStuck, "stuck"},
	{fleet.ErrDeleted, "deleted"}, {fleet.ErrClosed, "fleet_closed"},
}

// fleetError is errorType with the errors of a fleet.
func fleetError(err error) string {
	for _, e := range fleetErrors {
		if errors.Is(err, e.err) {
			return e.name
		}
	}
	return errorType(err)
}

// joinFleet returns a Trace that calls ours and then theirs, which may be nil.
// Both add to one carrier; ours wins.
func joinFleet(ours, theirs *fleet.PromptTrace) *fleet.PromptTrace {
	if theirs == nil {
		return ours
	}
	t := &fleet.PromptTrace{Sending: ours.Sending, Running: ours.Running, Load: both(ours.Load, theirs.Load), Fenced: both(ours.Fenced, theirs.Fenced)}
	if theirs.Sending != nil {
		t.Sending = func(ctx context.Context, p fleet.TracePrompt) (map[string]string, func(string, error)) {
			carrier, sent := ours.Sending(ctx, p)
			more, also := theirs.Sending(ctx, p)
			return merged(more, carrier), both2(sent, also)
		}
	}
	if theirs.Running != nil {
		t.Running = func(ctx context.Context, p fleet.TracePrompt) (context.Context, func(fleet.TraceOutcome) map[string]string) {
			ctx, done := ours.Running(ctx, p)
			their, also := theirs.Running(ctx, p)
			if their != nil {
				ctx = their
			}
			if also == nil {
				return ctx, done
			}
			return ctx, func(o fleet.TraceOutcome) map[string]string {
				carrier := done(o)
				return merged(also(o), carrier)
			}
		}
	}
	return t
}

// merged returns the union of both. The second wins.
func merged(first, second map[string]string) map[string]string {
	all := make(map[string]string, len(first)+len(second))
	for _, m := range []map[string]string{first, second} {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}
