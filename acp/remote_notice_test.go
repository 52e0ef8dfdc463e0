package acp_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/serve/api"
)

// An editor of a server shows why a hook has blocked a prompt: as a notice, if it has a
// place for them, else as text. One that loads the conversation shows it as text.
func TestRemoteNotices(t *testing.T) {
	blocked := api.Event{Type: api.EventMessage, Message: json.RawMessage(`{"type":"system","subtype":"informational","content":"blocked by hook","level":"warning","uuid":"1","session_id":"s"}`)}
	for _, notices := range []bool{false, true} {
		for _, loaded := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				setup := drive.Setup{}
				if notices {
					setup.Capabilities.Session = &schema.ClientSessionCapabilities{Notices: new(schema.NoticeCapabilities)}
				}
				s := newScripted()
				if loaded {
					s.happens(nil, blocked)
				}
				d := drive.Start(t, &acp.Remote{Server: s}, setup)
				if err := d.Call(t.Context(), schema.MethodAgentSessionLoad, schema.LoadSessionRequest{SessionID: "c", Cwd: "/"}, nil); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if !loaded {
					s.happens(nil, blocked)
				}
				synctest.Wait()
				got := d.Text("c")
				for _, up := range d.Updates("c") {
					if up.Notice != nil {
						got += "notice: " + up.Notice.Title
					}
				}
				want := "**Warning:** blocked by hook"
				if notices && !loaded {
					want = "notice: blocked by hook"
				}
				if got != want {
					t.Errorf("notices %t, loaded %t: shown %q, want %q", notices, loaded, got, want)
				}
			})
		}
	}
}
