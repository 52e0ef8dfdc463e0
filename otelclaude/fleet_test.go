package otelclaude_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/otelclaude"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// builder is a CLI that calls a tool for a prompt with "make" in it, and answers.
func builder() *claudetest.CLI {
	return claudetest.NewCLI(&claudetest.Script{Model: func(c *claudetest.ModelCall) claudetest.Reply {
		if len(c.ToolResults) == 0 && strings.Contains(c.Prompt, "make") {
			return claudetest.UseTool("Bash", command{"make"})
		}
		return claudetest.Say("done")
	}})
}

// fleetOptions are those of a fleet that asks people about calls.
func (r *recorder) fleetOptions(db store.Fleet, cli claude.Transport) fleet.Options {
	r.t.Helper()
	return r.instrumentFleet(fleet.Options{Store: db, Gate: &approval.Options{Patience: time.Minute}},
		&claude.Options{Transport: cli, Cwd: "/work", Env: []string{"HOME=/home/a"}})
}

// instrumentFleet returns options of a fleet that is recorded. All of its
// conversations have the same options.
func (r *recorder) instrumentFleet(o fleet.Options, session *claude.Options) fleet.Options {
	r.t.Helper()
	o.Project, o.Journal, o.Logger = "p", r.t.TempDir(), slog.New(slog.DiscardHandler)
	session.Logger = o.Logger
	o.Session = func(context.Context, string) (*claude.Options, error) { return session, nil }
	o, err := otelclaude.InstrumentFleet(o, &r.config)
	if err != nil {
		r.t.Fatal(err)
	}
	return o
}

func (r *recorder) openFleet(o fleet.Options) *fleet.Fleet {
	r.t.Helper()
	// The span that a fleet is opened in is not that of its prompts.
	ctx, span := r.tracer.Tracer("test").Start(r.t.Context(), "main")
	defer span.End()
	f, err := fleet.Open(ctx, o)
	if err != nil {
		r.t.Fatal(err)
	}
	return f
}

// answer runs a prompt to its end, or until it waits for a person.
func answer(ctx context.Context, f fleet.Conversations, key, prompt string) (err error) {
	for _, err = range f.Run(ctx, key, prompt) {
	}
	return err
}

// allowAll allows what the conversations of a fleet ask.
func allowAll(t *testing.T, f *fleet.Fleet) {
	t.Helper()
	for q, err := range f.Approvals().List(t.Context(), approval.Filter{States: []approval.State{approval.StateOpen}}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Approvals().Decide(t.Context(), q.ID, approval.Answer{Decision: permission.Allow(), By: "ada", Digest: q.Digest}); err != nil {
			t.Fatal(err)
		}
	}
}

// linked checks that a span is linked to another one.
func linked(t *testing.T, from, to sdktrace.ReadOnlySpan) {
	t.Helper()
	for _, l := range from.Links() {
		if l.SpanContext.SpanID() == to.SpanContext().SpanID() && l.SpanContext.TraceID() == to.SpanContext().TraceID() {
			return
		}
	}
	t.Errorf("%s has the links %v, none to %v", from.Name(), from.Links(), to.SpanContext())
}

// named returns the spans of a name, in the order in which they ended.
func (r *recorder) named(name string) (found []sdktrace.ReadOnlySpan) {
	for _, s := range r.spans.Ended() {
		if s.Name() == name {
			found = append(found, s)
		}
	}
	return found
}

