package eventlog

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
)

// A reader is told that a compaction runs, when it has the stored events if it joins in the
// middle, and then how it ended: by what the CLI says or by the line in the transcript,
// whichever comes first. The end comes before the end of the turn. One
// that is over is not reported, unless it failed while it read.
func TestCompactionIsTold(t *testing.T) {
	t.Parallel()
	begun := func(id string) message.Message {
		return &message.Status{Header: message.Header{UUID: id}, Status: "compacting"}
	}
	ended, failed := &message.Status{CompactResult: "success"}, &message.Status{CompactError: "too short"}
	synctest.Test(t, func(t *testing.T) {
		l := New("ada/1", Store{}, Hooks{Exists: always, Touched: func(string) {}})
		hear := func(all ...message.Message) {
			for _, m := range all {
				if err := l.Hear(t.Context(), fleet.ConversationEvent{Live: true, Message: m}); err != nil {
					t.Fatal(err)
				}
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		settle := func() {
			<-time.After(time.Second) // a reader rests between two rounds of events
			synctest.Wait()
		}
		follow := func() (got *[]string) {
			got = new([]string)
			go func() {
				for e := range l.Follow(ctx, 0) {
					if c := e.Compaction; c != nil {
						*got = append(*got, fmt.Sprintf("%s %s %s", c.ID, c.State, c.Error))
					} else {
						*got = append(*got, string(e.Type))
					}
				}
			}()
			synctest.Wait()
			return got
		}
		change := func(events ...Event) {
			l.mu.Lock()
			for _, e := range events {
				l.add(e)
			}
			l.wake()
			l.mu.Unlock()
		}
		first := follow()
		hear(begun("1"))
		settle()
		hear(begun("1"))
		second := follow()
		hear(failed)
		change(Event{Event: api.Event{Type: api.EventTurn, Seq: 1, Turn: &api.Turn{Prompt: "p"}}})
		settle()
		third := follow()
		hear(begun("2"))
		settle()
		change(said(2, ""))
		l.fill("at 2", []byte(`{"type":"system","subtype":"compact_boundary"}`))
		settle()
		hear(ended, begun("3"), ended, begun("4"), failed)
		settle()
		hear(begun("5"))
		settle()
		l.commit(l.head, l.revision, []Event{{Event: api.Event{Type: api.EventTurn, Seq: 3, Turn: &api.Turn{Prompt: "q"}}}})
		hear(&message.Status{Header: message.Header{UUID: "5"}, CompactError: "cut off"})
		settle()
		late := []string{"2 running ", "2 done ", "message", "4 failed too short", "5 running ", "5 failed the turn has ended", "turn"}
		for who, c := range map[string]struct{ got, want []string }{
			"first":  {*first, append([]string{"synced", "1 running ", "1 failed too short", "turn"}, late...)},
			"second": {*second, append([]string{"synced", "1 running ", "1 failed too short", "turn"}, late...)},
			"third":  {*third, append([]string{"turn", "synced"}, late...)},
		} {
			if !slices.Equal(c.got, c.want) {
				t.Errorf("the %s reader got %q, want %q", who, c.got, c.want)
			}
		}
		cancel()
		settle()
	})
}
