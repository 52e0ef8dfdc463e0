package claudetest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

const general = "general-purpose"

// counting is a subagent that looks, takes its time and reports.
func counting(what string) claudetest.ScriptedCall {
	return claudetest.ScriptedCall{
		Name:  "Agent",
		Input: map[string]any{"description": what, "prompt": "Count the " + what + ".", "subagent_type": general},
		Replies: []claudetest.Reply{
			claudetest.UseTool("Glob", map[string]string{"pattern": what}),
			claudetest.Say("three " + what).After(time.Minute),
		},
	}
}

// Whatever way is used to ask, the answer is that after the agents.
func TestSubagentsInTheBackground(t *testing.T) {
	for name, calls := range map[string][]claudetest.ScriptedCall{
		"one":                    {counting("files")},
		"three that end earlier": {counting("files"), counting("folders"), counting("links")},
	} {
		t.Run(name, func(t *testing.T) {
			wait := time.Duration(len(calls)-1) * time.Minute // of the first answer
			synctest.Test(t, func(t *testing.T) {
				script := []claudetest.Reply{claudetest.UseTools(calls...), claudetest.Say("They are at work.").After(wait), claudetest.Say("All are counted.")}
				cli := claudetest.New(script...)
				res, err := claude.Ask(t.Context(), "count", &claude.Options{Transport: cli})
				if err != nil || res.Text != "All are counted." {
					t.Errorf("Ask = %+v, %v", res, err)
				}
				s, err := claude.Connect(t.Context(), &claude.Options{Transport: cli})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				var results []string
				var work message.Progress
				for msg, err := range s.RunUntilIdle(t.Context(), "count") {
					if err != nil {
						t.Fatal(err)
					}
					work.Add(msg)
					if res, ok := msg.(*message.Result); ok {
						results = append(results, res.Text)
					}
				}
				if results[0] != "They are at work." || results[len(results)-1] != "All are counted." || len(results) != 1+len(calls) {
					t.Errorf("results %q", results)
				}
				for _, task := range work.Tasks() {
					if task.Status != message.TaskCompleted || task.Subagent != general || task.Usage.ToolUses != 1 {
						t.Errorf("task %+v", task)
					}
				}
				if len(work.Tasks()) != len(calls) {
					t.Errorf("%d tasks", len(work.Tasks()))
				}
				if res, err := s.Ask(t.Context(), "thanks"); err != nil || res.Text != claudetest.DefaultText {
					t.Errorf("next Ask = %+v, %v", res, err)
				}
			})
		})
	}
}

// The model learns about every agent that ended, and of what it said.
func TestModelHearsOfSubagents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := ""
		cli := claudetest.NewCLI(&claudetest.Script{Model: func(c *claudetest.ModelCall) claudetest.Reply {
			first, last := c.Messages[0].Text, c.Messages[len(c.Messages)-1].Text
			switch {
			case strings.Contains(first, "Count"):
				return claudetest.Say("forty-two")
			case strings.Contains(last, "</task-notification>"):
				for _, m := range c.Messages {
					heard += m.Text
				}
				return claudetest.Say("noted")
			case len(c.ToolResults) > 0:
				return claudetest.Say("at work").After(time.Second)
			}
			return claudetest.Delegate(general, "Count the files.").With(claudetest.Delegate("Explore", "Count the folders."))
		}})
		res, err := claude.Ask(t.Context(), "delegate", &claude.Options{Transport: cli})
		if err != nil || res.Text != "noted" || strings.Count(heard, "forty-two") != 2 {
			t.Errorf("Ask = %v, heard %q", err, heard)
		}
	})
}

// A subagent that is waited for reports in the result of its call, and one
// inside of it too.
func TestNestedSubagents(t *testing.T) {
	inner := claudetest.Delegate(general, "Count the folders.", claudetest.Say("seven folders"))
	var results []string
	cli := claudetest.New(
		claudetest.DelegateAndWait(general, "Count everything.", inner, claudetest.Say("all in all seven")),
		claudetest.Say("seven"),
	)
	s, err := claude.Connect(t.Context(), &claude.Options{Transport: cli})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var last *message.Result
	for msg, err := range s.Run(t.Context(), "count") {
		if err != nil {
			t.Fatal(err)
		}
		switch m := msg.(type) {
		case *message.User:
			for _, r := range m.ToolResults() {
				results = append(results, m.ParentToolUseID+":"+r.Content.Text())
			}
		case *message.Result:
			last = m
		}
	}
	if len(results) != 2 || !strings.Contains(results[0], "seven folders") || !strings.HasPrefix(results[0], "toolu_") ||
		!strings.HasPrefix(results[1], ":") || !strings.Contains(results[1], "all in all seven") {
		t.Errorf("tool results %q", results)
	}
	if st := last.SubagentStats; st.Spawned != 2 || st.MaxDepth != 2 || st.SpawnedBySubagents != 1 || st.Completed != 2 || st.ByType[general] != 2 {
		t.Errorf("stats %+v", st)
	}
}

