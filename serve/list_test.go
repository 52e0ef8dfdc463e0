package serve_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// A page of a list reads the logs of its own conversations, not those of all.
func TestListReadsOnlyItsPage(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) { listsItsPage(t, root) })
}

func listsItsPage(t *testing.T, root string) {
	db := store.Memory()
	records := &countingStore{Records: db}
	r := newService(t, db, root, func(*fleet.Options) {}, func(o *serve.Options) { o.Records = records })
	s := r.server.Service()
	var ids []string
	for i := range 30 {
		c, err := s.Create(t.Context(), operator, api.NewConversation{Preset: "shop", Title: fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, c.ID)
		<-time.After(time.Millisecond) // the newest is the first
	}
	synctest.Wait() // until the new ones are written down
	records.heads.Store(0)
	list, err := s.Conversations(t.Context(), operator, api.ConversationQuery{Limit: 4})
	if err != nil || len(list.Items) != 4 || list.Items[0].ID != ids[29] || list.Next == "" {
		t.Errorf("%d conversations, %q, %v", len(list.Items), list.Next, err)
	}
	if n := records.heads.Swap(0); n > 4 {
		t.Errorf("a list of 4 reads %d logs", n)
	}
	items, more, err := s.Beside(t.Context(), operator, ids[7], 5)
	if err != nil || !more || len(items) != 5 || items[0].ID != ids[29] || items[4].ID != ids[7] {
		t.Errorf("%d conversations, more %t, %v", len(items), more, err)
	}
	if n := records.heads.Load(); n > 5 {
		t.Errorf("5 beside a screen read %d logs", n)
	}
}
