package serve

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/agui"
)

// approvalForm is the question of an MCP server.
func approvalForm(input string) approval.Question {
	return approval.Question{Tool: approval.ElicitationTool, Input: json.RawMessage(input)}
}

// An interrupt names the approval, its place and its input, and describes the answer
// that fits its kind.
func TestInterruptOf(t *testing.T) {
	t.Parallel()
	until := time.Unix(100, 0)
	a := api.Approval{ID: "q1", Digest: "d1", Kind: api.KindTool, Tool: "Bash", Title: "make", ToolUseID: "toolu_1"}
	i := interruptOf(&a, 7)
	if i.ID != "q1.7.d1" || i.Reason != "tool_call" || i.ToolCallID != "toolu_1" || i.Message != "Bash: make" || i.ExpiresAt != nil || i.Metadata["approval"] != &a || !strings.Contains(string(i.ResponseSchema), `"required":["approved"]`) {
		t.Errorf("%+v", i)
	}
	a.Kind, a.ExpiresAt = api.KindQuestion, until
	if i = interruptOf(&a, 7); i.Reason != "input_required" || i.ToolCallID != "toolu_1" || i.Message != "make" || i.ExpiresAt == nil || !i.ExpiresAt.Equal(until) || !strings.Contains(string(i.ResponseSchema), `"required":["answers"]`) {
		t.Errorf("%+v", i)
	}
	for input, form := range map[string]string{
		`{"requested_schema":{"type":"object","title":"T"}}`: `{"type":"object","title":"T"}`, `{"requested_schema":null}`: `{"type":"object"}`, `{}`: `{"type":"object"}`,
	} {
		a.Kind, a.Input = api.KindElicitation, json.RawMessage(input)
		i = interruptOf(&a, 7)
		if i.Reason != "input_required" || i.ToolCallID != "" || !strings.Contains(string(i.ResponseSchema), `"input":`+form) || !json.Valid(i.ResponseSchema) {
			t.Errorf("%s: %+v", input, i)
		}
	}
	run := &aguiRun{in: &agui.RunInput{Resume: []agui.ResumeEntry{{InterruptID: "q1.7.d1", Status: "cancelled"}, {InterruptID: "q2.9.d.2", Status: "resolved", Payload: json.RawMessage(`{"approved":true}`)}}}}
	got, err := run.answers()
	if err != nil || len(got) != 2 || got[0].id != "q1" || got[0].place != 7 || got[0].decision.Digest != "d1" || !got[0].cancel || got[1].id != "q2" || got[1].place != 9 || got[1].decision.Digest != "d.2" || got[1].cancel {
		t.Errorf("%+v, %v", got, err)
	}
	for _, id := range []string{"", "q1", "q1.7", "q1.x.d1", ".7.d1", "q1.7."} {
		run.in.Resume = []agui.ResumeEntry{{InterruptID: id, Status: "cancelled"}}
		if _, err := run.answers(); !badRequest.is(err) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// The parts of a message become blocks of the Messages API; anything else is refused.
func TestPartsOf(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`"hello"`:                      `text`,
		`[{"type":"text","text":"a"}]`: `text`,
		`[{"type":"text","text":"a"},{"type":"image","source":{"type":"data","value":"QUJD","mimeType":"image/png"}}]`: `text image`,
		`[{"type":"image","source":{"type":"url","value":"https://x.example/a.png"}}]`:                                 `image`,
		`[{"type":"document","source":{"type":"data","value":"QUJD","mimeType":"application/pdf"}}]`:                   `document`,
		`[{"type":"document","source":{"type":"url","value":"https://x.example/a.pdf"}}]`:                              `document`,
		`[{"type":"image","source":{"type":"file","value":"x"}}]`:                                                      ``,
		`[{"type":"audio","source":{"type":"data","value":"x"}}]`:                                                      ``,
		`[{"type":"tool_use"}]`:        ``,
		`[1]`:                          ``,
		`[]`:                           ``,
		`""`:                           ``,
		`[{"type":"text","text":" "}]`: ``,
		`null`:                         ``,
		`{}`:                           ``,
	} {
		content, err := partsOf(json.RawMessage(raw))
		var kinds []string
		for _, block := range content {
			switch b := block.(type) {
			case *message.TextBlock:
				kinds = append(kinds, "text")
			case *message.ImageBlock:
				kinds = append(kinds, "image")
			case *message.DocumentBlock:
				kinds = append(kinds, "document")
			default:
				t.Errorf("%s: %T", raw, b)
			}
		}
		if got := strings.Join(kinds, " "); got != want || (err == nil) != (want != "") || err != nil && !badRequest.is(err) {
			t.Errorf("%s: %q, %v", raw, got, err)
			continue
		}
		sent := string(encoded(content))
		for _, part := range []string{"QUJD", "https://x.example/a.png", "https://x.example/a.pdf", "image/png", "application/pdf"} {
			if strings.Contains(raw, part) && err == nil && !strings.Contains(sent, part) {
				t.Errorf("%s is sent as %s", raw, sent)
			}
		}
		if strings.Contains(raw, `"url"`) && err == nil && strings.Contains(sent, "base64") {
			t.Errorf("%s is sent as %s", raw, sent)
		}
	}
}

// ends returns the events that a run sends as it ends.
func ends(t *testing.T, end func(*aguiRun)) []agui.RunEvent {
	t.Helper()
	w := httptest.NewRecorder()
	r := &aguiRun{call: &call{s: &Server{service: &Service{opts: Options{Logger: slog.New(slog.DiscardHandler)}}}}, in: &agui.RunInput{ThreadID: "t", RunID: "r"}, awaited: map[string]bool{"a": true, "b": true}, asked: map[string]bool{}}
	r.stream = &stream{w: w, control: http.NewResponseController(w)}
	r.events = newTranslator(r.send)
	end(r)
	var all []agui.RunEvent
	for text := range strings.SplitSeq(w.Body.String(), "\n\n") {
		if data, ok := strings.CutPrefix(text, "data: "); ok {
			var e agui.RunEvent
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatal(err)
			}
			all = append(all, e)
		}
	}
	return all
}

