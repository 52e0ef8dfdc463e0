package otelclaude_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/otelclaude"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/tool"
)

// say is a script of replies.
func say(replies ...claudetest.Reply) *claudetest.Script { return &claudetest.Script{Replies: replies} }

// waiting returns a permission callback that waits for its end, and a channel
// that is closed when it is asked.
func waiting() (permission.Func, <-chan struct{}) {
	asked := make(chan struct{})
	return func(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
		close(asked)
		<-ctx.Done()
		return permission.Pass(), context.Cause(ctx)
	}, asked
}

// connect starts a session within a request and sends it a prompt.
func (r *recorder) connect(opts *claude.Options) *claude.Session {
	r.t.Helper()
	ctx, end := r.request()
	defer end()
	s, err := claude.Connect(ctx, r.instrument(opts))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { s.Close() })
	if _, err := s.Send(ctx, "hello"); err != nil {
		r.t.Fatal(err)
	}
	return s
}

func TestEveryEnd(t *testing.T) {
	replies := []claudetest.Reply{claudetest.UseTool("Bash", command{"make"}), claudetest.Say("done")}
	t.Run("Close in a callback", func(t *testing.T) {
		r := record(t)
		ask, asked := waiting()
		s := r.connect(&claude.Options{Transport: claudetest.New(replies...), CanUseTool: ask})
		<-asked
		s.Close()
		r.want(`
			request
			  invoke_agent type=session_closed
			    execute_tool Bash outcome=no_result type=session_closed
			      permission Bash type=session_closed
			  start_session
			    control initialize
			`)
		if n := r.points("")["claude.sessions"]; n != 0 {
			t.Errorf("%v sessions are live", n)
		}
	})
	t.Run("crash", func(t *testing.T) {
		r := record(t)
		code := 3
		cli := claudetest.NewCLI(&claudetest.Script{Replies: replies, Faults: []claudetest.Fault{{Line: 7, Exit: &code}}})
		s := r.connect(&claude.Options{Transport: cli, AllowedTools: []string{"Bash"}})
		if err := s.Wait(); err == nil {
			t.Error("Wait = nil after a crash")
		}
		s.Close()
		r.want(`
			request
			  invoke_agent type=process_exited
			    execute_tool Bash outcome=no_result type=process_exited
			  start_session
			    control initialize
			`)
	})
	t.Run("cancel", func(t *testing.T) {
		r := record(t)
		ask, asked := waiting()
		opts := r.instrument(&claude.Options{Transport: claudetest.New(replies...), CanUseTool: ask})
		ctx, end := r.request()
		ctx, cancel := context.WithCancel(ctx)
		go func() {
			<-asked
			cancel()
		}()
		if _, err := claude.Ask(ctx, "hello", opts); err == nil {
			t.Error("a cancelled Ask has succeeded")
		}
		end()
		r.want(`
			request
			  invoke_agent type=session_closed
			    execute_tool Bash outcome=no_result type=session_closed
			      permission Bash type=session_closed
			  start_session
			    control initialize
			`)
	})
	t.Run("interrupt", func(t *testing.T) {
		r := record(t)
		ask, asked := waiting()
		s := r.connect(&claude.Options{Transport: claudetest.New(replies...), CanUseTool: ask})
		<-asked
		if _, err := s.Interrupt(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.readTurn(s)
		s.Close()
		r.want(`
			request
			  invoke_agent type=interrupted
			    execute_tool Bash outcome=error type=tool_error
			      permission Bash type=withdrawn
			  start_session
			    control initialize
			    control interrupt
			`)
	})
	t.Run("no CLI", func(t *testing.T) {
		r := record(t)
		ctx, end := r.request()
		if _, err := claude.Ask(ctx, "hello", r.instrument(&claude.Options{CLIPath: "/nowhere/claude"})); err == nil {
			t.Error("there is a CLI")
		}
		end()
		r.want(`
			request
			  start_session type=start_failed
			`)
	})
}

// A turn belongs to the request that asked for it, not to the one that started
// the session.
func TestTurnsOfOtherRequests(t *testing.T) {
	r := record(t)
	s, err := claude.Connect(t.Context(), r.instrument(&claude.Options{Transport: claudetest.New(claudetest.Say("one"), claudetest.Say("two"))}))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		ctx, end := r.request()
		if _, err := s.Ask(ctx, "hello"); err != nil {
			t.Fatal(err)
		}
		if err := s.SetModel(ctx, "opus"); err != nil {
			t.Fatal(err)
		}
		end()
	}
	s.Close()
	r.want(`
		request
		  control set_model
		  invoke_agent
		request
		  control set_model
		  invoke_agent
		start_session
		  control initialize
		`)
	start := r.find("start_session")
	for _, span := range r.spans.Ended() {
		if span.Name() != "invoke_agent" {
			continue
		}
		if links := span.Links(); len(links) != 1 || links[0].SpanContext.SpanID() != start.SpanContext().SpanID() {
			t.Errorf("links %v", links)
		}
		if value(span, "gen_ai.conversation.id") != s.ID() {
			t.Errorf("attributes %v", span.Attributes())
		}
	}
}

