package fleet_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/store"
)

// A call is known before it begins: its machine dies in the same moment, before the line
// with the call is stored. The next one adds a note to the transcript before it continues.
func TestLostCallIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		var m *machine
		var ran atomic.Int32
		cli := &scripted{CLI: claudetest.NewCLI(&claudetest.Script{
			Model: func(c *claudetest.ModelCall) claudetest.Reply {
				if ran.Load() > 0 {
					return claudetest.Say("done")
				}
				<-time.After(time.Second) // the prompt is stored
				m.mu.Lock()
				m.failing = func(method string) bool { return method == "Append" } // the call is not
				m.mu.Unlock()
				return claudetest.UseTools(claudetest.ScriptedCall{ID: "toolu_lost", Name: "Read", Input: json.RawMessage(`{"file_path":"a"}`)})
			},
			Tools: map[string]host.RunFunc{"Read": func(ctx context.Context, _ json.RawMessage) (host.ToolOutput, error) {
				ran.Add(1)
				go m.kill()
				<-ctx.Done()
				return host.ToolOutput{}, ctx.Err()
			}},
		})}
		alone := func(o *fleet.Options) { o.Gate = nil }
		m = start(t, db, cli, alone)
		id := send(t, m.fleet, "ada", "work")
		<-time.After(2 * time.Second)
		if said := transcriptOf(t, db, m); strings.Contains(said, "toolu_lost") {
			t.Fatalf("the call was stored in time: %s", said)
		}
		crash(t, m)
		m = start(t, db, cli, alone)
		defer closeFleet(t, m.fleet)
		<-time.After(time.Minute)
		if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.Answered || ran.Load() != 1 {
			t.Errorf("%+v, and the tool ran %d times", o, ran.Load())
		}
		if said := transcriptOf(t, db, m); strings.Count(said, "- Read (toolu_lost)") != 1 || !strings.Contains(said, "hook_additional_context") {
			t.Errorf("the transcript: %s", said)
		}
		if err := m.fleet.Delete(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		if left := allRecords(t, db, "calls"); len(left) != 0 {
			t.Errorf("after the deletion: %q", left)
		}
	})
}

// transcriptOf returns the lines of the only session.
func transcriptOf(t *testing.T, db *store.MemoryStore, m *machine) string {
	t.Helper()
	info, err := m.fleet.Get(t.Context(), "ada")
	if m.isDead() {
		reader := open(t, db, nil, withoutCLIs)
		defer closeFleet(t, reader)
		info, err = reader.Get(t.Context(), "ada")
	}
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for e, err := range db.Load(t.Context(), store.Key{Project: "p", Session: info.Session}) {
		if err != nil {
			t.Fatal(err)
		}
		all.Write(e)
		all.WriteByte('\n')
	}
	return all.String()
}
