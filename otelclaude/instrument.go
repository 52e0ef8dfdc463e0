package otelclaude

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/telemetry"
)

// Config configures how sessions are observed. The zero value, or a nil
// pointer, uses the global providers and records no content.
type Config struct {
	// TracerProvider makes the spans. Nil: otel.GetTracerProvider.
	TracerProvider trace.TracerProvider
	// MeterProvider makes the metrics. Nil: otel.GetMeterProvider.
	MeterProvider metric.MeterProvider
	// Attributes are added to every span.
	Attributes []attribute.KeyValue
	// Content records the conversation: prompts, answers, and the input and
	// output of tools. Secrets that the session knows of, or that look like
	// secrets, are replaced, and each text is cut at ContentLimit. Everything
	// else in the conversation is recorded unchanged, so decide who may see
	// your traces.
	Content bool
	// ContentLimit is the longest text of Content, in bytes. 0: 8 KiB.
	ContentLimit int
	// CLI makes the CLI export its own spans, metrics and logs. Nil: its
	// environment decides.
	CLI *CLIExporter
}

// CLIExporter is where the CLI itself sends spans, metrics and logs.
type CLIExporter struct {
	// Endpoint is the URL of an OTLP receiver, such as "http://localhost:4318".
	Endpoint string
	// Protocol is ProtocolHTTPProtobuf, ProtocolHTTPJSON or ProtocolGRPC.
	// Empty: ProtocolHTTPProtobuf.
	Protocol string
	// Headers are sent with each export, for example to sign in.
	Headers map[string]string
	// Content also exports prompts, answers, and the input and output of tools.
	// The CLI sends them itself, so nothing is redacted.
	Content bool
}

// The protocols of OTLP.
const (
	ProtocolHTTPProtobuf = telemetry.ProtocolHTTPProtobuf
	ProtocolHTTPJSON     = telemetry.ProtocolHTTPJSON
	ProtocolGRPC         = telemetry.ProtocolGRPC
)

// closeWait is how long the end of a session waits until the last spans have
// ended.
const closeWait = 2 * time.Second

// Instrument returns a copy of opts whose sessions are observed. A Trace in
// opts is kept and still called. The copy may start any number of sessions,
// even at once. Don't instrument it again, or everything is recorded twice.
//
// Each CLI gets TRACEPARENT and TRACESTATE in its environment, so that the
// programs it starts can join the trace. Those that opts.Env has stay, unless
// they are merely this process's own.
func Instrument(opts *claude.Options, config *Config) (*claude.Options, error) {
	in, err := newInstrumentation(config)
	if err != nil {
		return nil, err
	}
	return in.options(opts), nil
}

// options returns a copy of opts whose sessions are observed.
func (in *instrumentation) options(opts *claude.Options) *claude.Options {
	if opts == nil {
		opts = new(claude.Options)
	}
	own, mine := *opts, *in
	mine.agent, mine.model = opts.Agent, opts.Model
	user := opts.Trace
	own.Trace = &claude.Trace{Starting: func(ctx context.Context, start *claude.TraceStart) *claude.Trace {
		theirs := user
		if user != nil && user.Starting != nil {
			if their := user.Starting(ctx, start); their != nil {
				theirs = their
			}
		}
		return join(mine.begin(ctx, start).trace(), theirs)
	}}
	return &own
}

// instrumentation is shared by the sessions of one Instrument.
type instrumentation struct {
	tracer     trace.Tracer
	metrics    *metrics
	attributes []attribute.KeyValue
	content    bool
	limit      int
	exporter   *telemetry.Exporter
	deferred   *deferrals
	agent      string
	model      string
}

func newInstrumentation(config *Config) (*instrumentation, error) {
	if config == nil {
		config = new(Config)
	}
	in := &instrumentation{attributes: slices.Clone(config.Attributes), content: config.Content, limit: config.ContentLimit, deferred: new(deferrals)}
	if in.limit <= 0 {
		in.limit = 8 << 10
	}
	if c := config.CLI; c != nil {
		in.exporter = &telemetry.Exporter{Endpoint: c.Endpoint, Protocol: c.Protocol, Headers: maps.Clone(c.Headers), Content: c.Content}
		if err := in.exporter.Check(); err != nil {
			return nil, fmt.Errorf("otelclaude: CLI exporter: %w", err)
		}
	}
	tracers := config.TracerProvider
	if tracers == nil {
		tracers = otel.GetTracerProvider()
	}
	meters := config.MeterProvider
	if meters == nil {
		meters = otel.GetMeterProvider()
	}
	in.tracer = tracers.Tracer(ScopeName, trace.WithInstrumentationVersion(claude.Version), trace.WithSchemaURL(schemaURL))
	var err error
	in.metrics, err = newMetrics(meters.Meter(ScopeName, metric.WithInstrumentationVersion(claude.Version), metric.WithSchemaURL(schemaURL)))
	if err != nil {
		return nil, fmt.Errorf("otelclaude: %w", err)
	}
	return in, nil
}

// environ returns the environment of a CLI whose spans belong to ctx.
func (in *instrumentation) environ(ctx context.Context, env []string) []string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	env = telemetry.Propagate(env, os.Environ(), map[string]string{
		"TRACEPARENT": carrier["traceparent"],
		"TRACESTATE":  carrier["tracestate"],
	})
	if in.exporter != nil {
		env = in.exporter.Apply(env)
	}
	return env
}

// join returns a Trace that calls ours and then theirs, which may be nil.
func join(ours, theirs *claude.Trace) *claude.Trace {
	if theirs == nil {
		return ours
	}
	t := *theirs
	t.Starting = nil
	t.StateChanged = both2(ours.StateChanged, theirs.StateChanged)
	t.FrameWritten = both(ours.FrameWritten, theirs.FrameWritten)
	t.FrameRead = both(ours.FrameRead, theirs.FrameRead)
	t.SkipPartialMessages = theirs.FrameRead == nil || theirs.SkipPartialMessages
	t.CallbackDone = both(ours.CallbackDone, theirs.CallbackDone)
	t.RequestDone = both(ours.RequestDone, theirs.RequestDone)
	t.Ended = both(ours.Ended, theirs.Ended)
	t.CloseWait = max(ours.CloseWait, theirs.CloseWait)
	t.PromptSending = func(ctx context.Context, id string) func(error) {
		failed := ours.PromptSending(ctx, id)
		if theirs.PromptSending == nil {
			return failed
		}
		return both(failed, theirs.PromptSending(ctx, id))
	}
	t.CallbackContext = func(ctx context.Context, c claude.TraceCallback) context.Context {
		ctx = ours.CallbackContext(ctx, c)
		if theirs.CallbackContext != nil {
			if their := theirs.CallbackContext(ctx, c); their != nil {
				ctx = their
			}
		}
		return ctx
	}
	return &t
}

func both[A any](ours, theirs func(A)) func(A) {
	if ours == nil || theirs == nil {
		if ours == nil {
			return theirs
		}
		return ours
	}
	return func(a A) {
		ours(a)
		theirs(a)
	}
}

func both2[A, B any](ours, theirs func(A, B)) func(A, B) {
	if ours == nil || theirs == nil {
		if ours == nil {
			return theirs
		}
		return ours
	}
	return func(a A, b B) {
		ours(a, b)
		theirs(a, b)
	}
}
