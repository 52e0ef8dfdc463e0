package acp_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/serve/api"
)

// TestRemoteCommands shows the slash commands of a conversation once there are any: when it
// is opened, when its first prompt begins, and when they have changed. A copy has those of
// the original.
func TestRemoteCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		var mu sync.Mutex
		var shown []string
		d := drive.Start(t, &acp.Remote{Server: s}, drive.Setup{OnUpdate: func(id schema.SessionID, up schema.SessionUpdate) {
			if up.AvailableCommandsUpdate == nil {
				return
			}
			names := string(id) + ":"
			for _, c := range up.AvailableCommandsUpdate.AvailableCommands {
				names += " " + c.Name
				if c.Input != nil {
					names += " " + *c.Input.Hint
				}
			}
			mu.Lock()
			defer mu.Unlock()
			shown = append(shown, names)
		}})
		wants := func(what string, all ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(shown, all) {
				t.Errorf("%s: shown %s, want %s", what, strings.Join(shown, ", "), strings.Join(all, ", "))
			}
			shown = nil
		}
		lists := func(id string, names ...string) func() {
			var all []api.Command
			for _, name := range names {
				all = append(all, api.Command{Name: name, Hint: "[file]"})
			}
			return func() { s.commands = map[string][]api.Command{id: all} }
		}
		id := string(d.New(t, "/"))
		wants("a new conversation")
		s.happens(lists(id, "hi"), prompt("p", "ada", api.PromptQueued))
		wants("before it begins")
		s.happens(nil, prompt("p", "ada", api.PromptRunning))
		wants("when it begins", id+": hi [file]")
		s.happens(nil, turn("p"))
		wants("the same at its end")
		s.happens(nil, prompt("q", "ada", api.PromptRunning))
		s.happens(lists(id, "hi", "deploy"), turn("q"))
		wants("after a change", id+": hi [file] deploy [file]")

		s.create = func(api.NewConversation) error { return nil }
		var copied schema.NewSessionResponse
		if err := d.Call(t.Context(), "session/fork", schema.ResumeSessionRequest{SessionID: "c", Cwd: "/"}, &copied); err != nil {
			t.Fatal(err)
		}
		wants("a copy", string(copied.SessionID)+": hi [file] deploy [file]")
	})
}

// slowCommands is a server that lists no commands until it is released.
type slowCommands struct {
	*scriptedServer
	release chan struct{}
}

func (s slowCommands) Commands(ctx context.Context, _ string) ([]api.Command, error) {
	select {
	case <-s.release:
		return []api.Command{{Name: "hi"}}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestRemoteCommandsHoldUpNothing shows what is said while a server takes its time to list
// the commands, and the commands when it has.
func TestRemoteCommandsHoldUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slowCommands{newScripted(), make(chan struct{})}
		d := drive.Start(t, &acp.Remote{Server: s}, drive.Setup{})
		id := d.New(t, "/")
		s.happens(nil, prompt("p", "bob", api.PromptRunning), told("7k tokens"))
		synctest.Wait()
		if got := toldOf(d.Updates(id)); !slices.Equal(got, []string{"7k tokens"}) {
			t.Errorf("before the list, shown %q", got)
		}
		close(s.release)
		synctest.Wait()
		if ups := d.Updates(id); len(ups) != 2 || ups[1].AvailableCommandsUpdate == nil {
			t.Errorf("after the list, shown %+v", ups)
		}
	})
}

func told(text string) api.Event {
	return api.Event{Type: api.EventMessage, Message: []byte(`{"type":"system","subtype":"local_command_output","content":"` + text + `","uuid":"1","session_id":"s"}`)}
}