// A prompt that is deferred in one process and finished in another is one trace,
// and the call that is made is linked to the deferred one.
func TestFleetDeferredAndResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, db, cli := record(t), store.Memory(), builder()
		f := r.openFleet(r.fleetOptions(db, cli))
		ctx, end := r.request()
		if err := answer(ctx, f, "ada", "make it"); !errors.As(err, new(*fleet.DeferredError)) {
			t.Fatalf("not deferred: %v", err)
		}
		end()
		if got := r.points(""); got["claude.fleet.queue"] != 1 || got["claude.fleet.wait"] != 1 {
			t.Errorf("metrics %v", got)
		}
		if err := f.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		f = r.openFleet(r.fleetOptions(db, cli)) // as another process would: nothing is remembered
		allowAll(t, f)
		<-time.After(time.Minute)
		if err := f.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.want(`
			main
			main
			request
			  send_prompt
			    run_prompt status=answered
			      invoke_agent
			        execute_tool Bash outcome=ok
			          hook PostToolUse
			          hook PreToolUse
			          hook PreToolUse
			          hook PreToolUse decision=allow
			        hook PostToolBatch
			      start_session
			        control initialize
			    run_prompt status=waiting
			      invoke_agent
			        execute_tool Bash outcome=deferred
			          hook PreToolUse
			          hook PreToolUse decision=defer
			      start_session
			        control initialize
			`)
		calls := r.named("execute_tool Bash")
		if len(calls) != 2 {
			t.Fatalf("%d calls", len(calls))
		}
		linked(t, calls[1], calls[0])
		for name, n := range r.points("") {
			if n != 0 && (name == "claude.fleet.queue" || name == "claude.fleet.live" || name == "claude.sessions") {
				t.Errorf("%s = %v after the end", name, n)
			}
		}
	})
}

// robbed is a store in which another process takes a lease at its first renewal.
type robbed struct {
	*store.MemoryStore
	once sync.Once
}

func (s *robbed) Renew(ctx context.Context, l store.Lease) error {
	s.once.Do(func() {
		if s.MemoryStore.Release(ctx, l) == nil {
			_, _ = s.MemoryStore.Acquire(ctx, l.Project, l.Name, "another", time.Minute) // the fleet notices
		}
	})
	return s.MemoryStore.Renew(ctx, l)
}

// Writes that the store refuses because another process owns the conversation are
// counted, and a Trace of the program's own also learns about them.
func TestFleetFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := record(t)
		var heard atomic.Int64
		o := fleet.Options{Store: &robbed{MemoryStore: store.Memory()}, Trace: &fleet.PromptTrace{Fenced: func(string) { heard.Add(1) }}}
		f := r.openFleet(r.instrumentFleet(o, &claude.Options{Transport: claudetest.New(claudetest.Say("one").After(2*time.Minute), claudetest.Say("one")), Cwd: "/work", Env: []string{"HOME=/home/a"}}))
		if _, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "hello"}); err != nil {
			t.Error(err)
		}
		<-time.After(5 * time.Minute)
		if err := f.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if n := r.points("")["claude.fleet.fenced"]; n < 1 || int64(n) != heard.Load() {
			t.Errorf("%v refusals counted, %d reported", n, heard.Load())
		}
	})
}

// The depth of the queue and the conversations that are awake are metrics.
func TestFleetLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := record(t)
		held := make(chan struct{})
		o := r.fleetOptions(store.Memory(), claudetest.New(claudetest.Say("one").Hold(held), claudetest.Say("two"), claudetest.Say("three")))
		o.MaxLive, o.Queue = 1, 3
		f := r.openFleet(o)
		for range 3 {
			if _, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "hello"}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "hello"}); !errors.Is(err, fleet.ErrOverloaded) {
			t.Errorf("Send = %v", err)
		}
		synctest.Wait()
		if got := r.points(""); got["claude.fleet.queue"] != 3 || got["claude.fleet.live"] != 1 || got["claude.sessions"] != 1 {
			t.Errorf("metrics %v", got)
		}
		close(held)
		synctest.Wait()
		if got := r.points(""); got["claude.fleet.queue"] != 0 || got["claude.fleet.live"] != 1 || got["claude.fleet.wait"] != 3 {
			t.Errorf("metrics %v", got)
		}
		<-time.After(10 * time.Minute) // it falls asleep
		if got := r.points(""); got["claude.fleet.live"] != 0 || got["claude.sessions"] != 0 {
			t.Errorf("metrics %v", got)
		}
		if err := f.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.want(`
			main
			send_prompt
			  run_prompt status=answered
			    invoke_agent
			send_prompt
			  run_prompt status=answered
			    invoke_agent
			send_prompt
			  run_prompt status=answered
			    invoke_agent
			    start_session
			      control initialize
			send_prompt type=overloaded
			`)
	})
}

