package acp_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/serve/api"
)

// copied is the event of an answer that was copied from another conversation.
func copied(id, text string) api.Event {
	e := says(id, text)
	e.Message = append(e.Message[:len(e.Message)-1], `,"forkedFrom":{"sessionId":"c","messageUuid":"x"}}`...)
	return e
}

// TestRemoteFork shows of a copy what is said in it, and not what was copied, which
// arrives late. Only an editor that loads the copy is shown all of it.
func TestRemoteFork(t *testing.T) {
	for _, test := range []struct {
		method string
		want   string
	}{{"session/fork", "New."}, {schema.MethodAgentSessionResume, "New."}, {schema.MethodAgentSessionLoad, "Old. Older. New."}} {
		synctest.Test(t, func(t *testing.T) {
			s := newScripted()
			s.events = []api.Event{copied("a", "Old. ")}
			s.events[0].Seq = 1
			var made *api.NewConversation
			s.create = func(n api.NewConversation) error { made = &n; return nil }
			d := drive.Start(t, &acp.Remote{Server: s}, drive.Setup{})
			var resp schema.NewSessionResponse
			if err := d.Call(t.Context(), test.method, schema.LoadSessionRequest{SessionID: "c", Cwd: "/"}, &resp); err != nil {
				t.Fatal(err)
			}
			id := schema.SessionID("c")
			if test.method == "session/fork" {
				if id = resp.SessionID; id != "copy" || made == nil || made.Preset != "p" || made.Fork == nil || *made.Fork != (api.ForkFrom{Conversation: "c"}) {
					t.Errorf("the copy %s was made as %+v", id, made)
				}
			} else if made != nil {
				t.Errorf("%s made %+v", test.method, made)
			}
			s.happens(nil, copied("b", "Older. "), says("c", "New."))
			synctest.Wait()
			if text := d.Text(id); text != test.want {
				t.Errorf("%s: shown %q, want %q", test.method, text, test.want)
			}
		})
	}
}

// TestRemoteForkRefused copies no conversation whose turn runs, and passes on why the
// server does not make a copy.
func TestRemoteForkRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		s.state = api.StateRunning
		s.create = func(api.NewConversation) error {
			return &api.Problem{Title: "The request is wrong", Detail: "nothing was said yet", Status: 400}
		}
		d := drive.Start(t, &acp.Remote{Server: s}, drive.Setup{})
		for _, want := range []string{"wait for its end", "nothing was said yet"} {
			if _, err := fork(t, d, "c", "/"); err == nil || !strings.Contains(err.Error(), want) || codeOf(err) != schema.ErrorCodeInvalidRequest {
				t.Errorf("%v, want %q", err, want)
			}
			s.happens(func() { s.state = api.StateIdle })
		}
	})
}