// User code runs within the span of its call.
func TestContexts(t *testing.T) {
	r := record(t)
	own := func(ctx context.Context, name string) {
		_, span := r.tracer.Tracer("mine").Start(ctx, name)
		span.End()
	}
	echo := tool.New("echo", "Echo", func(ctx context.Context, in struct{}) (string, error) {
		own(ctx, "my tool")
		return "ok", nil
	})
	err := r.ask(&claude.Options{
		MCPServers: claude.MCPServers{"x": tool.NewServer(echo)},
		CanUseTool: func(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
			own(ctx, "my permission")
			return permission.Allow(), nil
		},
		Hooks: []hook.Hook{hook.PostToolUse("", func(ctx context.Context, _ *hook.PostToolUseInput) (*hook.PostToolUseOutput, error) {
			own(ctx, "my hook")
			return nil, nil
		})},
	}, say(claudetest.UseTool("mcp__x__echo", struct{}{}), claudetest.Say("done")))
	if err != nil {
		t.Fatal(err)
	}
	r.want(`
		request
		  invoke_agent
		    execute_tool mcp__x__echo outcome=ok
		      hook PostToolUse
		        my hook
		      mcp x
		        my tool
		      permission mcp__x__echo decision=allow
		        my permission
		  start_session
		    control initialize
		`)
}

// launches is a Transport that notes what it starts.
type launches struct {
	claude.Transport
	env []string
}

func (l *launches) Start(ctx context.Context, launch *claude.Launch) (claude.Conn, error) {
	l.env = launch.Env
	return l.Transport.Start(ctx, launch)
}

func TestEnvironment(t *testing.T) {
	const inherited = "00-11111111111111111111111111111111-1111111111111111-01"
	t.Setenv("TRACEPARENT", inherited)
	t.Setenv("OTEL_TRACES_EXPORTER", "console")
	r := record(t)
	r.config.CLI = &otelclaude.CLIExporter{Endpoint: "http://127.0.0.1:4318"}
	for name, c := range map[string]struct {
		env  []string
		wins string
	}{
		"inherited":            {nil, ""},
		"inherited explicitly": {os.Environ(), ""},
		"chosen":               {[]string{"TRACEPARENT=mine"}, "TRACEPARENT=mine"},
	} {
		l := &launches{Transport: claudetest.New(claudetest.Say("hi"))}
		ctx, end := r.request()
		if _, err := claude.Ask(ctx, "hello", r.instrument(&claude.Options{Transport: l, Env: c.env})); err != nil {
			t.Fatal(err)
		}
		end()
		want := c.wins
		if want == "" {
			want = "TRACEPARENT=00-" + trace.SpanContextFromContext(ctx).TraceID().String() + "-"
		}
		found := slices.DeleteFunc(slices.Clone(l.env), func(e string) bool { return !strings.HasPrefix(e, "TRACEPARENT=") })
		if len(found) != 1 || !strings.HasPrefix(found[0], want) {
			t.Errorf("%s: %q, want %s", name, found, want)
		}
		if !slices.Contains(l.env, "OTEL_TRACES_EXPORTER=otlp") || slices.ContainsFunc(l.env, func(e string) bool { return strings.Contains(e, "console") }) {
			t.Errorf("%s: %q", name, l.env)
		}
	}
	if _, err := otelclaude.Instrument(nil, &otelclaude.Config{CLI: &otelclaude.CLIExporter{Endpoint: "console"}}); err == nil {
		t.Error("console is an endpoint")
	}
}

// Content is recorded on request only, and without secrets.
func TestContent(t *testing.T) {
	const key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"
	for _, content := range []bool{false, true} {
		r := record(t)
		r.config.Content = content
		l := claudetest.New(claudetest.UseTool("Bash", command{"echo tea " + key + " hunter2hunter2"}), claudetest.Say("the answer "+key))
		opts := r.instrument(&claude.Options{Transport: l, CanUseTool: allow, Env: []string{"MY_PASSWORD=hunter2hunter2"}})
		if _, err := claude.Ask(t.Context(), "the question "+key, opts); err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, s := range r.spans.Ended() {
			for _, a := range s.Attributes() {
				all.WriteString(a.Value.String() + "\n")
			}
			all.WriteString(s.Status().Description)
		}
		for _, said := range []string{"the question", "echo tea", "the answer"} {
			if strings.Contains(all.String(), said) != content {
				t.Errorf("content %v, but %q is in\n%s", content, said, &all)
			}
		}
		if strings.Contains(all.String(), "abcdefghij") || strings.Contains(all.String(), "hunter2") {
			t.Errorf("a secret is in\n%s", &all)
		}
	}
}

func TestLogHandler(t *testing.T) {
	r := record(t)
	var out bytes.Buffer
	log := slog.New(otelclaude.LogHandler(slog.NewTextHandler(&out, nil))).With("a", 1)
	log.InfoContext(t.Context(), "without")
	ctx, end := r.request()
	log.InfoContext(ctx, "with")
	end()
	lines := strings.Split(out.String(), "\n")
	c := trace.SpanContextFromContext(ctx)
	if strings.Contains(lines[0], "trace_id") || !strings.Contains(lines[1], "a=1 trace_id="+c.TraceID().String()+" span_id="+c.SpanID().String()) {
		t.Errorf("log:\n%s", &out)
	}
}

// Your own Trace is called as before.
func TestOwnTrace(t *testing.T) {
	r := record(t)
	pieces, ended := 0, false
	opts := &claude.Options{
		PartialMessages: true,
		Trace: &claude.Trace{
			FrameRead: func(line []byte) {
				if strings.HasPrefix(string(line), `{"type":"stream_event"`) {
					pieces++
				}
			},
			Ended: func(error) { ended = true },
		},
	}
	if err := r.ask(opts, say(claudetest.Say("a long answer").Chunks(2, 0))); err != nil {
		t.Fatal(err)
	}
	if pieces == 0 || !ended {
		t.Errorf("%d pieces, ended %v", pieces, ended)
	}
	r.want(`
		request
		  invoke_agent
		  start_session
		`)
}
