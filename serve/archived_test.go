package serve_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// intending is a store in which something happens, once, before the first prompt that
// is about to be sent is written down.
type intending struct {
	store.Fleet
	before atomic.Pointer[func()]
}

func (s *intending) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	if c[0].Key.Kind == "serve-log" && bytes.Contains(c[0].Value, []byte(`"accepting"`)) {
		if do := s.before.Swap(nil); do != nil {
			(*do)()
		}
	}
	return s.Fleet.Change(ctx, f, c...)
}

// A prompt is refused, and not sent, if its conversation is archived elsewhere after
// the first look at whether it takes prompts.
func TestArchivedWhileSending(t *testing.T) {
	t.Parallel()
	db, root := &intending{Fleet: store.Memory()}, t.TempDir()
	a, b := newRigIn(t, db, root, nil), newRigIn(t, db, root, nil)
	one, two := a.as("ada", api.RoleOperator), b.as("ada", api.RoleOperator)
	own := one.begin("hello")
	path := "/v1/conversations/" + own.ID
	one.follow(path+"/events", untilTurns(1))
	archive := func() {
		want[api.Conversation](two, two.do("PATCH", path, `{"archived":true}`), http.StatusOK)
	}
	db.before.Store(&archive)
	const id = "00000000-0000-4000-8000-000000000001"
	if got := want[api.Problem](one, one.do("POST", path+"/prompts", `{"id":"`+id+`","content":"more"}`), http.StatusConflict); got.Type != "/problems/ended" {
		t.Errorf("the problem is %+v", got)
	}
	if db.before.Load() != nil {
		t.Fatal("the prompt was not about to be sent")
	}
	if ticket, err := a.fleet.Prompt(t.Context(), strings.Replace(own.ID, "~", "/", 1), id); !errors.Is(err, fleet.ErrUnknown) {
		t.Errorf("the prompt was sent: %+v, %v", ticket, err)
	}
}
