package fleet_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// Readers in another process see an answer while it is written, from wherever they
// join, without a gap and without a double, and then once from the store: even when
// what carries it loses a tenth and is slow.
func TestEventsLiveElsewhere(t *testing.T) {
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			r := newRadio()
			if seed > 0 {
				r = newLossyRadio(seed)
			}
			db := store.Memory()
			answer := strings.Repeat("all work and no play", 100)
			cli := claudetest.NewCLI(&claudetest.Script{Model: func(*claudetest.ModelCall) claudetest.Reply {
				return claudetest.Say(answer).Chunks(10, 50*time.Millisecond) // it takes ten seconds
			}})
			client, worker := apart(t, db, cli, func(o *fleet.Options) {
				partial(o)
				o.Bus = r
			})
			defer closeFleet(t, worker)
			defer closeFleet(t, client)
			send2(t, client, "ada", "hello")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var pages [3]page
			for n := range pages {
				go pages[n].follow(ctx, t, client, 0)
				<-time.After(500 * time.Millisecond)
				// Requests for the text are lost as well, and each is sent again half a second later.
				for wait := 0; n == 1 && wait < 12 && pages[1].text() == ""; wait++ {
					<-time.After(500 * time.Millisecond)
				}
				if n == 1 && pages[1].text() == "" {
					t.Errorf("seed %d: a reader that joins in the middle of an answer sees nothing of it", seed)
				}
			}
			<-time.After(time.Minute)
			send2(t, client, "ada", "again")
			<-time.After(time.Minute)
			cancel()
			synctest.Wait()
			for n := range pages {
				p := &pages[n]
				if len(p.stored) != 4 || p.stored[1] != answer || p.stored[3] != answer || p.live != "" || p.ended != 2 && (seed == 0 || p.ended > 2) {
					t.Errorf("seed %d, page %d: stored %d, live %q, %d results", seed, n, len(p.stored), p.live, p.ended)
				}
				if p.pieces < 30 {
					t.Errorf("seed %d, page %d: %d pieces", seed, n, p.pieces)
				}
			}
		})
	}
}