// Questions and hooks name the subagent that they are about.
func TestGatesOfSubagents(t *testing.T) {
	var asked, agentID, started, stopped string
	again := true
	o := &claude.Options{
		Transport: claudetest.New(
			claudetest.DelegateAndWait("Explore", "Count the files.",
				claudetest.UseTool("Bash", map[string]string{"command": "ls"}),
				claudetest.Say("I may not look."), claudetest.Say("There are three.")),
			claudetest.Say("three"),
		),
		CanUseTool: func(_ context.Context, req *permission.Request) (permission.Decision, error) {
			asked += req.ToolName
			agentID = req.AgentID
			return permission.Deny("not here"), nil
		},
		Hooks: []hook.Hook{
			hook.SubagentStart("Explore", func(_ context.Context, in *hook.SubagentStartInput) (*hook.ContextOutput, error) {
				started = in.AgentID
				return nil, nil
			}),
			hook.SubagentStart("Plan", func(context.Context, *hook.SubagentStartInput) (*hook.ContextOutput, error) {
				return nil, errors.New("called for another agent")
			}),
			hook.SubagentStop("", func(_ context.Context, in *hook.SubagentStopInput) (*hook.StopOutput, error) {
				stopped += in.LastAssistantMessage
				if again {
					again = false
					return hook.KeepGoing("look again"), nil
				}
				return nil, nil
			}),
		},
	}
	res, err := claude.Ask(t.Context(), "count", o)
	if err != nil || res.Text != "three" {
		t.Fatalf("Ask = %+v, %v", res, err)
	}
	if asked != "Bash" || agentID == "" || started != agentID || stopped != "I may not look.There are three." {
		t.Errorf("asked %q for %q, started %q, stopped %q", asked, agentID, started, stopped)
	}
	if len(res.PermissionDenials) != 1 || res.PermissionDenials[0].ToolName != "Bash" {
		t.Errorf("denials %+v", res.PermissionDenials)
	}
	if res.Usage.OutputTokens != 10 || res.TotalCostUSD < 0.0006 {
		t.Errorf("usage %+v, cost %v: want that of the turn, and that of all", res.Usage, res.TotalCostUSD)
	}
}

// An interrupt ends agents without an answer; one that is stopped by itself is
// answered.
func TestStoppedSubagents(t *testing.T) {
	for name, tt := range map[string]struct {
		stop func(ctx context.Context, s *claude.Session, task string) error
		want []string
	}{
		"interrupt": {func(ctx context.Context, s *claude.Session, _ string) error { _, err := s.Interrupt(ctx); return err }, []string{"at work"}},
		"task":      {func(ctx context.Context, s *claude.Session, task string) error { return s.Tasks().Stop(ctx, task) }, []string{"at work", "It was stopped."}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cli := claudetest.New(
					claudetest.Delegate(general, "Count the files.", claudetest.Say("never").Hold(nil)),
					claudetest.Say("at work"), claudetest.Say("It was stopped."),
				)
				s, err := claude.Connect(t.Context(), &claude.Options{Transport: cli})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				var results []string
				var status message.TaskStatus
				task := ""
				for msg, err := range s.RunUntilIdle(t.Context(), "count") {
					if err != nil {
						t.Fatal(err)
					}
					switch m := msg.(type) {
					case *message.TaskStarted:
						task = m.TaskID
					case *message.TaskNotification:
						status = m.Status
					case *message.Result:
						results = append(results, m.Text)
						if len(results) == 1 {
							if err := tt.stop(t.Context(), s, task); err != nil {
								t.Error(err)
							}
						}
					}
				}
				if !slices.Equal(results, tt.want) || status != message.TaskStopped {
					t.Errorf("results %q, status %q", results, status)
				}
			})
		})
	}
}

// The text of a subagent that is waited for is sent if the client wants it.
func TestForwardedTextOfSubagents(t *testing.T) {
	for _, forward := range []bool{false, true} {
		cli := claudetest.New(claudetest.DelegateAndWait(general, "Count the files.", claudetest.Say("three files")), claudetest.Say("three"))
		texts := 0
		for msg, err := range claude.Query(t.Context(), "count", &claude.Options{Transport: cli, ForwardSubagentText: forward}) {
			if err != nil {
				t.Fatal(err)
			}
			if m, ok := msg.(*message.Assistant); ok && message.SubagentOf(m).Type == general && m.Text() == "three files" {
				texts++
			}
		}
		if (texts == 1) != forward || texts > 1 {
			t.Errorf("forward %v: %d texts", forward, texts)
		}
	}
}

// A session that ends does not leave its agents behind, and does not wait for
// them.
func TestCloseEndsSubagents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := claudetest.New(claudetest.Delegate(general, "Count the files.", claudetest.Say("never").Hold(nil)), claudetest.Say("at work"))
		s, err := claude.Connect(t.Context(), &claude.Options{Transport: cli})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range s.Run(t.Context(), "count") {
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}) // the bubble wants every goroutine gone
}

// Scripts in files say what subagents do.
func TestScriptsOfSubagents(t *testing.T) {
	for name, text := range map[string]string{
		"archive": "-- use Agent --\n{\"prompt\":\"Count.\",\"run_in_background\":false}\n-- agent think --\nhm\n-- agent say --\nthree\n-- say --\nIt says three.\n",
		"json":    `[{"use":[{"name":"Agent","input":{"prompt":"Count.","run_in_background":false},"replies":["three"]}]},"It says three."]`,
	} {
		script, err := claudetest.ParseScript([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		cli := claudetest.NewCLI(script)
		res, err := claude.Ask(t.Context(), "count", &claude.Options{Transport: cli})
		if err != nil || res.Text != "It says three." || !strings.Contains(cli.Recording().Tools()[0].Output, "three") {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
	for text, want := range map[string]string{
		"-- agent say --\nthree\n":                         "line 1: agent say: no call of the tool Agent comes before it",
		"-- use Read --\n{}\n-- agent say --\nthree\n":     "line 3: agent say: no call of the tool Agent comes before it",
		"-- use Agent --\n{}\n-- agent sing --\nthree\n":   "line 3: sing: no such section",
		`[{"use":[{"name":"Read","replies":["three"]}]}]`:  "Read does not start a subagent",
		`[{"use":[{"name":"Agent","replies":[{"x":1}]}]}]`: "reply 1",
	} {
		if _, err := claudetest.ParseScript([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}
