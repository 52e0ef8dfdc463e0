// Package telemetry makes the CLI export its own spans, metrics and logs, and join
// the trace of its caller. It edits the environment of the CLI and needs none of
// OpenTelemetry's packages; module otelclaude, which records sessions, builds on it.
//
//	exporter := telemetry.Exporter{Endpoint: "http://localhost:4318"}
//	if err := exporter.Check(); err != nil {
//		return err
//	}
//	opts.Env = exporter.Apply(opts.Env)
//
// Nothing here keeps state: all functions may be called from any goroutine.
package telemetry

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// The protocols of OTLP that the CLI speaks.
const (
	ProtocolHTTPProtobuf = "http/protobuf"
	ProtocolHTTPJSON     = "http/json"
	ProtocolGRPC         = "grpc"
)

// Exporter is where the CLI sends its spans, metrics and logs. Its methods change
// nothing, so any number of goroutines may share one.
type Exporter struct {
	Endpoint string // the URL of an OTLP receiver
	Protocol string // empty: HTTPProtobuf
	Headers  map[string]string
	Content  bool // also prompts, answers, and the input and output of tools
}

// Check reports what is wrong with an exporter.
func (e Exporter) Check() error {
	u, err := url.Parse(e.Endpoint)
	switch {
	case err != nil:
		return errors.New("the endpoint is not a URL") // the error would repeat it
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("the endpoint is not an http or https URL")
	case u.User != nil:
		return errors.New("the endpoint contains credentials: put them in a header")
	}
	switch e.Protocol {
	case "", ProtocolHTTPProtobuf, ProtocolHTTPJSON, ProtocolGRPC:
	default:
		return fmt.Errorf("unknown protocol %q: use %s, %s or %s", e.Protocol, ProtocolHTTPProtobuf, ProtocolHTTPJSON, ProtocolGRPC)
	}
	for name, value := range e.Headers {
		if name == "" || strings.ContainsAny(name+value, "\r\n\x00") {
			return fmt.Errorf("header %q cannot be sent", name)
		}
	}
	return nil
}

// signals are the kinds of telemetry that the CLI exports. Each has variables
// of its own, which take precedence over the common ones.
var signals = [...]string{"TRACES", "METRICS", "LOGS"}

// Apply returns an environment in which the CLI exports to e and nowhere else. In
// particular, it removes every request for the console exporter, which would write
// between the lines of the protocol. Variables of other kinds, such as intervals,
// stay unchanged.
func (e Exporter) Apply(env []string) []string {
	protocol := e.Protocol
	if protocol == "" {
		protocol = ProtocolHTTPProtobuf
	}
	set := [][2]string{
		{"CLAUDE_CODE_ENABLE_TELEMETRY", "1"},
		{"CLAUDE_CODE_ENHANCED_TELEMETRY_BETA", "1"}, // without it there are no spans
		{"OTEL_EXPORTER_OTLP_ENDPOINT", e.Endpoint},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", protocol},
	}
	if headers := e.headers(); headers != "" {
		set = append(set, [2]string{"OTEL_EXPORTER_OTLP_HEADERS", headers})
	}
	drop := []string{"OTEL_SDK_DISABLED"}
	for _, signal := range signals {
		set = append(set, [2]string{"OTEL_" + signal + "_EXPORTER", "otlp"})
		own := "OTEL_EXPORTER_OTLP_" + signal
		drop = append(drop, own+"_ENDPOINT", own+"_PROTOCOL")
		if len(e.Headers) > 0 {
			drop = append(drop, own+"_HEADERS")
		}
	}
	for _, name := range [...]string{"OTEL_LOG_USER_PROMPTS", "OTEL_LOG_ASSISTANT_RESPONSES", "OTEL_LOG_TOOL_DETAILS", "OTEL_LOG_TOOL_CONTENT"} {
		drop = append(drop, name)
		if e.Content {
			set = append(set, [2]string{name, "1"})
		}
	}
	env = without(env, drop...)
	for _, v := range set {
		env = append(without(env, v[0]), v[0]+"="+v[1])
	}
	return env
}

// headers returns the headers in the form of the variable: a list of pairs with
// escaped values, in a fixed order.
func (e Exporter) headers() string {
	var pairs []string
	for name, value := range e.Headers {
		pairs = append(pairs, url.QueryEscape(name)+"="+url.PathEscape(value))
	}
	slices.Sort(pairs)
	return strings.Join(pairs, ",")
}

// without returns an environment without some variables.
func without(env []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, name)
	})
}

// lookup returns the value of a variable. The last of several counts.
func lookup(env []string, name string) (value string, ok bool) {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// Propagate returns an environment with the variables of a trace context, such as
// TRACEPARENT. A context that env already has was chosen and stays, unless it is
// that of this process, in environ: that one was inherited and is replaced. With no
// variables, an inherited context is removed.
func Propagate(env, environ []string, context map[string]string) []string {
	names := [...]string{"TRACEPARENT", "TRACESTATE"}
	for _, name := range names {
		value, set := lookup(env, name)
		inherited, _ := lookup(environ, name)
		if set && value != inherited {
			return env
		}
	}
	env = without(env, names[:]...)
	for _, name := range names {
		if value := context[name]; value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}