// A turn that a crash of its process broke off is continued in the same trace,
// and every span has an end.
func TestFleetCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, db := record(t), store.Memory()
		held := make(chan struct{})
		defer close(held)
		f := r.openFleet(r.fleetOptions(db, claudetest.New(claudetest.Say("never").Hold(held))))
		ctx, end := r.request()
		if _, err := f.Send(ctx, "ada", fleet.Prompt{Text: "hello"}); err != nil {
			t.Fatal(err)
		}
		end()
		synctest.Wait()
		over, cancel := context.WithCancel(t.Context())
		cancel()
		_ = f.Close(over)
		f = r.openFleet(r.fleetOptions(db, builder()))
		<-time.After(time.Minute)
		if err := f.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := r.tree()
		for _, want := range []string{"    run_prompt status=running type=session_closed\n      invoke_agent type=session_closed\n", "    run_prompt status=answered\n      invoke_agent\n"} {
			if !strings.Contains(got, want) {
				t.Errorf("no\n%s in\n%s", want, got)
			}
		}
	})
}

// server returns a server whose requests are recorded.
func (r *recorder) server(f *fleet.Fleet, db store.Fleet) *serve.Server {
	r.t.Helper()
	opts, err := otelclaude.InstrumentServer(serve.Options{
		Records: db, Project: "p", Logger: slog.New(slog.DiscardHandler),
		Presets:      []serve.Preset{{Name: "shop", Roots: []string{r.t.TempDir()}}},
		Authenticate: func(*http.Request) (api.User, bool) { return api.User{Name: "ada", Role: api.RoleOperator}, true },
	}, &r.config)
	if err != nil {
		r.t.Fatal(err)
	}
	s, err := serve.New(f, opts)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// call sends a request to a server, with the span of ctx in its headers.
func call(ctx context.Context, s *serve.Server, method, path, body string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(req.Header))
	w := httptest.NewRecorder()
	s.ServeHTTP(w, req)
	return w
}

// begin begins a conversation with a prompt, and returns its id.
func begin(ctx context.Context, t *testing.T, s *serve.Server, prompt string) string {
	t.Helper()
	made := call(ctx, s, "POST", "/v1/conversations", `{"preset":"shop"}`)
	var c api.Conversation
	if err := json.Unmarshal(made.Body.Bytes(), &c); err != nil || made.Code != http.StatusCreated {
		t.Fatalf("%d: %s", made.Code, made.Body)
	}
	if w := call(ctx, s, "POST", "/v1/conversations/"+c.ID+"/prompts", `{"content":"`+prompt+`"}`); w.Code/100 != 2 {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	return c.ID
}

// A request to the server, its prompt and its turn are one trace, which the
// client may have begun.
func TestServer(t *testing.T) {
	before := otel.GetTextMapPropagator()
	otel.SetTextMapPropagator(propagation.TraceContext{})
	defer otel.SetTextMapPropagator(before)
	synctest.Test(t, func(t *testing.T) {
		r, db, cli := record(t), store.Memory(), builder()
		f := r.openFleet(r.fleetOptions(db, cli))
		defer f.Close(context.Background())
		s := r.server(f, db)
		defer s.Close()
		ctx, end := r.request()
		id := begin(ctx, t, s, "hello")
		call(ctx, s, "BREW", "/v1/conversations/"+id, "")
		end()
		<-time.After(10 * time.Minute)
		if err := errors.Join(s.Close(), f.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		r.want(`
			main
			request
			  POST /v1/conversations
			  POST /v1/conversations/{id}/prompts
			    send_prompt
			      run_prompt status=answered
			        invoke_agent
			        start_session
			          control initialize
			  _OTHER /v1/
			`)
		if got := value(r.find("POST /v1/conversations"), "http.response.status_code"); got != "201" {
			t.Errorf("status %s", got)
		}
	})
}

// Without a fleet, a deferred call and its resumption are linked as well, within
// a process.
func TestDeferredAndResumed(t *testing.T) {
	r, db, cli := record(t), store.Memory(), builder()
	r.deferAndResume(r.instrument(&claude.Options{
		Transport: cli, Cwd: "/work", Env: []string{"HOME=/home/a"}, Store: &claude.StoreOptions{Store: db, Project: "p", Journal: t.TempDir()},
	}))
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
		        hook PreToolUse
		        hook PreToolUse decision=allow
		`)
	calls := r.named("execute_tool Bash")
	linked(t, calls[1], calls[0])
}
