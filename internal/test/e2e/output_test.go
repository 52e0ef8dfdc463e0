package e2e

import (
	"errors"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/permission"
)

const structured = "StructuredOutput"

func TestRealAskAs(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.0.77", "a typed answer")
	r := realCLI(t, claudetest.UseTool(structured, map[string]any{
		"name": "Reykjavik", "people": 140000, "founded": "1786-08-18T00:00:00Z", "kind": "capital",
		"quarters": []any{map[string]any{"name": "Old", "tags": map[string]string{"pond": "yes"}}, map[string]any{"name": "West"}},
		"near":     []any{map[string]any{"name": "Akranes", "people": 8000, "founded": nil, "quarters": []any{}}},
	}))
	got, res, err := claude.AskAs[harness.City](t.Context(), "The largest city of Iceland", r.opts)
	if err != nil {
		t.Fatal(err)
	}
	if res == nil || res.TotalCostUSD <= 0 || res.SessionID == "" {
		t.Errorf("the result is %+v, want cost and session", res)
	}
	if got.Name != "Reykjavik" || got.People != 140000 || got.Founded.Year() != 1786 || len(got.Quarters) != 2 ||
		got.Quarters[0].Tags["pond"] != "yes" || got.Near[0].Name != "Akranes" || got.Near[0].Founded != nil {
		t.Errorf("got %+v", got)
	}
}

// A type that is not an object is wrapped on its way, over both ways: the command
// line, and the handshake alone.
func TestRealAskAsList(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.0.77", "a typed answer")
	for _, way := range []string{"flag", "handshake"} {
		t.Run(way, func(t *testing.T) {
			r := realCLI(t, claudetest.UseTool(structured, map[string]any{"value": []string{"a", "b"}}))
			if way == "handshake" {
				r.opts.SystemPrompt.Text = "Be brief."
			}
			got, _, err := claude.AskAs[[]string](t.Context(), "letters", r.opts)
			if err != nil || strings.Join(got, "") != "ab" {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestRealOutputErrors(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "giving up on a schema")
	t.Run("retries", func(t *testing.T) {
		r := realCLI(t, claudetest.UseTool(structured, map[string]any{"name": 1}).Forever())
		_, res, err := claude.AskAs[harness.Quarter](t.Context(), "x", r.opts)
		if bad, ok := errors.AsType[*claude.OutputError](err); !ok || !errors.Is(err, claude.ErrOutputRetries) || res == nil || bad.Result != res {
			t.Errorf("error = %v", err)
		}
	})
	t.Run("none", func(t *testing.T) {
		r := realCLI(t, claudetest.Say("I would rather talk.").Forever())
		_, res, err := claude.AskAs[harness.Quarter](t.Context(), "x", r.opts)
		if bad, ok := errors.AsType[*claude.OutputError](err); !ok || !errors.Is(err, claude.ErrNoOutput) || bad.Result != res || res.Text == "" {
			t.Errorf("error = %v", err)
		}
	})
	t.Run("API", func(t *testing.T) {
		r := realCLI(t, claudetest.Fail(400, "invalid_request_error", "no good").Forever())
		_, res, err := claude.AskAs[harness.Quarter](t.Context(), "x", r.opts)
		if failed, ok := errors.AsType[*claude.ResultError](err); !ok || res == nil || failed.Result != res {
			t.Errorf("error = %v", err)
		}
	})
}

// In a session every turn answers by the schema.
func TestRealSessionDecodes(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.0.77", "a typed answer")
	r := realCLI(t)
	for _, name := range []string{"Old", "West"} {
		r.model.Add(claudetest.UseTool(structured, harness.Quarter{Name: name}))
		if !realcli.Has("2.1.325") { // which ends the turn at the answer
			r.model.Add(claudetest.Say("done"))
		}
	}
	r.opts.PermissionMode = permission.ModePlan
	var err error
	if r.opts.OutputSchema, err = claude.SchemaFor[harness.Quarter](); err != nil {
		t.Fatal(err)
	}
	s := r.connect(t)
	for _, want := range []string{"Old", "West"} {
		res, err := s.Ask(t.Context(), "a quarter")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := claude.Decode[harness.Quarter](res); err != nil || got.Name != want {
			t.Errorf("%+v, %v, want %s", got, err, want)
		}
	}
}
