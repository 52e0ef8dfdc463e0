package telemetry_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/telemetry"
)

func TestApply(t *testing.T) {
	e := telemetry.Exporter{Endpoint: "http://127.0.0.1:4318", Headers: map[string]string{"x-key": "a b,c"}}
	env := e.Apply([]string{
		"PATH=/bin", "OTEL_TRACES_EXPORTER=console", "OTEL_METRICS_EXPORTER=console,otlp", "OTEL_LOG_USER_PROMPTS=1",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://elsewhere", "OTEL_METRIC_EXPORT_INTERVAL=100",
	})
	slices.Sort(env)
	want := []string{
		"CLAUDE_CODE_ENABLE_TELEMETRY=1",
		"CLAUDE_CODE_ENHANCED_TELEMETRY_BETA=1",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318",
		"OTEL_EXPORTER_OTLP_HEADERS=x-key=a%20b%2Cc",
		"OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
		"OTEL_LOGS_EXPORTER=otlp",
		"OTEL_METRICS_EXPORTER=otlp",
		"OTEL_METRIC_EXPORT_INTERVAL=100",
		"OTEL_TRACES_EXPORTER=otlp",
		"PATH=/bin",
	}
	if !slices.Equal(env, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(env, "\n"), strings.Join(want, "\n"))
	}
	e.Content = true
	if env := e.Apply(nil); !slices.Contains(env, "OTEL_LOG_USER_PROMPTS=1") || !slices.Contains(env, "OTEL_LOG_TOOL_CONTENT=1") {
		t.Errorf("no content in %q", env)
	}
}

func TestCheck(t *testing.T) {
	for endpoint, want := range map[string]string{
		"http://127.0.0.1:4318":        "",
		"https://collector.example/x":  "",
		"":                             "not an http or https URL",
		"127.0.0.1:4318":               "not a URL",
		"localhost:4318":               "not an http or https URL",
		"https://me:pass@host.example": "credentials",
		"console":                      "not an http or https URL",
	} {
		err := telemetry.Exporter{Endpoint: endpoint}.Check()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", endpoint, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "pass") {
			t.Errorf("the password is in %v", err)
		}
	}
	if err := (telemetry.Exporter{Endpoint: "http://h", Protocol: "console"}).Check(); err == nil {
		t.Error("protocol console was accepted")
	}
	if err := (telemetry.Exporter{Endpoint: "http://h", Headers: map[string]string{"a": "b\nc"}}).Check(); err == nil {
		t.Error("a header of two lines was accepted")
	}
}

func TestPropagate(t *testing.T) {
	ours := map[string]string{"TRACEPARENT": "ours", "TRACESTATE": "s=1"}
	for name, c := range map[string]struct {
		env, environ []string
		context      map[string]string
		want         []string
	}{
		"none before":              {[]string{"A=1"}, nil, ours, []string{"A=1", "TRACEPARENT=ours", "TRACESTATE=s=1"}},
		"inherited":                {[]string{"TRACEPARENT=old", "TRACESTATE=o=1"}, []string{"TRACEPARENT=old", "TRACESTATE=o=1"}, ours, []string{"TRACEPARENT=ours", "TRACESTATE=s=1"}},
		"inherited state":          {[]string{"TRACESTATE=o=1"}, []string{"TRACESTATE=o=1"}, map[string]string{"TRACEPARENT": "ours"}, []string{"TRACEPARENT=ours"}},
		"inherited, no span":       {[]string{"TRACEPARENT=old"}, []string{"TRACEPARENT=old"}, nil, []string{}},
		"chosen":                   {[]string{"TRACEPARENT=mine"}, []string{"TRACEPARENT=old"}, ours, []string{"TRACEPARENT=mine"}},
		"chosen behind an old one": {[]string{"TRACEPARENT=old", "TRACEPARENT=mine"}, []string{"TRACEPARENT=old"}, ours, []string{"TRACEPARENT=old", "TRACEPARENT=mine"}},
	} {
		if got := telemetry.Propagate(c.env, c.environ, c.context); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
