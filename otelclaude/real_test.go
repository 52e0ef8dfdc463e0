//go:build unix

package otelclaude_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/otelclaude"
)

// receiver takes OTLP as JSON over HTTP.
type receiver struct {
	*httptest.Server

	mu      sync.Mutex
	spans   []exportedSpan
	metrics []string
	logs    []exportedEvent
}

// exportedSpan is a span of the CLI.
type exportedSpan struct {
	TraceID    string             `json:"traceId"`
	SpanID     string             `json:"spanId"`
	Parent     string             `json:"parentSpanId"`
	Name       string             `json:"name"`
	Start      json.Number        `json:"startTimeUnixNano"`
	End        json.Number        `json:"endTimeUnixNano"`
	Attributes exportedAttributes `json:"attributes"`
}

// exportedEvent is an event in the CLI's words, and a log record in those of
// OpenTelemetry.
type exportedEvent struct {
	Body struct {
		Text string `json:"stringValue"`
	} `json:"body"`
	Attributes exportedAttributes `json:"attributes"`
}

type exportedAttributes []struct {
	Key   string `json:"key"`
	Value struct {
		Text string `json:"stringValue"`
	} `json:"value"`
}

func (all exportedAttributes) value(key string) string {
	for _, a := range all {
		if a.Key == key {
			return a.Value.Text
		}
	}
	return ""
}

// export is the common form of all three signals.
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
			Records []exportedEvent `json:"logRecords"`
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
			r.logs = append(r.logs, scope.Records...)
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
	return r.instrument(r.realOptions(to, replies...))
}

// realOptions are those of real before they are instrumented.
func (r *recorder) realOptions(to *receiver, replies ...claudetest.Reply) *claude.Options {
	r.t.Helper()
	path := realcli.Need(r.t, realcli.Tested())
	model := claudetest.NewModel(replies...)
	url, err := model.Start()
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { model.Close() })
	env, _ := realcli.Env(r.t, url)
	env = append(env, "PID_FILE="+filepath.Join(r.t.TempDir(), "pid"), "OTEL_TRACES_EXPORT_INTERVAL=600000", "OTEL_METRIC_EXPORT_INTERVAL=600000", "OTEL_LOGS_EXPORT_INTERVAL=600000",
		"OTEL_METRICS_EXPORTER=console")
	r.config.CLI = &otelclaude.CLIExporter{Endpoint: to.URL, Protocol: otelclaude.ProtocolHTTPJSON}
	return &claude.Options{CLIPath: path, Env: env, Cwd: r.t.TempDir(), AllowedTools: []string{"Bash"}}
}

