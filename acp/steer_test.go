package acp_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
)

// steerer is an editor that steers turns.
type steerer struct {
	*drive.Driver
	id      schema.SessionID
	asked   chan struct{}
	answers chan schema.PermissionOptionID
	said    chan string
}

func newSteerer(t *testing.T, b acp.Backend, dir string) *steerer {
	t.Helper()
	s := &steerer{asked: make(chan struct{}, 10), answers: make(chan schema.PermissionOptionID, 10), said: make(chan string, 10_000)}
	s.Driver = drive.Start(t, b, drive.Setup{
		Permission: func(ctx context.Context, _ *schema.RequestPermissionRequest) schema.PermissionOptionID {
			s.asked <- struct{}{}
			select {
			case a := <-s.answers:
				return a
			case <-ctx.Done():
				return ""
			}
		},
		OnUpdate: func(_ schema.SessionID, up schema.SessionUpdate) {
			if m := up.AgentMessageChunk; m != nil {
				s.said <- m.Content.Text.Text
			}
		},
	})
	s.id = s.New(t, dir)
	return s
}

// steer gives the running turn a message and returns the outcome.
func (s *steerer) steer(t *testing.T, text, idle string) string {
	t.Helper()
	var resp struct {
		Outcome string `json:"outcome"`
		Reason  string `json:"reason"`
	}
	params := map[string]any{"sessionId": s.id, "prompt": []any{map[string]any{"type": "text", "text": text}}}
	if idle != "" {
		params["_meta"] = map[string]any{"steering": map[string]any{"idleBehavior": idle}}
	}
	if err := s.Call(t.Context(), "_session/steering", params, &resp); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(resp.Outcome + " " + resp.Reason)
}

// begin starts a prompt.
func (s *steerer) begin(t *testing.T, text string) <-chan schema.StopReason {
	ended := make(chan schema.StopReason, 1)
	go func() {
		resp, err := s.Prompt(context.WithoutCancel(t.Context()), s.id, text)
		if err != nil {
			ended <- schema.StopReason(err.Error())
			return
		}
		ended <- resp.StopReason
	}()
	return ended
}

func (s *steerer) until(t *testing.T, want string) {
	t.Helper()
	for text := ""; !strings.Contains(text, want); {
		select {
		case more := <-s.said:
			text += more
		case <-time.After(time.Minute):
			t.Fatalf("said %q after a minute, want %q", text, want)
		}
	}
}

// steerStory steers turns: one that takes the message in with the result of a tool, one
// that has nothing more to do, and one that is cancelled.
func steerStory(t *testing.T, s *steerer) {
	t.Helper()
	ended := s.begin(t, "Build it.")
	<-s.asked
	if got := s.steer(t, "And test it.", ""); got != "injected" {
		t.Errorf("a turn that waits: %s", got)
	}
	s.answers <- "allow-once"
	if got, text := <-ended, s.Text(s.id); got != schema.StopReasonEndTurn || text != "Built and tested." {
		t.Errorf("ended %s, said %q", got, text)
	}

	ended = s.begin(t, "Talk.")
	s.until(t, "word")
	if got := s.steer(t, "Enough.", ""); got != "injected" {
		t.Errorf("a turn that talks: %s", got)
	}
	if got, text := <-ended, s.Text(s.id); got != schema.StopReasonEndTurn || !strings.HasSuffix(text, "word Enough it is.") {
		t.Errorf("ended %s, said %q", got, text)
	}

	ended = s.begin(t, "Talk.")
	s.until(t, "endless")
	if got := s.steer(t, "More.", ""); got != "injected" {
		t.Errorf("a turn that is to be cancelled: %s", got)
	}
	if err := s.Cancel(t.Context(), s.id); err != nil {
		t.Fatal(err)
	}
	if got := <-ended; got != schema.StopReasonCancelled {
		t.Errorf("a cancelled turn ended %s", got)
	}

	if got := s.steer(t, "Too late.", "promptRequired"); got != "promptRequired noRunningTurn" {
		t.Errorf("without a turn, to be told: %s", got)
	}
	if got := s.steer(t, "Too late.", ""); got != "startedNewTurn" {
		t.Errorf("without a turn: %s", got)
	}
	s.until(t, "A turn of its own.")
}

// steerReplies are the model's part of steerStory.
func steerReplies() []claudetest.Reply {
	return []claudetest.Reply{
		claudetest.UseTool("Bash", map[string]string{"command": "mkdir built"}), claudetest.Say("Built and tested."),
		claudetest.Say(strings.Repeat("word ", 40)).Chunks(5, 10*time.Millisecond), claudetest.Say("Enough it is."),
		claudetest.Say(strings.Repeat("endless ", 2000)).Chunks(8, 10*time.Millisecond), claudetest.Say("A turn of its own."),
	}
}

// TestSteer steers the turns of a scripted CLI.
func TestSteer(t *testing.T) {
	local, _ := scripted(t, steerReplies()...)
	s := newSteerer(t, local, "/")
	steerStory(t, s)
	for name, params := range map[string]string{
		"no prompt":     `{"sessionId":"` + string(s.id) + `","prompt":[]}`,
		"idle behavior": `{"sessionId":"` + string(s.id) + `","prompt":[{"type":"text","text":"x"}],"_meta":{"steering":{"idleBehavior":"wait"}}}`,
		"audio":         `{"sessionId":"` + string(s.id) + `","prompt":[{"type":"audio","data":"","mimeType":"audio/wav"}]}`,
	} {
		err := s.Call(t.Context(), "_session/steering", json.RawMessage(params), nil)
		if e, ok := errors.AsType[*schema.Error](err); !ok || e.Code != schema.ErrorCodeInvalidParams {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := s.Call(t.Context(), "_session/steering", map[string]any{"sessionId": "x", "prompt": []any{}}, nil)
	if e, ok := errors.AsType[*schema.Error](err); !ok || e.Code != schema.ErrorCodeResourceNotFound {
		t.Errorf("an unknown session: %v", err)
	}
}

// TestRealSteer steers the turns of the real CLI.
func TestRealSteer(t *testing.T) {
	r := newReal(t)
	r.model.Add(steerReplies()...)
	steerStory(t, newSteerer(t, r.local, r.dir))
	heard := false
	for _, call := range r.model.Calls() {
		heard = heard || strings.Contains(string(call.Raw), "And test it.")
	}
	if _, err := os.Stat(filepath.Join(r.dir, "built")); err != nil || !heard {
		t.Errorf("the model heard the message: %t; %v", heard, err)
	}
}
