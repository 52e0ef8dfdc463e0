package claudetest

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/schema"
	"github.com/claude-agent-go/claude/message"
)

// form is the schema that the answer of a turn must follow, and the model's
// progress with it. A turn without a schema has an empty one.
type form struct {
	wanted   bool
	schema   *schema.Schema // nil: one that cannot be read lets everything pass
	urged    bool           // the model was told to use the tool
	attempts int
	last     message.Usage // of the last answer
}

// maxAttempts is how often an answer may miss the schema.
const maxAttempts = 5

func newForm(t *host.Turn) *form {
	raw := t.JSONSchema()
	f := &form{wanted: raw != nil}
	if s, err := schema.Parse(raw); f.wanted && err == nil {
		f.schema = s
	}
	return f
}

// fill is the tool by which the model gives its answer.
func (f *form) fill(_ context.Context, input json.RawMessage) (host.ToolOutput, error) {
	if f.schema != nil {
		if err := f.schema.Validate(input); err != nil {
			out := host.TextOutput("Output does not match required schema: " + err.Error())
			out.IsError = true
			return out, nil
		}
	}
	out := host.TextOutput("Structured output provided successfully")
	out.EndsTurn = f.wanted
	return out, nil
}

// settle looks at an answer of the model and reports whether the turn is done.
func (f *form) settle(t *host.Turn, calls []host.Call, outputs []host.ToolOutput) (done bool, err error) {
	if !f.wanted {
		return len(calls) == 0, nil
	}
	for i, c := range calls {
		if c.Name != answerTool || i >= len(outputs) {
			continue
		}
		if !outputs[i].IsError {
			raw, _ := c.Input.(json.RawMessage)
			t.SetStructuredOutput(raw)
			t.EditResult(func(r *message.Result) { r.Text = string(raw) })
			return true, nil
		}
		if f.attempts++; f.attempts >= maxAttempts {
			t.EditResult(f.giveUp)
			return true, nil
		}
	}
	if len(calls) > 0 || f.urged {
		return len(calls) == 0, nil
	}
	f.urged = true
	return false, t.SayAsUser("[structured-output-enforce] Call the " + answerTool + " tool to complete this request.")
}

// giveUp makes the result that of a model that has missed the schema too often.
// Of the last answer it has only the costs.
func (f *form) giveUp(r *message.Result) {
	r.Usage.InputTokens -= f.last.InputTokens
	r.Usage.OutputTokens -= f.last.OutputTokens
	r.Usage.CacheReadInputTokens -= f.last.CacheReadInputTokens
	r.Usage.CacheCreationInputTokens -= f.last.CacheCreationInputTokens
	r.Subtype, r.IsError, r.Text, r.TerminalReason = message.ResultErrorMaxStructure, true, "", message.EndStructuredOutputAttempts
	r.Errors = []string{fmt.Sprintf("Failed to provide valid structured output after %d attempts", maxAttempts)}
}
