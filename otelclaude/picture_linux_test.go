package otelclaude_test

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/browser"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

var update = flag.Bool("update", false, "write docs/telemetry.png")

// How long things take in the picture.
const (
	modelThinks  = 800 * time.Millisecond
	personThinks = 900 * time.Millisecond
	toolRuns     = 400 * time.Millisecond
)

// The picture in the guide is the trace of a request to a server whose fleet runs
// the real CLI: our spans and the CLI's own, drawn by a browser. With -update it
// is made again.
func TestRealPicture(t *testing.T) {
	realcli.Needs(t, "2.1.325", "spans of its own")
	r, to := record(t), receive(t)
	r.serveOnce(r.realOptions(to,
		claudetest.UseTool("Bash", command{fmt.Sprintf("sleep %g && touch built", toolRuns.Seconds())}).After(modelThinks),
		claudetest.Say("It is built.").After(modelThinks)))
	w := newWaterfall(t, r.picked("POST /v1/conversations/{id}/prompts"), to)
	w.wantSpans(t)

	path := filepath.Join(t.TempDir(), "trace.html")
	if err := os.WriteFile(path, w.page(t), 0o600); err != nil {
		t.Fatal(err)
	}
	b := browser.Open(t)
	b.Resize(pageWidth, 800, "light")
	b.Load(t, (&url.URL{Scheme: "file", Path: path}).String())
	b.NoComplaints(t)
	b.Want(t, `document.querySelectorAll(".bar").length`, len(w.Bars))
	b.Want(t, `[...document.querySelectorAll(".name")].filter(n => n.scrollWidth > n.clientWidth).map(n => n.textContent).join()`, "") // nothing is cut
	b.Want(t, `document.documentElement.scrollWidth`, pageWidth)
	height, ok := b.Eval(t, `Math.ceil(document.querySelector("main").getBoundingClientRect().bottom)`).(float64)
	if !ok || height < 300 {
		t.Fatalf("the page is %v pixels high", height)
	}
	if *update {
		b.Resize(pageWidth, int(height), "light")
		b.Screenshot(t, "../docs/telemetry.png")
	}
}

// serveOnce sends one prompt to a server and waits for its answer. A person is
// asked about the tool.
func (r *recorder) serveOnce(session *claude.Options) {
	r.t.Helper()
	session.AllowedTools = nil
	session.CanUseTool = func(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
		select {
		case <-time.After(personThinks):
			return permission.Allow(), nil
		case <-ctx.Done():
			return permission.Decision{}, ctx.Err()
		}
	}
	db, answered := store.Memory(), make(chan fleet.TraceOutcome, 8)
	f := r.openFleet(r.instrumentFleet(fleet.Options{Store: db, Trace: &fleet.PromptTrace{
		Running: func(ctx context.Context, _ fleet.TracePrompt) (context.Context, func(fleet.TraceOutcome) map[string]string) {
			return ctx, func(o fleet.TraceOutcome) map[string]string {
				answered <- o
				return nil
			}
		},
	}}, session))
	defer f.Close(context.Background())
	s := r.server(f, db)
	defer s.Close()
	begin(r.t.Context(), r.t, s, "Build it.")
	select {
	case o := <-answered:
		if o.Status != fleet.PromptAnswered {
			r.t.Fatalf("the prompt is %+v", o)
		}
	case <-time.After(2 * time.Minute):
		r.t.Fatal("no answer")
	}
	// The CLI exports its spans when it ends.
	if err := f.Close(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// wantSpans checks that the trace has the spans of the guide, and that it took
// the time it must have taken.
func (w *waterfall) wantSpans(t *testing.T) {
	t.Helper()
	names := make(map[string]string)
	for _, b := range w.Bars {
		names[b.id] = b.Name
	}
	took := make(map[string]time.Duration) // the longest of each
	for _, b := range w.Bars {
		edge := names[b.parent] + " > " + b.Name
		took[edge] = max(took[edge], b.End.Sub(b.Start))
	}
	for edge, least := range map[string]time.Duration{
		" > POST /v1/conversations/{id}/prompts":              0,
		"POST /v1/conversations/{id}/prompts > send_prompt":   0,
		"send_prompt > run_prompt":                            2*modelThinks + personThinks + toolRuns,
		"run_prompt > start_session":                          0,
		"run_prompt > invoke_agent":                           2*modelThinks + personThinks + toolRuns,
		"invoke_agent > execute_tool Bash":                    personThinks + toolRuns,
		"execute_tool Bash > permission Bash":                 personThinks,
		"start_session > claude_code.interaction":             2*modelThinks + personThinks + toolRuns,
		"claude_code.interaction > claude_code.llm_request":   modelThinks,
		"claude_code.interaction > claude_code.tool":          personThinks + toolRuns,
		"claude_code.tool > claude_code.tool.blocked_on_user": personThinks,
		"claude_code.tool > claude_code.tool.execution":       toolRuns,
	} {
		// The CLI's clock may count a little slower than ours.
		if got, ok := took[edge]; !ok || got < least*9/10 {
			t.Errorf("%s: %v, %v; want at least %v", edge, got, ok, least)
		}
	}
	if t.Failed() {
		var lines []string
		for _, b := range w.Bars {
			lines = append(lines, strings.Repeat("  ", b.Depth)+b.Name+" "+b.Took())
		}
		t.Log("the trace is\n" + strings.Join(lines, "\n"))
	}
}

// picked returns the trace of the one span of a name: what this process has
// recorded of it.
func (r *recorder) picked(name string) (trace []recorded) {
	r.t.Helper()
	id := r.find(name).SpanContext().TraceID()
	return slices.DeleteFunc(r.spans.Ended(), func(s recorded) bool { return s.SpanContext().TraceID() != id })
}
