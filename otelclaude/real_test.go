package otelclaude_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/otelclaude"
)

// receiver takes OTLP as JSON over HTTP.
type receiver struct {
	*httptest.Server

	mu      sync.Mutex
	spans   []exportedSpan
	metrics []string
	logs    int
}

// exportedSpan is a span of the CLI.
type exportedSpan struct {
	TraceID    string `json:"traceId"`
	SpanID     string `json:"spanId"`
	Parent     string `json:"parentSpanId"`
	Name       string `json:"name"`
	Attributes []struct {
		Key   string `json:"key"`
		Value struct {
			Text string `json:"stringValue"`
		} `json:"value"`
	} `json:"attributes"`
}

func (s exportedSpan) value(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.Text
		}
	}
	return ""
}

// export is what all three signals look like.
type export struct {
	Spans []struct {
		Scopes []struct {
			Spans []exportedSpan `json:"spans"`
		} `json:"scopeSpans"`
	} `json:"resourceSpans"`
	Metrics []struct {
		Scopes []struct {
			Metrics []struct {
				Name string `json:"name"`
			} `json:"metrics"`
		} `json:"scopeMetrics"`
	} `json:"resourceMetrics"`
	Logs []struct {
		Scopes []struct {
			Records []json.RawMessage `json:"logRecords"`
		} `json:"scopeLogs"`
	} `json:"resourceLogs"`
}

func receive(t *testing.T) *receiver {
	r := new(receiver)
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var body io.Reader = req.Body
		if req.Header.Get("Content-Encoding") == "gzip" {
			unpacked, err := gzip.NewReader(body)
			if err != nil {
				t.Error(err)
				return
			}
			body = unpacked
		}
		var e export
		if err := json.NewDecoder(body).Decode(&e); err != nil {
			t.Errorf("%s: %v", req.URL, err)
		}
		r.take(e)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}") // the CLI may be gone
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) take(e export) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range e.Spans {
		for _, scope := range resource.Scopes {
			r.spans = append(r.spans, scope.Spans...)
		}
	}
	for _, resource := range e.Metrics {
		for _, scope := range resource.Scopes {
			for _, m := range scope.Metrics {
				r.metrics = append(r.metrics, m.Name)
			}
		}
	}
	for _, resource := range e.Logs {
		for _, scope := range resource.Scopes {
			r.logs += len(scope.Records)
		}
	}
}

// find returns the first exported span of a name.
func (r *receiver) find(t *testing.T, name string) exportedSpan {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, s := range r.spans {
		if s.Name == name {
			return s
		}
		names = append(names, s.Name)
	}
	t.Fatalf("the CLI has exported no %s, but %q", name, names)
	return exportedSpan{}
}

// real returns options for the real CLI, which exports to a receiver only when
// it ends.
func (r *recorder) real(to *receiver, replies ...claudetest.Reply) *claude.Options {
	r.t.Helper()
	path := realcli.Need(r.t, realcli.Tested())
	model := claudetest.NewModel(replies...)
	url, err := model.Start()
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { model.Close() })
	env, _ := realcli.Env(r.t, url)
	env = append(env, "OTEL_TRACES_EXPORT_INTERVAL=600000", "OTEL_METRIC_EXPORT_INTERVAL=600000", "OTEL_LOGS_EXPORT_INTERVAL=600000",
		"OTEL_METRICS_EXPORTER=console")
	r.config.CLI = &otelclaude.CLIExporter{Endpoint: to.URL, Protocol: otelclaude.ProtocolHTTPJSON}
	return r.instrument(&claude.Options{CLIPath: path, Env: env, Cwd: r.t.TempDir(), AllowedTools: []string{"Bash"}})
}

// The CLI's spans and ours are in one trace and nest as documented.
func TestRealOneTrace(t *testing.T) {
	realcli.Needs(t, "2.1.325", "spans of its own")
	r, to := record(t), receive(t)
	opts := r.real(to, claudetest.UseTool("Bash", command{"echo $TRACEPARENT"}), claudetest.Say("done"))
	ctx, end := r.request()
	result, err := claude.Ask(ctx, "hello", opts)
	end()
	if err != nil {
		t.Fatal(err)
	}
	r.want(`
		request
		  invoke_agent
		    execute_tool Bash outcome=ok
		  start_session
		`)
	start, call := r.find("start_session"), r.find("execute_tool Bash")
	interaction := to.find(t, "claude_code.interaction")
	if interaction.TraceID != start.SpanContext().TraceID().String() || interaction.Parent != start.SpanContext().SpanID().String() {
		t.Errorf("%+v is not a child of %v", interaction, start.SpanContext())
	}
	if id := interaction.value("gen_ai.conversation.id"); id != result.SessionID || id != value(r.find("invoke_agent"), "gen_ai.conversation.id") {
		t.Errorf("conversations %q and %q", id, result.SessionID)
	}
	theirs := to.find(t, "claude_code.tool")
	if theirs.Parent != interaction.SpanID || theirs.value("gen_ai.tool.call.id") != value(call, "gen_ai.tool.call.id") {
		t.Errorf("%+v is not the call %v", theirs, call.Attributes())
	}
	to.find(t, "claude_code.llm_request")
	to.mu.Lock()
	defer to.mu.Unlock()
	for _, name := range []string{"claude_code.session.count", "claude_code.token.usage"} {
		if !slices.Contains(to.metrics, name) {
			t.Errorf("no metric %s in %q", name, to.metrics)
		}
	}
	if to.logs == 0 {
		t.Error("no logs")
	}
	for _, s := range to.spans {
		if !strings.HasPrefix(s.Name, "claude_code.") || s.TraceID != interaction.TraceID {
			t.Errorf("span %+v", s)
		}
	}
}

// A CLI that is stopped in the middle of a turn sends what it has.
func TestRealFlushesWhenStopped(t *testing.T) {
	realcli.Needs(t, "2.1.325", "spans of its own")
	r, to := record(t), receive(t)
	held := make(chan struct{})
	defer close(held)
	opts := r.real(to, claudetest.Say("first"), claudetest.Say("never").Hold(held))
	s, err := claude.Connect(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Ask(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Send(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	for m, err := range s.Messages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Head().Subtype == "init" {
			break
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r.want(`
		start_session
		  control initialize
		  invoke_agent
		  invoke_agent type=session_closed
		`)
	interaction := to.find(t, "claude_code.interaction")
	if interaction.Parent != r.find("start_session").SpanContext().SpanID().String() {
		t.Errorf("%+v", interaction)
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	if !slices.Contains(to.metrics, "claude_code.session.count") {
		t.Errorf("metrics %q", to.metrics)
	}
}
