//go:build unix

package otelclaude_test

import (
	"context"
	"slices"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
)

// seen returns hooks that note the ids which the CLI gives to prompts, in order.
func seen(ids *[]string) []hook.Hook {
	return []hook.Hook{hook.UserPromptSubmit(func(_ context.Context, in *hook.UserPromptSubmitInput) (*hook.PromptOutput, error) {
		if !slices.Contains(*ids, in.PromptID) {
			*ids = append(*ids, in.PromptID)
		}
		return nil, nil
	})}
}

// prompts returns the ids of the prompts that a turn answers.
func prompts(turn sdktrace.ReadOnlySpan) []string {
	for _, a := range turn.Attributes() {
		if a.Key == "claude.prompt.ids" {
			return a.Value.AsStringSlice()
		}
	}
	return nil
}

// A turn has the CLI's id of its prompt, if a hook has reported it.
func TestPromptID(t *testing.T) {
	r := record(t)
	var ids []string
	s, err := claude.Connect(t.Context(), r.instrument(&claude.Options{
		Hooks:     seen(&ids),
		Transport: claudetest.NewCLI(say(claudetest.Say("one"), claudetest.Say("two"))),
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, prompt := range []string{"one", "two"} {
		if _, err := s.Ask(t.Context(), prompt); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	turns := r.named("invoke_agent")
	if len(ids) != 2 || len(turns) != 2 {
		t.Fatalf("ids %q of %d turns", ids, len(turns))
	}
	for i, turn := range turns {
		if got := value(turn, "prompt.id"); got != ids[i] || slices.Contains(prompts(turn), got) {
			t.Errorf("turn %d has prompt.id %q, the hook %q; its prompts are %q", i, got, ids[i], prompts(turn))
		}
	}
}

// The id of a hook that belongs to a subagent is not the turn's: the agent may
// work in the background, for a turn before.
func TestPromptIDOfAgents(t *testing.T) {
	r := record(t)
	opts := &claude.Options{
		Hooks: []hook.Hook{hook.PreToolUse("Read", func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
			return nil, nil
		})},
	}
	err := r.ask(opts, say(
		claudetest.UseTool("Agent", map[string]any{"description": "d", "prompt": "look", "subagent_type": "general-purpose", "run_in_background": false}),
		claudetest.UseTool("Read", map[string]string{"file_path": "/x"}), claudetest.Say("seen"), claudetest.Say("done")))
	if err != nil {
		t.Fatal(err)
	}
	if r.find("hook PreToolUse") == nil {
		t.Fatal("no hook was called")
	}
	if id := value(r.find("invoke_agent"), "prompt.id"); id != "" {
		t.Errorf("the turn has the prompt.id of an agent, %q", id)
	}
}

// The CLI's events can be joined with our turns. The CLI gives each turn an id of
// its own, prompt.id, which its hooks report and our turn has; prompts that it
// answers together share it. Its user_prompt event also has the id of our prompt.
func TestRealPromptID(t *testing.T) {
	realcli.Needs(t, "2.1.325", "events of its own")
	r, to := record(t), receive(t)
	held := make(chan struct{})
	opts := r.real(to, claudetest.UseTool("Bash", command{"echo hello"}).Hold(held), claudetest.Say("one and two"), claudetest.Say("three"))
	var ids []string
	opts.Hooks = seen(&ids)
	s, err := claude.Connect(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sent := make([]string, 2)
	for i := range sent {
		if sent[i], err = s.Send(t.Context(), "hello"); err != nil {
			t.Fatal(err)
		}
	}
	for m, err := range s.Messages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := m.(*message.CommandLifecycle); ok && m.CommandUUID == sent[1] && m.State == message.CommandQueued {
			close(held) // the tool's result will find it waiting
		}
		if m.Head().Type == "result" {
			break
		}
	}
	third, err := s.Ask(t.Context(), "hello")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	turns := r.named("invoke_agent")
	if len(turns) != 2 || len(ids) != 2 || !slices.Equal(prompts(turns[0]), sent) || !slices.Equal(prompts(turns[1]), third.Prompts) {
		t.Fatalf("%d turns, hooks with %q", len(turns), ids)
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	joined := 0
	for i, turn := range turns {
		if id := value(turn, "prompt.id"); id != ids[i] {
			t.Errorf("turn %d has prompt.id %q, its hook %q", i, id, ids[i])
		}
		for _, e := range to.logs {
			if e.Body.Text != "claude_code.user_prompt" || e.Attributes.value("prompt.id") != ids[i] {
				continue
			}
			if joined++; !slices.Contains(prompts(turn), e.Attributes.value("message.uuid")) {
				t.Errorf("the CLI's prompt %q is not in %q", e.Attributes.value("message.uuid"), prompts(turn))
			}
		}
		if !slices.ContainsFunc(to.logs, func(e exportedEvent) bool {
			return e.Body.Text == "claude_code.api_request" && e.Attributes.value("prompt.id") == ids[i]
		}) {
			t.Errorf("no call to the model has the prompt.id of turn %d", i)
		}
	}
	if joined != 3 {
		t.Errorf("%d events of prompts were joined, want 3", joined)
	}
}
