package serve_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// Watched conversations in which nothing happens cost no reads, however many they
// are. Events that another server writes still arrive in time, even when the store does not
// announce changes: then the server looks every two seconds whether there are any.
func TestQuietConversationsAreNotRead(t *testing.T) {
	watched := int64(long.Pick(15, 60)) // minutes, after those in which the pace settles
	t.Run("heard", func(t *testing.T) { testQuiet(t, false, long.Pick(10, 60), watched, 0, watched/5+1) })
	t.Run("deaf", func(t *testing.T) { testQuiet(t, true, 60, watched, quietOnes*watched/5, watched*30+10) })
}

// quietOnes is how many conversations are watched.
var quietOnes = int64(long.Pick(4, 20))

// testQuiet allows so many reads of logs in the minutes in which it watches, and so many looks
// whether other servers have written.
func testQuiet(t *testing.T, deaf bool, settles int, watched, reads, looks int64) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		records := &countingStore{Records: db, deaf: deaf}
		gate := func(o *fleet.Options) { o.Gate = &approval.Options{} }
		r := newService(t, db, t.TempDir(), gate, func(o *serve.Options) { o.Records = records })
		defer r.close()
		ada := api.User{Name: "ada", Role: api.RoleAdmin}
		heard := make(chan api.Event, 100)
		var id string
		for range quietOnes {
			c, err := r.server.Service().Create(t.Context(), ada, api.NewConversation{Preset: "shop", Title: "quiet"})
			if err != nil {
				t.Fatal(err)
			}
			id = c.ID
			title := "renamed" // so that it has a log
			if _, err := r.server.Service().Change(t.Context(), ada, id, api.Change{Title: &title}, ""); err != nil {
				t.Fatal(err)
			}
			events, err := r.server.Service().Follow(t.Context(), ada, c.ID, 0)
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				for e := range events {
					if e.Type == api.EventConversation {
						heard <- e
					}
				}
			}()
		}
		<-time.After(time.Duration(settles) * time.Minute)
		before, looked, written := records.heads.Load(), records.pulses.Load(), records.writes.Load()
		<-time.After(time.Duration(watched) * time.Minute)
		if n := records.heads.Load() - before; n > reads {
			t.Errorf("%d reads in %d minutes", n, watched)
		}
		if n := records.pulses.Load() - looked; n > looks {
			t.Errorf("%d looks for what other servers have written in %d minutes, more than %d", n, watched, looks)
		}
		if n := records.writes.Load() - written; n != 0 || written == 0 {
			t.Errorf("%d writes while nothing happened, %d before", n, written)
		}
		other, err := serve.New(r.fleet, serve.Options{Records: db, Project: "p", Presets: r.options.Presets, Logger: r.options.Logger})
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		for len(heard) > 0 {
			<-heard
		}
		begun := time.Now()
		title := "loud"
		if _, err := other.Service().Change(t.Context(), ada, id, api.Change{Title: &title}, ""); err != nil {
			t.Fatal(err)
		}
		if e := <-heard; e.Changed.Title != title || time.Since(begun) > 5*time.Second {
			t.Errorf("%+v came after %s", e.Changed, time.Since(begun))
		}
	})
}
