package e2e

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// delegation lists the agents that a scripted model starts, and how long each
// step takes.
type delegation struct {
	agents []string      // prompts; "nest:" starts one more, "fail:" fails
	agent  time.Duration // what an agent takes to answer
	main   time.Duration // what the first answer takes, after the agents have begun
	hold   <-chan struct{}
}

// placeholder is the model's text while its agents are at work.
const placeholder = "The analyst is at work."

// model returns a model that delegates, and whose last word has one "noted" for
// each agent that it knows.
func (d delegation) model() *claudetest.Model {
	return claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		first, last := c.Messages[0].Text, c.Messages[len(c.Messages)-1].Text
		switch {
		case strings.Contains(first, "fail: "):
			return claudetest.Fail(400, "invalid_request_error", "no good")
		case strings.Contains(first, "nest: ") && len(c.ToolResults) == 0:
			return claudetest.UseTools(agentCall("look: inside"))
		case strings.Contains(first, "nest: "):
			return claudetest.Say("from the inside: " + c.ToolResults[0].Text)
		case strings.Contains(first, "look: "):
			if d.hold != nil {
				select {
				case <-d.hold:
				case <-c.Context().Done():
				}
			}
			return claudetest.Say("forty-two").After(d.agent)
		case strings.Contains(last, "structured-output-enforce"):
			return claudetest.UseTool("StructuredOutput", map[string]any{"heard": agentReports(c)})
		case agentReports(c) > 0:
			return claudetest.Say(strings.TrimSpace(strings.Repeat("noted ", agentReports(c))))
		case len(c.ToolResults) > 0:
			return claudetest.Say(placeholder).After(d.main)
		case strings.Contains(c.Prompt, "delegate"):
			var calls []claudetest.ScriptedCall
			for _, prompt := range d.agents {
				calls = append(calls, agentCall(prompt))
			}
			return claudetest.UseTools(calls...)
		}
		return claudetest.Say("re: " + c.Prompt)
	})
}

func agentCall(prompt string) claudetest.ScriptedCall {
	return claudetest.ScriptedCall{Name: "Agent", Input: map[string]any{"description": "look", "prompt": prompt, "subagent_type": "general-purpose"}}
}

// agentReports counts the ends of agents that the model learned about.
func agentReports(c *claudetest.ModelCall) int {
	return strings.Count(string(c.Raw), "</task-notification>")
}

// waysToAsk are all ways to ask for an answer.
func waysToAsk(t *testing.T, r *real) map[string]func(prompt string) (string, error) {
	text := func(res *message.Result, err error) (string, error) {
		if res == nil {
			return "", err
		}
		return res.Text, err
	}
	return map[string]func(string) (string, error){
		"Ask": func(prompt string) (string, error) { return text(claude.Ask(t.Context(), prompt, r.opts)) },
		"Ask with callbacks": func(prompt string) (string, error) {
			own := *r.opts
			own.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) {
				return permission.Allow(), nil
			}
			return text(claude.Ask(t.Context(), prompt, &own))
		},
		"Query": func(prompt string) (last string, err error) {
			for msg, e := range claude.Query(t.Context(), prompt, r.opts) {
				if res, ok := msg.(*message.Result); ok {
					last = res.Text
				}
				err = e
			}
			return last, err
		},
		"Session.Ask": func(prompt string) (string, error) {
			s := r.connect(t)
			answer, err := text(s.Ask(t.Context(), prompt))
			// The session continues, and the next answer is its own.
			if next, err := text(s.Ask(t.Context(), "thanks")); err != nil || next == placeholder {
				t.Errorf("next Ask = %q, %v", next, err)
			}
			return answer, err
		},
		"Session.RunUntilIdle": func(prompt string) (last string, err error) {
			for msg, e := range r.connect(t).RunUntilIdle(t.Context(), prompt) {
				if res, ok := msg.(*message.Result); ok {
					last = res.Text
				}
				err = e
			}
			return last, err
		},
	}
}

