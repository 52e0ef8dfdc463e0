package fleet_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// keepsQuestions is a store in which questions cannot be erased for a while.
type keepsQuestions struct {
	*store.MemoryStore
	keeps atomic.Bool
}

var errKept = errors.New("the question stays")

func (s *keepsQuestions) PutRecord(ctx context.Context, k store.RecordKey, value []byte, revision int64, f store.Fence) (int64, error) {
	if s.keeps.Load() && k.Kind == "question" && strings.Contains(string(value), `"input":null`) {
		return 0, errKept
	}
	return s.MemoryStore.PutRecord(ctx, k, value, revision, f)
}

// A deletion that could not erase what a question shows fails, and the next one
// erases it.
func TestDeleteFailsWithItsQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &keepsQuestions{MemoryStore: store.Memory()}
		f := open(t, db, newScripted(), func(o *fleet.Options) { o.Gate = &approval.Options{Patience: time.Minute} })
		defer closeFleet(t, f)
		send(t, f, "ada", "tool 1")
		<-time.After(5 * time.Minute)
		if q := question(t, f); string(q.Input) == "null" {
			t.Fatalf("the question is %+v", q)
		}
		db.keeps.Store(true)
		if err := f.Delete(t.Context(), "ada"); !errors.Is(err, errKept) {
			t.Errorf("Delete = %v, although its question is not erased", err)
		}
		if q := question(t, f); string(q.Input) == "null" {
			t.Errorf("the question was erased: %+v", q)
		}
		db.keeps.Store(false)
		if err := f.Delete(t.Context(), "ada"); err != nil {
			t.Errorf("the second Delete = %v", err)
		}
		if got := left(t, db); len(got) > 0 {
			t.Errorf("left are %q", got)
		}
		for q, err := range f.Approvals().List(t.Context(), approval.Filter{}) {
			if err != nil || string(q.Input) != "null" {
				t.Errorf("the question still shows %s, %v", q.Input, err)
			}
		}
	})
}
