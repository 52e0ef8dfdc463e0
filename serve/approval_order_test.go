package serve_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// lateStore keeps lines about a call back until it is let go.
type lateStore struct {
	store.Fleet
	call string
	goOn chan struct{}
}

func (s *lateStore) Append(ctx context.Context, k store.Key, b store.Batch) error {
	for _, e := range b.Entries {
		if bytes.Contains(e, []byte(s.call)) {
			select {
			case <-s.goOn:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return s.Fleet.Append(ctx, k, b)
}

// A question is in the log after what was said before it, however late that is
// stored; the inbox has it at once, and other conversations do not wait.
func TestQuestionAfterWhatWasSaid(t *testing.T) {
	t.Parallel()
	db := &lateStore{store.Memory(), "toolu_late", make(chan struct{})}
	r := newRig(t, db, nil)
	ada := r.as("ada", api.RoleOperator)
	late := ada.begin("tool late")
	ada.pending(1)
	other := ada.begin("tool quick")
	ada.pending(2)
	ada.follow("/v1/conversations/"+other.ID+"/events?after=0", func(e sse) bool { return e.event == "approval" })
	close(db.goOn) // by now the server has seen both questions
	said := false
	ada.follow("/v1/conversations/"+late.ID+"/events?after=0", func(e sse) bool {
		said = said || e.event == "message" && strings.Contains(e.data, db.call)
		return e.event == "approval"
	})
	if !said {
		t.Error("the question is in the log before the call")
	}
}