// The answer is that after the agents, not the placeholder before.
func TestRealBackgroundAgents(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "background agents that are answered")
	const some = 300 * time.Millisecond
	few := []string{"Ask", "Session.Ask"}
	session := []string{"Session.Ask"}
	for name, tt := range map[string]struct {
		delegation
		want      string
		waysToAsk []string // none: all
	}{
		"one":                          {delegation{agents: []string{"look: there"}, agent: some}, "noted", nil},
		"one that ends before":         {delegation{agents: []string{"look: there"}, main: 2 * time.Second}, "noted", few},
		"three":                        {delegation{agents: []string{"look: a", "look: b", "look: c"}, agent: some}, "noted noted noted", few},
		"nested":                       {delegation{agents: []string{"nest: there"}, agent: some}, "noted", session},
		"one that fails":               {delegation{agents: []string{"fail: there"}, agent: some}, "noted", session},
		"one that fails, one that not": {delegation{agents: []string{"fail: there", "look: there"}, agent: some}, "noted noted", session},
	} {
		t.Run(name, func(t *testing.T) {
			r := startReal(t, tt.model())
			for how, ask := range waysToAsk(t, r) {
				if tt.waysToAsk != nil && !slices.Contains(tt.waysToAsk, how) {
					continue
				}
				if got, err := ask("delegate"); err != nil || got != tt.want {
					t.Errorf("%s = %q, %v, want %q", how, got, err, tt.want)
				}
			}
		})
	}
}

func TestRealTypedAnswerAfterAgents(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "background agents that are answered")
	r := startReal(t, delegation{agents: []string{"look: there"}, agent: 300 * time.Millisecond}.model())
	schema, err := claude.SchemaFor[struct {
		Heard int `json:"heard"`
	}]()
	if err != nil {
		t.Fatal(err)
	}
	r.opts.OutputSchema = schema
	res, err := claude.Ask(t.Context(), "delegate", r.opts)
	if err != nil || string(res.StructuredOutput) != `{"heard":1}` {
		t.Errorf("Ask = %+v, %v, want the structured output of the last turn", res, err)
	}
}

// Who gives up stops the agents, and the session can be used.
func TestRealLeavingStopsAgents(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "background agents that are answered")
	hold := make(chan struct{})
	defer close(hold)
	r := startReal(t, delegation{agents: []string{"look: there"}, hold: hold}.model())
	s := r.connect(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for msg, err := range s.RunUntilIdle(ctx, "delegate") {
		if last = err; err != nil {
			break
		}
		if res, ok := msg.(*message.Result); ok && res.Text == placeholder {
			cancel()
		}
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("error = %v", last)
	}
	if res, err := s.Ask(t.Context(), "hello"); err != nil || res.Text == placeholder || res.Text == "" {
		t.Errorf("next Ask = %+v, %v", res, err)
	}
}

// An agent that is stopped, and a turn that is interrupted, end the wait.
func TestRealAgentsStoppedWhileAwaited(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "background agents that are answered")
	for name, stop := range map[string]func(ctx context.Context, s *claude.Session, task string) error{
		"task": func(ctx context.Context, s *claude.Session, task string) error { return s.Tasks().Stop(ctx, task) },
		"interrupt": func(ctx context.Context, s *claude.Session, _ string) error {
			_, err := s.Interrupt(ctx)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			hold := make(chan struct{})
			defer close(hold)
			r := startReal(t, delegation{agents: []string{"look: there"}, hold: hold}.model())
			s := r.connect(t)
			task, results := "", 0
			for msg, err := range s.RunUntilIdle(t.Context(), "delegate") {
				if err != nil {
					t.Fatal(err)
				}
				switch m := msg.(type) {
				case *message.TaskStarted:
					task = m.TaskID
				case *message.Result:
					if results++; results == 1 {
						if err := stop(t.Context(), s, task); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			if task == "" || results == 0 {
				t.Errorf("task %q, %d results", task, results)
			}
		})
	}
}

// A background shell command is not waited for, and its turn does not become
// the answer to the next prompt.
func TestRealShellCommandIsNotAwaited(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "turns that nobody asked for")
	bash := claudetest.UseTool("Bash", map[string]any{"command": "sleep 300", "run_in_background": true})
	r := realCLI(t, bash, claudetest.Say("started"), claudetest.Say("next"))
	r.opts.PermissionMode = permission.ModeBypassPermissions
	s := r.connect(t)
	for _, want := range []string{"started", "next"} {
		if res, err := s.Ask(t.Context(), "go"); err != nil || res.Text != want {
			t.Errorf("Ask = %+v, %v, want %q", res, err, want)
		}
	}
}
