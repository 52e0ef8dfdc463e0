package otelclaude_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/otelclaude"
)

// recorder keeps what a session recorded.
type recorder struct {
	t      *testing.T
	spans  *tracetest.SpanRecorder
	reader *sdkmetric.ManualReader
	tracer *sdktrace.TracerProvider
	config otelclaude.Config
}

func record(t *testing.T) *recorder {
	r := &recorder{t: t, spans: tracetest.NewSpanRecorder(), reader: sdkmetric.NewManualReader()}
	r.tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r.spans))
	r.config.TracerProvider = r.tracer
	r.config.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader))
	return r
}

// instrument returns opts that are recorded.
func (r *recorder) instrument(opts *claude.Options) *claude.Options {
	r.t.Helper()
	own, err := otelclaude.Instrument(opts, &r.config)
	if err != nil {
		r.t.Fatal(err)
	}
	return own
}

// request returns a context with a span, as a server's handler has it.
func (r *recorder) request() (ctx context.Context, end func()) {
	ctx, span := r.tracer.Tracer("test").Start(r.t.Context(), "request")
	return ctx, func() { span.End() }
}

// deferAndResume has a prompt whose call is deferred, and then resumes the session
// in another process, where the call runs. The CLI has an id for the prompt, and
// none for a call that is made again.
func (r *recorder) deferAndResume(opts *claude.Options) {
	r.t.Helper()
	decision := hook.DeferTool()
	opts.Hooks = []hook.Hook{hook.PreToolUse("", func(_ context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
		if again := opts.Resume != ""; again != (in.PromptID == "") {
			r.t.Errorf("prompt id %q, made again: %t", in.PromptID, again)
		}
		return decision, nil
	})}
	ctx, end := r.request()
	result, err := claude.Ask(ctx, "make it", opts)
	end()
	if err != nil || result.DeferredToolUse == nil {
		r.t.Fatalf("%+v, %v", result, err)
	}
	decision = hook.AllowTool("")
	opts.Resume = result.SessionID
	ctx, end = r.request()
	s, err := claude.Connect(ctx, opts)
	end()
	if err != nil {
		r.t.Fatal(err)
	}
	defer s.Close()
	r.readTurn(s)
}

// readTurn reads the messages of a session, up to a result.
func (r *recorder) readTurn(s *claude.Session) {
	r.t.Helper()
	for m, err := range s.Messages(r.t.Context()) {
		if err != nil {
			r.t.Fatal(err)
		}
		if m.Head().Type == "result" {
			return
		}
	}
}

// shown are the attributes that a tree shows.
var shown = []attribute.Key{"claude.prompt.status", "claude.tool.outcome", "claude.permission.decision", "error.type"}

// tree renders the spans that have ended, children below their parents and
// siblings by their text. It fails the test if a span has not ended.
func (r *recorder) tree() string {
	r.t.Helper()
	ended := r.spans.Ended()
	if n := len(r.spans.Started()); n != len(ended) {
		for _, s := range r.spans.Started() {
			if !slices.ContainsFunc(ended, func(e sdktrace.ReadOnlySpan) bool {
				return e.SpanContext().SpanID() == s.SpanContext().SpanID()
			}) {
				r.t.Errorf("span %q has not ended", s.Name())
			}
		}
	}
	children := make(map[trace.SpanID][]sdktrace.ReadOnlySpan)
	known := make(map[trace.SpanID]bool)
	for _, s := range ended {
		known[s.SpanContext().SpanID()] = true
	}
	for _, s := range ended {
		parent := s.Parent().SpanID()
		if !known[parent] {
			parent = trace.SpanID{}
		}
		children[parent] = append(children[parent], s)
	}
	return render(children, trace.SpanID{}, "")
}

func render(children map[trace.SpanID][]sdktrace.ReadOnlySpan, parent trace.SpanID, indent string) string {
	var texts []string
	for _, s := range children[parent] {
		texts = append(texts, indent+describe(s)+"\n"+render(children, s.SpanContext().SpanID(), indent+"  "))
	}
	slices.Sort(texts)
	return strings.Join(texts, "")
}

func describe(s sdktrace.ReadOnlySpan) string {
	text := s.Name()
	for _, key := range shown {
		if v := value(s, key); v != "" {
			text += fmt.Sprintf(" %s=%s", key[strings.LastIndex(string(key), ".")+1:], v)
		}
	}
	for _, e := range s.Events() {
		text += " +" + e.Name
	}
	if (s.Status().Code == codes.Error) != (value(s, "error.type") != "") {
		text += " STATUS DIFFERS"
	}
	return text
}

// value returns an attribute of a span as text, "" for none.
func value(s sdktrace.ReadOnlySpan, key attribute.Key) string {
	for _, a := range s.Attributes() {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}

// find returns the one span of a name.
func (r *recorder) find(name string) sdktrace.ReadOnlySpan {
	r.t.Helper()
	var found []sdktrace.ReadOnlySpan
	for _, s := range r.spans.Ended() {
		if s.Name() == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		r.t.Fatalf("%d spans %q in\n%s", len(found), name, r.tree())
	}
	return found[0]
}

// want compares the tree of spans.
func (r *recorder) want(tree string) {
	r.t.Helper()
	tree = strings.TrimPrefix(strings.ReplaceAll(tree, "\t", ""), "\n")
	if got := r.tree(); got != tree {
		r.t.Errorf("spans:\n%s\nwant:\n%s", got, tree)
	}
}

// points returns the values of the metrics: the count of histograms, the sum of
// counters, by name and by one attribute.
func (r *recorder) points(by attribute.Key) map[string]float64 {
	r.t.Helper()
	var data metricdata.ResourceMetrics
	if err := r.reader.Collect(context.Background(), &data); err != nil {
		r.t.Fatal(err)
	}
	points := make(map[string]float64)
	add := func(name string, set attribute.Set, v float64) {
		if a, ok := set.Value(by); ok {
			name += " " + a.String()
		}
		points[name] += v
	}
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					add(m.Name, p.Attributes, float64(p.Count))
				}
			case metricdata.Histogram[int64]:
				for _, p := range d.DataPoints {
					add(m.Name, p.Attributes, float64(p.Sum))
				}
			case metricdata.Sum[float64]:
				for _, p := range d.DataPoints {
					add(m.Name, p.Attributes, p.Value)
				}
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					add(m.Name, p.Attributes, float64(p.Value))
				}
			default:
				r.t.Fatalf("metric %s is a %T", m.Name, d)
			}
		}
	}
	return points
}
