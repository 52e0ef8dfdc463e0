package otelclaude

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/claude-agent-go/claude/serve"
)

// InstrumentServer returns options whose server is observed: each request has a
// span with the name of its route, and the prompt that it sends belongs to that
// span. If a global propagator finds a parent in the headers of the request, the
// span is its child; see otel.SetTextMapPropagator. A Trace in opts is kept and
// still called.
//
// Instrument the fleet of the server as well, with [InstrumentFleet].
func InstrumentServer(opts serve.Options, config *Config) (serve.Options, error) {
	in, err := newInstrumentation(config)
	if err != nil {
		return serve.Options{}, err
	}
	theirs := opts.Trace
	opts.Trace = func(r *http.Request, route string) (context.Context, func(int)) {
		ctx, done := in.request(r, route)
		if theirs == nil {
			return ctx, done
		}
		their, also := theirs(r.WithContext(ctx), route)
		if their != nil {
			ctx = their
		}
		return ctx, both(done, also)
	}
	return opts, nil
}

// methods are the methods that spans are named after.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// request follows a request.
func (in *instrumentation) request(r *http.Request, route string) (context.Context, func(int)) {
	method, path := r.Method, route
	if !slices.Contains(methods, method) { // clients can make one up
		method = "_OTHER"
	}
	if i := strings.IndexByte(route, '/'); i > 0 { // the part after the method
		path = route[i:]
	}
	name := method
	attrs := []attribute.KeyValue{keyHTTPMethod.String(method)}
	if path != "" {
		name += " " + path
		attrs = append(attrs, keyHTTPRoute.String(path))
	}
	ctx := otel.GetTextMapPropagator().Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := in.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(append(attrs, in.attributes...)...))
	return ctx, func(status int) {
		switch {
		case status == 0:
			fail(span, errAborted, "")
		case status >= http.StatusInternalServerError:
			fail(span, strconv.Itoa(status), "")
		}
		if status > 0 {
			span.SetAttributes(keyHTTPStatus.Int(status))
		}
		span.End()
	}
}