// A run ends as its turn did, with what all of its turns have used. A failed turn is an
// error; one that was taken back is cancelled.
func TestRunEnds(t *testing.T) {
	t.Parallel()
	used := func(n int) map[string]api.ModelUsage {
		return map[string]api.ModelUsage{"opus": {InputTokens: n, OutputTokens: 2 * n, CacheReadInputTokens: 4 * n, CacheCreationInputTokens: 8 * n}, "haiku": {OutputTokens: 1}}
	}
	for state, want := range map[api.PromptState]string{
		api.PromptAnswered: "RUN_FINISHED success", api.PromptCancelled: "RUN_FINISHED cancelled", api.PromptExpired: "RUN_FINISHED cancelled", api.PromptFailed: "RUN_ERROR broke",
	} {
		got := ends(t, func(r *aguiRun) {
			r.take(&api.Event{Type: api.EventTurn, Seq: 1, Turn: &api.Turn{Prompt: "foreign", State: api.PromptFailed, Models: used(1000)}})
			r.take(&api.Event{Type: api.EventTurn, Seq: 2, Turn: &api.Turn{Prompt: "a", State: state, Error: "broke", Models: used(1)}})
			r.take(&api.Event{Type: api.EventTurn, Seq: 3, Turn: &api.Turn{Prompt: "b", State: api.PromptAnswered, PartOf: "a", Models: used(10)}})
			if len(r.awaited) != 0 || r.place != 3 {
				t.Errorf("%v are awaited at %d", r.awaited, r.place)
			}
			r.finish()
		})
		last := got[len(got)-1]
		says := last.Type + " " + last.Message
		if last.Outcome != nil {
			says = last.Type + " " + last.Outcome.Type
		}
		if says != want || got[len(got)-2].Name != "claude.turn" || last.Type == "RUN_FINISHED" && (last.ThreadID != "t" || last.RunID != "r") {
			t.Errorf("%s: %+v", state, got)
		}
		if !slices.Equal(last.Usage, []agui.RunUsage{
			{Provider: "anthropic", Model: "haiku", Output: 2}, {Provider: "anthropic", Model: "opus", Input: 11 * 13, Output: 22, CachedInput: 44, CacheWrite: 88},
		}) {
			t.Errorf("%s: used %+v", state, last.Usage)
		}
	}
	if got := ends(t, func(r *aguiRun) { r.finish() }); len(got) != 1 || got[0].Outcome.Type != "success" {
		t.Errorf("without a turn: %+v", got)
	}
	failed := ends(t, func(r *aguiRun) {
		r.events.live(api.Block{Message: "m", Kind: api.BlockText, Text: "half"})
		r.fail(internal.because("look"))
	})
	if n := len(failed); n != 4 || failed[2].Type != "TEXT_MESSAGE_END" || failed[3].Type != "RUN_ERROR" || failed[3].Code != "internal" || !strings.Contains(failed[3].Message, "look") {
		t.Errorf("%+v", failed)
	}
	asked := ends(t, func(r *aguiRun) {
		r.place = 5
		r.interrupt([]api.Approval{{ID: "q2", Digest: "d", Tool: "Bash", ToolUseID: "toolu_2", Kind: api.KindTool}, {ID: "q1", Digest: "d", Tool: "x", ToolUseID: "toolu_1", Kind: api.KindElicitation}})
	})
	last := asked[len(asked)-1]
	if last.Type != "RUN_FINISHED" || last.Outcome.Type != "interrupt" || len(last.Outcome.Interrupts) != 2 || last.Outcome.Interrupts[0].ID != "q1.5.d" || last.Outcome.Interrupts[1].ID != "q2.5.d" {
		t.Errorf("%+v", last)
	}
	if len(asked) != 4 || asked[0].ToolCallID != "toolu_2" {
		t.Errorf("calls are shown: %+v", asked)
	}
}
