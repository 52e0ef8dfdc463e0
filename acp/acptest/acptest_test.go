package acptest_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/acp/acptest"
	"github.com/claude-agent-go/claude/claudetest"
)

func local(t *testing.T, cli claude.Transport) *acp.Local {
	return &acp.Local{Options: &claude.Options{Transport: cli, Env: []string{"HOME=" + t.TempDir()}}}
}

// The person reads what is asked, and the answer decides whether the call runs.
func TestPermission(t *testing.T) {
	for answer, ended := range map[string]string{"allow-once": "end_turn", "reject": "end_turn", "": "cancelled"} {
		cli := claudetest.New(claudetest.UseTool("Bash", map[string]string{"command": "make"}), claudetest.Say("Done."))
		var asked acptest.Question
		d := acptest.Start(t, local(t, cli), acptest.Setup{Permission: func(_ context.Context, q acptest.Question) string {
			asked = q
			return answer
		}})
		id := d.New(t.TempDir())
		if got, err := d.Prompt(id, "Build it."); err != nil || got != ended {
			t.Errorf("%q: ended %q, %v, want %q", answer, got, err, ended)
		}
		if asked.Session != id || asked.Call == "" || asked.Title != "make" || !strings.Contains(string(asked.Input), `"make"`) ||
			!slices.Contains(asked.Options, "allow-once") || !slices.Contains(asked.Options, "reject") {
			t.Errorf("asked %+v", asked)
		}
		if answer == "allow-once" {
			cli.Recording().WantRan(t, "Bash")
			if d.Text(id) != "Done." {
				t.Errorf("said %q", d.Text(id))
			}
		}
	}
}

// An editor without answers of its own cancels every question.
func TestZeroSetup(t *testing.T) {
	cli := claudetest.New(claudetest.UseTool("Bash", map[string]string{"command": "make"}), claudetest.Say("no"))
	d := acptest.Start(t, local(t, cli), acptest.Setup{})
	if ended, err := d.Prompt(d.New(t.TempDir()), "Build it."); err != nil || ended != "cancelled" {
		t.Errorf("ended %q, %v, want the turn cancelled", ended, err)
	}
	cli.Recording().WantDenied(t, "Bash", "stopped")
}

// Cancel ends the turn, and the question with it.
func TestCancel(t *testing.T) {
	asked := make(chan struct{})
	d := acptest.Start(t, local(t, claudetest.New(claudetest.UseTool("Bash", map[string]string{"command": "make"}))), acptest.Setup{
		Permission: func(ctx context.Context, _ acptest.Question) string {
			close(asked)
			<-ctx.Done()
			return "allow-once"
		},
	})
	id := d.New(t.TempDir())
	ended := make(chan string, 1)
	go func() {
		got, err := d.Prompt(id, "Build it.")
		if err != nil {
			t.Error(err)
		}
		ended <- got
	}()
	<-asked
	if err := d.Cancel(id); err != nil {
		t.Fatal(err)
	}
	if got := <-ended; got != "cancelled" {
		t.Errorf("ended %q", got)
	}
}

// Forms, updates and other requests are the JSON of the protocol.
func TestJSON(t *testing.T) {
	cli := claudetest.New(claudetest.UseTool("AskUserQuestion", map[string]any{"questions": []any{map[string]any{
		"question": "Which colour?", "header": "Colour", "multiSelect": false,
		"options": []any{map[string]string{"label": "green", "description": "like grass"}, map[string]string{"label": "red", "description": "like blood"}},
	}}}), claudetest.Say("Thank you."))
	var form json.RawMessage
	d := acptest.Start(t, local(t, cli), acptest.Setup{
		Capabilities: json.RawMessage(`{"elicitation":{"form":{}}}`),
		Elicitation: func(_ context.Context, params json.RawMessage) json.RawMessage {
			form = params
			return json.RawMessage(`{"action":"decline"}`)
		},
	})
	id := d.New(t.TempDir())
	if ended, err := d.Prompt(id, "Ask me."); err != nil || ended != "end_turn" {
		t.Errorf("ended %q, %v", ended, err)
	}
	if !strings.Contains(string(form), "Which colour?") {
		t.Errorf("the form is %s", form)
	}
	var said bool
	for _, up := range d.Updates(id) {
		var update struct {
			SessionUpdate string `json:"sessionUpdate"`
		}
		if err := json.Unmarshal(up, &update); err != nil {
			t.Error(err)
		}
		said = said || update.SessionUpdate == "agent_message_chunk"
	}
	if !said {
		t.Errorf("the updates are %s", d.Updates(id))
	}
	var list struct{ Sessions []any }
	if err := d.Call("session/list", map[string]any{}, &list); err != nil {
		t.Error(err)
	}
	if err := d.Call("session/none", nil, nil); err == nil {
		t.Error("a request that does not exist was answered")
	}
	d.Close()
	if _, err := d.Prompt(id, "Anything."); err == nil {
		t.Error("a prompt without a connection was answered")
	}
}
