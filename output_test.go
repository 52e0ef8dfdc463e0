package claude_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/message"
)

func TestDecode(t *testing.T) {
	good := func(output string) *message.Result { return &message.Result{StructuredOutput: json.RawMessage(output)} }
	if got, err := claude.Decode[harness.City](good(`{"name":"Reykjavik","people":140000,"quarters":[{"name":"Old"}]}`)); err != nil || got.People != 140000 || got.Quarters[0].Name != "Old" || got.Founded != nil {
		t.Errorf("city: %+v, %v", got, err)
	}
	if got, err := claude.Decode[[]int](good(`{"value":[1,2]}`)); err != nil || len(got) != 2 {
		t.Errorf("list: %v, %v", got, err)
	}
	if got, err := claude.Decode[time.Time](good(`{"value":"2026-01-02T03:04:05Z"}`)); err != nil || got.Year() != 2026 {
		t.Errorf("time: %v, %v", got, err)
	}
	if got, err := claude.Decode[*harness.City](good(`{"name":"A","people":1,"quarters":[]}`)); err != nil || got.Name != "A" {
		t.Errorf("pointer: %v, %v", got, err)
	}
	exhausted := &message.Result{IsError: true, Errors: []string{"after 5 attempts"}}
	exhausted.Subtype = message.ResultErrorMaxStructure
	for _, tt := range []struct {
		name   string
		result *message.Result
		reason error
		text   string
	}{
		{"no result", nil, claude.ErrNoOutput, ""},
		{"no output", &message.Result{Text: "hello"}, claude.ErrNoOutput, ""},
		{"retries", exhausted, claude.ErrOutputRetries, "after 5 attempts"},
		{"missing", good(`{"name":"A","people":1}`), claude.ErrOutputMismatch, "quarters"},
		{"kind", good(`{"name":"A","people":"many","quarters":[]}`), claude.ErrOutputMismatch, "people"},
		{"enum", good(`{"name":"A","people":1,"kind":"village","quarters":[]}`), claude.ErrOutputMismatch, "kind"},
		{"time", good(`{"name":"A","people":1,"founded":"long ago","quarters":[]}`), claude.ErrOutputMismatch, "does not match"},
		{"no JSON", good(`{`), claude.ErrOutputMismatch, ""},
	} {
		got, err := claude.Decode[harness.City](tt.result)
		bad, ok := errors.AsType[*claude.OutputError](err)
		if !ok || !errors.Is(err, tt.reason) || bad.Result != tt.result || !strings.Contains(err.Error(), tt.text) || got.Name != "" {
			t.Errorf("%s: %+v, %v", tt.name, got, err)
		}
		for _, other := range []error{claude.ErrNoOutput, claude.ErrOutputRetries, claude.ErrOutputMismatch} {
			if other != tt.reason && errors.Is(err, other) {
				t.Errorf("%s is also %v", tt.name, other)
			}
		}
	}
	_, err := claude.Decode[harness.City](&message.Result{IsError: true, TerminalReason: message.EndAPIError})
	if _, ok := errors.AsType[*claude.ResultError](err); !ok {
		t.Errorf("failed turn: %v", err)
	}
}

func TestOutputSchemaOption(t *testing.T) {
	for want, raw := range map[string]string{
		"is not a JSON Schema": `{"type":7}`,
		"not of type":          `{"type":"array"}`,
		"draft-07 only":        `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`,
	} {
		_, err := claude.Connect(t.Context(), &claude.Options{OutputSchema: json.RawMessage(raw), Transport: noStart{}})
		if bad, ok := errors.AsType[*claude.OptionError](err); !ok || bad.Field != "OutputSchema" || !strings.Contains(bad.Problem, want) {
			t.Errorf("%s: %v", raw, err)
		}
	}
	_, _, err := claude.AskAs[chan int](t.Context(), "", nil)
	if bad, ok := errors.AsType[*claude.OptionError](err); !ok || !strings.Contains(bad.Problem, "chan int cannot be JSON") {
		t.Errorf("channel: %v", err)
	}
	_, _, err = claude.AskAs[harness.City](t.Context(), "", &claude.Options{OutputSchema: json.RawMessage(`{"type":"object"}`)})
	if _, ok := errors.AsType[*claude.OptionError](err); !ok {
		t.Errorf("two schemas: %v", err)
	}
}

// A short schema is on the command line; a long one is in the handshake.
func TestOutputSchemaTravels(t *testing.T) {
	long := json.RawMessage(`{"type":"object","description":"` + strings.Repeat("x", 9<<10) + `"}`)
	for name, raw := range map[string]json.RawMessage{"short": json.RawMessage(`{"type":"object"}`), "long": long} {
		t.Run(name, func(t *testing.T) {
			play := func(c *cli) {
				if name == "long" {
					if r := c.request("initialize"); strings.Count(string(r.Body), "x") < 9<<10 {
						c.t.Errorf("got %s", r.Body)
					} else {
						c.succeed(r, "{}")
					}
				}
				c.answer("done")
			}
			bubble(t, play, func(t *testing.T, o *claude.Options) {
				o.OutputSchema = raw
				if _, err := claude.Ask(t.Context(), "go", o); err != nil {
					t.Fatal(err)
				}
				args := strings.Join(o.Transport.(*double).launch.Args, " ")
				if strings.Contains(args, "--json-schema=") != (name == "short") {
					t.Errorf("arguments %.500s", args)
				}
			})
		})
	}
}

// Cost, session and denials of a typed answer are in its result.
func TestTypedAnswerHasItsResult(t *testing.T) {
	type town struct {
		Name string `json:"name"`
	}
	cli := claudetest.New(claudetest.Answer(town{"Oslo"}))
	answer, res, err := claude.AskAs[town](t.Context(), "Where?", &claude.Options{Transport: cli})
	if err != nil || answer.Name != "Oslo" {
		t.Fatalf("AskAs = %+v, %v", answer, err)
	}
	if res == nil || res.TotalCostUSD == 0 || res.SessionID == "" {
		t.Errorf("result %+v", res)
	}
}