// parents renders the spans of the CLI, each with the name of its parent, which
// may be a span of this module.
func (r *recorder) parents(to *receiver) (all []string) {
	names := make(map[string]string)
	for _, s := range r.spans.Ended() {
		names[s.SpanContext().SpanID().String()] = s.Name()
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	for _, s := range to.spans {
		names[s.SpanID] = s.Name
	}
	for _, s := range to.spans {
		all = append(all, names[s.Parent]+" > "+s.Name)
	}
	slices.Sort(all)
	return all
}

// A CLI that is stopped by a signal in the middle of a turn sends what it has.
func TestRealFlushesOnSIGTERM(t *testing.T) {
	realcli.Needs(t, "2.1.325", "spans of its own")
	r, to := record(t), receive(t)
	held := make(chan struct{})
	defer close(held)
	opts := r.real(to, claudetest.UseTool("Bash", command{"echo hello"}), claudetest.Say("never").Hold(held))
	cli := opts.CLIPath
	opts.CLIPath = filepath.Join(t.TempDir(), "claude")
	script := "#!/bin/sh\ncase \"$*\" in *stream-json*) echo $$ > \"$PID_FILE\" ;; esac\nexec '" + cli + "' \"$@\"\n"
	if err := os.WriteFile(opts.CLIPath, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := claude.Connect(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	signalled := false
	for m, err := range s.Run(t.Context(), "hello") {
		if u, ok := m.(*message.User); ok && len(u.ToolResults()) > 0 && err == nil {
			signalled = true
			terminate(t, opts.Env)
		}
	}
	if !signalled {
		t.Fatal("no tool has run")
	}
	s.Close()
	r.want(`
		start_session
		  control initialize
		  invoke_agent type=process_exited
		    execute_tool Bash outcome=ok
		`)
	interaction, call := to.find(t, "claude_code.interaction"), to.find(t, "claude_code.tool")
	if interaction.Parent != r.find("start_session").SpanContext().SpanID().String() || call.Parent != interaction.SpanID {
		t.Errorf("%+v\n%+v", interaction, call)
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	if !slices.Contains(to.metrics, "claude_code.session.count") || len(to.logs) == 0 {
		t.Errorf("metrics %q, %d logs", to.metrics, len(to.logs))
	}
}

// terminate sends SIGTERM to the CLI.
func terminate(t *testing.T, env []string) {
	t.Helper()
	i := slices.IndexFunc(env, func(entry string) bool { return strings.HasPrefix(entry, "PID_FILE=") })
	if i < 0 {
		t.Fatal("no PID_FILE in the environment")
	}
	path := strings.TrimPrefix(env[i], "PID_FILE=")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// The call that a real CLI makes after it was deferred, in another process, is
// linked to the one that was deferred, and the CLI's own spans are in our traces.
func TestRealDeferredAndResumed(t *testing.T) {
	realcli.Needs(t, "2.1.325", "spans of its own")
	r, to := record(t), receive(t)
	opts := r.real(to, claudetest.UseTool("Bash", command{"echo hello"}), claudetest.Say("done"))
	r.deferAndResume(opts)
	r.want(`
		request
		  invoke_agent
		    execute_tool Bash outcome=deferred
		      hook PreToolUse decision=defer
		  start_session
		    control initialize
		request
		  start_session
		    control initialize
		    invoke_agent
		      execute_tool Bash outcome=ok
		        hook PreToolUse decision=allow
		`)
	calls := r.named("execute_tool Bash")
	linked(t, calls[1], calls[0])
	// The CLI keeps its own parent in the transcript: what it does about the call
	// is in the trace of the session that deferred it.
	theirs, ran := to.find(t, "claude_code.tool"), to.find(t, "claude_code.tool.execution")
	if ran.Parent != theirs.SpanID || theirs.TraceID != calls[0].SpanContext().TraceID().String() || theirs.Attributes.value("gen_ai.tool.call.id") != value(calls[1], "gen_ai.tool.call.id") {
		t.Errorf("%+v\n%+v", theirs, ran)
	}
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
	if id := interaction.Attributes.value("gen_ai.conversation.id"); id != result.SessionID || id != value(r.find("invoke_agent"), "gen_ai.conversation.id") {
		t.Errorf("conversations %q and %q", id, result.SessionID)
	}
	theirs := to.find(t, "claude_code.tool")
	if theirs.Parent != interaction.SpanID || theirs.Attributes.value("gen_ai.tool.call.id") != value(call, "gen_ai.tool.call.id") {
		t.Errorf("%+v is not the call %v", theirs, call.Attributes())
	}
	to.find(t, "claude_code.llm_request")
	if got := r.parents(to); !slices.Equal(got, []string{
		"claude_code.interaction > claude_code.llm_request",
		"claude_code.interaction > claude_code.llm_request",
		"claude_code.interaction > claude_code.tool",
		"claude_code.tool > claude_code.tool.blocked_on_user",
		"claude_code.tool > claude_code.tool.execution",
		"start_session > claude_code.interaction",
	}) {
		t.Errorf("the CLI's spans are\n%s", strings.Join(got, "\n"))
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	for _, name := range []string{"claude_code.session.count", "claude_code.token.usage"} {
		if !slices.Contains(to.metrics, name) {
			t.Errorf("no metric %s in %q", name, to.metrics)
		}
	}
	if !slices.ContainsFunc(to.logs, func(e exportedEvent) bool {
		return e.Body.Text == "claude_code.user_prompt" && slices.Equal([]string{e.Attributes.value("message.uuid")}, prompts(r.find("invoke_agent")))
	}) {
		t.Errorf("no event of our prompt in %d logs", len(to.logs))
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
