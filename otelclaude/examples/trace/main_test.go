package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
)

// span is a span as the exporter writes it.
type span struct {
	Name                string
	SpanContext, Parent struct{ TraceID, SpanID string }
	Status              struct{ Code string }
}

// ask runs the program, and returns its answer and each span with the name of its
// parent.
func ask(ctx context.Context, t *testing.T, cli claude.Transport) (answer string, edges []string, err error) {
	t.Helper()
	var said, written bytes.Buffer
	err = run(ctx, &said, &written, cli)
	var spans []span
	names := make(map[string]string)
	for lines := json.NewDecoder(&written); ; {
		var s span
		if err := lines.Decode(&s); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		names[s.SpanContext.SpanID] = s.Name
		spans = append(spans, s)
	}
	for _, s := range spans {
		if s.SpanContext.TraceID != spans[0].SpanContext.TraceID {
			t.Errorf("%s is in another trace", s.Name)
		}
		edge := names[s.Parent.SpanID] + " > " + s.Name
		if s.Status.Code == "Error" {
			edge += " (error)"
		}
		edges = append(edges, edge)
	}
	slices.Sort(edges)
	return said.String(), edges, err
}

func want(t *testing.T, edges []string, want ...string) {
	t.Helper()
	if !slices.Equal(edges, want) {
		t.Errorf("the spans are\n%s\nwant\n%s", strings.Join(edges, "\n"), strings.Join(want, "\n"))
	}
}

// All spans are written when the program ends, in one trace.
func TestSpans(t *testing.T) {
	answer, edges, err := ask(t.Context(), t, claudetest.New(
		claudetest.UseTool("Read", map[string]string{"file_path": "/repo/go.mod"}),
		claudetest.Say("It is called example."),
	))
	if err != nil || answer != "It is called example.\n" {
		t.Errorf("the answer is %q, %v", answer, err)
	}
	want(t, edges, " > question", "invoke_agent > execute_tool Read", "question > invoke_agent", "question > start_session")
}

// The spans of a question that has no answer are written as well.
func TestFailure(t *testing.T) {
	_, edges, err := ask(t.Context(), t, claudetest.New(claudetest.Fail(401, "authentication_error", "Who are you?").Forever()))
	if _, ok := errors.AsType[*claude.ResultError](err); !ok {
		t.Errorf("run = %v", err)
	}
	want(t, edges, " > question (error)", "question > invoke_agent (error)", "question > start_session")
}

// They are written even after a Ctrl-C in between.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, edges, err := ask(ctx, t, claudetest.NewCLI(&claudetest.Script{Model: func(*claudetest.ModelCall) claudetest.Reply {
		cancel()
		return claudetest.Say("never").Hold(nil)
	}}))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("run = %v", err)
	}
	want(t, edges, " > question (error)", "question > invoke_agent (error)", "question > start_session")
}
