package serve_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// slowToDrop is a store that takes its time to remove a record.
type slowToDrop struct{ store.Records }

func (s slowToDrop) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	if c[0].Drop {
		<-time.After(5 * time.Second)
	}
	return s.Records.Change(ctx, f, c...)
}

// The readers of a quiet conversation that is deleted at another server learn it when it
// is gone, even if the store is slow, and the server that deletes it stops at once.
func TestDeletedElsewhereWhileQuiet(t *testing.T) {
	for _, title := range []string{"quiet, and with an event", ""} {
		synctest.Test(t, func(t *testing.T) { deletedElsewhere(t, title) })
	}
}

// deletedElsewhere gives the conversation another title, unless that is empty: then its
// log is.
func deletedElsewhere(t *testing.T, title string) {
	db := store.Memory()
	r := newService(t, db, t.TempDir(), func(o *fleet.Options) { o.Gate, o.Poll = &approval.Options{}, 10*time.Second }, nil)
	defer r.close()
	ada := api.User{Name: "ada", Role: api.RoleAdmin}
	c, err := r.server.Service().Create(t.Context(), ada, api.NewConversation{Preset: "shop", Title: "quiet"})
	if err != nil {
		t.Fatal(err)
	}
	if title != "" {
		if _, err := r.server.Service().Change(t.Context(), ada, c.ID, api.Change{Title: &title}, ""); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
	defer cancel()
	events, err := r.server.Service().Follow(ctx, ada, c.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan api.Event, 1)
	go func() {
		var last api.Event
		for last = range events {
		}
		ended <- last
	}()
	<-time.After(time.Hour)
	other, err := serve.New(r.fleet, serve.Options{Records: slowToDrop{db}, Project: "p", Presets: r.options.Presets, Logger: r.options.Logger})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Service().Delete(t.Context(), ada, c.ID); err != nil {
		t.Fatal(err)
	}
	gone := time.Now()
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if e := <-ended; e.Type != api.EventBye || time.Since(gone) > 5*time.Second {
		t.Errorf("%s after %s", e.Type, time.Since(gone))
	}
}
