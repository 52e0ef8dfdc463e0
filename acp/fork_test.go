package acp_test

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
)

// offering is a back-end that offers other extensions.
type offering struct {
	acp.Contract
	extensions acp.Extensions
}

func (o offering) Extensions() acp.Extensions { return o.extensions }

// fork asks for a copy.
func fork(t *testing.T, d *drive.Driver, id schema.SessionID, dir string) (schema.SessionID, error) {
	t.Helper()
	var resp schema.NewSessionResponse
	err := d.Call(t.Context(), "session/fork", map[string]any{"sessionId": id, "cwd": dir, "mcpServers": []any{}}, &resp)
	return resp.SessionID, err
}

func codeOf(err error) schema.ErrorCode {
	e, _ := errors.AsType[*schema.Error](err)
	if e == nil {
		return 0
	}
	return e.Code
}

// What cannot be copied is refused with a code.
func TestForkRefused(t *testing.T) {
	local, _ := scripted(t, claudetest.UseTool("Bash", map[string]string{"command": "make"}))
	s := newSteerer(t, local, "/")
	if _, err := fork(t, s.Driver, "00000000-0000-4000-8000-000000000000", "/"); codeOf(err) != schema.ErrorCodeResourceNotFound {
		t.Errorf("an unknown session: %v", err)
	}
	if _, err := fork(t, s.Driver, s.id, "here"); codeOf(err) != schema.ErrorCodeInvalidParams {
		t.Errorf("a relative directory: %v", err)
	}
	s.begin(t, "Build it.")
	<-s.asked
	if _, err := fork(t, s.Driver, s.id, "/"); codeOf(err) != schema.ErrorCodeInvalidRequest || !strings.Contains(err.Error(), "turn") {
		t.Errorf("in the middle of a turn: %v", err)
	}
}

// The answer of initialize has the extensions that the agent offers. The requests of the others
// are unknown, and do not reach the agent.
func TestExtensions(t *testing.T) {
	for _, x := range []acp.Extensions{{}, {Forks: true}, {Steering: true}, {Forks: true, Steering: true}} {
		local, _ := scripted(t, claudetest.Say("Hello."))
		ours, theirs := net.Pipe()
		go acp.Serve(t.Context(), theirs, acp.Custom(offering{acp.ContractOf(local), x}))
		d := drive.Connect(ours, drive.Setup{})
		t.Cleanup(d.Close)
		var init schema.InitializeResponse
		if err := d.Call(t.Context(), schema.MethodAgentInitialize, schema.InitializeRequest{ProtocolVersion: schema.Version}, &init); err != nil {
			t.Fatal(err)
		}
		_, forks := init.AgentCapabilities.SessionCapabilities.Extra["fork"]
		_, steers := init.Meta["steering"]
		if forks != x.Forks || steers != x.Steering {
			t.Errorf("%+v: offered copies %t, steering %t", x, forks, steers)
		}
		id := d.New(t, "/")
		_, err := fork(t, d, id, "/")
		if unknown := codeOf(err) == schema.ErrorCodeMethodNotFound; unknown == x.Forks {
			t.Errorf("%+v: a copy: %v", x, err)
		}
		err = d.Call(t.Context(), "_session/steering", map[string]any{"sessionId": id, "prompt": []any{map[string]string{"type": "text", "text": "x"}}}, nil)
		if unknown := codeOf(err) == schema.ErrorCodeMethodNotFound; unknown == x.Steering {
			t.Errorf("%+v: steering: %v", x, err)
		}
	}
}

// TestRealFork copies a session on the real CLI. The copy knows what was said, and goes
// its own way.
func TestRealFork(t *testing.T) {
	r := newReal(t)
	r.model.Add(claudetest.Say("noted"), claudetest.Say("in the copy"), claudetest.Say("in the original"))
	d := drive.Start(t, r.local, drive.Setup{})
	id := d.New(t, r.dir)
	ask := func(id schema.SessionID, text string) string {
		t.Helper()
		if _, err := d.Prompt(t.Context(), id, text); err != nil {
			t.Fatal(err)
		}
		calls := r.model.Calls()
		for i := len(calls) - 1; i >= 0; i-- {
			if !calls[i].Side {
				return string(calls[i].Raw)
			}
		}
		return ""
	}
	ask(id, "Remember blue.")
	twin, err := fork(t, d, id, r.dir)
	if err != nil || twin == "" || twin == id {
		t.Fatalf("the copy of %s is %s, %v", id, twin, err)
	}
	if heard := ask(twin, "Now red."); !strings.Contains(heard, "Remember blue.") || d.Text(twin) != "in the copy" {
		t.Errorf("the copy said %q; it knows the original: %t", d.Text(twin), strings.Contains(heard, "Remember blue."))
	}
	if heard := ask(id, "And?"); strings.Contains(heard, "Now red.") || d.Text(id) != "notedin the original" {
		t.Errorf("the original said %q; it knows the copy: %t", d.Text(id), strings.Contains(heard, "Now red."))
	}
	var list schema.ListSessionsResponse
	if err := d.Call(t.Context(), schema.MethodAgentSessionList, schema.ListSessionsRequest{Cwd: &r.dir}, &list); err != nil || len(list.Sessions) != 2 {
		t.Errorf("listed %+v, %v", list.Sessions, err)
	}
}
