package claudetest_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
)

// A held reply that is never released stays where it is until the client
// interrupts.
func TestHoldForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := claude.Connect(t.Context(), &claude.Options{
			Transport: claudetest.New(claudetest.Say("one two three four").Chunks(4, 0).Hold(nil)), PartialMessages: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		said, stopped := "", false
		for m, err := range s.Run(t.Context(), "go") {
			if r, ok := m.(*message.Result); ok {
				if r.TerminalReason != message.EndAbortedStreaming {
					t.Errorf("the turn ended by %q, %v", r.TerminalReason, err)
				}
				break
			}
			if e, ok := m.(*message.StreamEvent); ok && e.Text() != "" && !stopped {
				said += e.Text()
				synctest.Wait() // nothing more comes by itself
				stopped = true
				if _, err := s.Interrupt(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}
		if !stopped || said == "one two three four" {
			t.Errorf("it said %q, want a part", said)
		}
	})
}

type city struct {
	Name   string `json:"name"`
	People int    `json:"people"`
}

// Typed answers of any type come through the scripted CLI and the real one.
func TestAnswer(t *testing.T) {
	cli := func(r claudetest.Reply) *claude.Options {
		return &claude.Options{Transport: claudetest.New(r)}
	}
	checkAnswers(t, cli)
	_, _, err := claude.AskAs[city](t.Context(), "Where?", cli(claudetest.Answer(map[string]any{"name": 7}).Forever()))
	if !errors.Is(err, claude.ErrOutputRetries) {
		t.Errorf("an answer that never fits: %v, want ErrOutputRetries", err)
	}
	res, err := claude.Ask(t.Context(), "Where?", cli(claudetest.Answer(1)))
	if err != nil || res.StructuredOutput != nil {
		t.Errorf("without a schema: %s, %v, want no answer", res.StructuredOutput, err)
	}
}

func TestRealAnswer(t *testing.T) {
	realcli.Needs(t, realcli.Version, "answers by a schema")
	path := realcli.Need(t, realcli.Tested())
	checkAnswers(t, func(r claudetest.Reply) *claude.Options {
		model := claudetest.NewModel(r)
		url, err := model.Start()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { model.Close() })
		env, _ := realcli.Env(t, url)
		return &claude.Options{CLIPath: path, Env: env, Cwd: t.TempDir()}
	})
}

func checkAnswers(t *testing.T, cli func(claudetest.Reply) *claude.Options) {
	t.Helper()
	oslo := city{"Oslo", 700_000}
	if got, _, err := claude.AskAs[city](t.Context(), "Where?", cli(claudetest.Answer(oslo))); err != nil || got != oslo {
		t.Errorf("an object: %+v, %v", got, err)
	}
	if got, _, err := claude.AskAs[[]city](t.Context(), "Where?", cli(claudetest.Answer([]city{oslo}))); err != nil || !slices.Equal(got, []city{oslo}) {
		t.Errorf("a list: %+v, %v", got, err)
	}
	if got, _, err := claude.AskAs[string](t.Context(), "Where?", cli(claudetest.Answer("Oslo"))); err != nil || got != "Oslo" {
		t.Errorf("a text: %q, %v", got, err)
	}
}

// The scripted model of the scripted CLI sees the same conversation as that of
// the real one.
func TestRealCallMessages(t *testing.T) {
	realcli.Needs(t, realcli.Version, "agreement with the scripted CLI")
	path := realcli.Need(t, realcli.Tested())
	var mu sync.Mutex
	var calls []*claudetest.ModelCall
	reply := func(c *claudetest.ModelCall) claudetest.Reply {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, c)
		if len(c.ToolResults) == 0 && strings.Contains(c.Prompt, "look") {
			return claudetest.Say("I look.").With(claudetest.UseTool("Glob", map[string]string{"pattern": "*.none"}))
		}
		return claudetest.Say("Done.")
	}
	talk := func(o *claude.Options) []string {
		calls = nil
		s, err := claude.Connect(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for _, prompt := range []string{"look there", "and then"} {
			if _, err := s.Ask(t.Context(), prompt); err != nil {
				t.Fatal(err)
			}
		}
		var seen []string
		for _, c := range calls {
			line := c.Prompt + ":"
			for _, m := range c.Messages {
				if m.Role != "system" {
					line += " " + shapeOf(m)
				}
			}
			seen = append(seen, line)
		}
		return seen
	}
	model := claudetest.NewModelFunc(reply)
	url, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	env, _ := realcli.Env(t, url)
	real := talk(&claude.Options{CLIPath: path, Env: env, Cwd: t.TempDir()})
	fake := talk(&claude.Options{Transport: claudetest.NewCLI(&claudetest.Script{Model: reply})})
	if len(fake) != 3 || !slices.Equal(real, fake) {
		t.Errorf("real     %q\nscripted %q", real, fake)
	}
}

// shapeOf is a message in a few words: who, and which blocks, reminders aside.
func shapeOf(m claudetest.ModelMessage) string {
	var blocks []struct {
		Type, Text string
		ToolUseID  string `json:"tool_use_id"`
	}
	if json.Unmarshal(m.Content, &blocks) != nil {
		return m.Role + " text"
	}
	var kinds []string
	for _, b := range blocks {
		if !strings.HasPrefix(b.Text, "<system-reminder>") {
			kinds = append(kinds, b.Type)
		}
	}
	return m.Role + " " + strings.Join(kinds, "+")
}

// A CLI resumes conversations of its own and those the script lists, and forks
// get an id of their own.
func TestResume(t *testing.T) {
	const listed, unknown = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"
	var last *claudetest.ModelCall
	cli := claudetest.NewCLI(&claudetest.Script{
		Model:    func(c *claudetest.ModelCall) claudetest.Reply { last = c; return claudetest.Say("yes") },
		Sessions: []string{listed},
	})
	ask := func(o claude.Options) (*message.Result, error) {
		o.Transport = cli
		return claude.Ask(t.Context(), "hello", &o)
	}
	first, err := ask(claude.Options{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := ask(claude.Options{Resume: first.SessionID})
	if err != nil || again.SessionID != first.SessionID || len(last.Messages) != 3 {
		t.Errorf("resumed: %+v, %v, %d messages", again, err, len(last.Messages))
	}
	fork, err := ask(claude.Options{Resume: first.SessionID, ForkSession: true})
	if err != nil || fork.SessionID == first.SessionID || len(last.Messages) != 5 {
		t.Errorf("forked: %+v, %v, %d messages", fork, err, len(last.Messages))
	}
	if res, err := ask(claude.Options{Resume: listed}); err != nil || res.SessionID != listed {
		t.Errorf("one that the script lists: %+v, %v", res, err)
	}
	if res, err := ask(claude.Options{Resume: unknown}); err == nil || !strings.Contains(err.Error(), "No conversation found") {
		t.Errorf("one that there is not: %+v, %v", res, err)
	}
	if _, err := claude.Connect(t.Context(), &claude.Options{Transport: cli, Resume: unknown}); err == nil || !strings.Contains(err.Error(), "No conversation found") {
		t.Errorf("Connect to one that there is not: %v", err)
	}
}
