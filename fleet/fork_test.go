package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/internal/restore"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// lostReply is a store that makes a conversation and then reports a conflict, as a
// store does that repeats a write whose reply was lost, after another writer has
// changed the record.
type lostReply struct {
	store.Fleet
	on bool
}

func (s *lostReply) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	next, err := s.Fleet.Change(ctx, f, c...)
	if s.on && err == nil && puts(c, "conversation") && c[0].Revision == 0 {
		s.on = false
		return nil, fmt.Errorf("the record is there: %w", store.ErrConflict)
	}
	return next, err
}

// A copy whose conversation was made, although the store reports a conflict, keeps its
// session.
func TestForkLostReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := &lostReply{Fleet: store.Memory()}, newScripted()
		f := open(t, db, cli, nil)
		defer closeFleet(t, f)
		ask(t, f, "ada", "one")
		db.on = true
		if err := f.Fork(t.Context(), "ada", "bob", ""); err != nil {
			t.Error(err)
		}
		if got := spokenIn(t, f, "bob"); len(got) != 2 {
			t.Errorf("the copy has %q", got)
		}
	})
}

// A store that has not answered whether it made the conversation of a copy may make it
// later: then its session is there.
func TestForkMadeLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		s := &interceptor{Fleet: db}
		f := open(t, s, newScripted(), nil)
		defer closeFleet(t, f)
		ask(t, f, "ada", "hello")
		var late func() error
		s.set(func(k store.RecordKey, value []byte) error {
			if k.Kind != "conversation" || k.Name != "c/copy" {
				return nil
			}
			late = func() error {
				_, err := store.Put(t.Context(), db, k, value, 0, store.Fence{})
				return err
			}
			return errDies
		}, nil)
		if err := f.Fork(t.Context(), "ada", "copy", ""); !errors.Is(err, errDies) {
			t.Errorf("forked: %v", err)
		}
		s.set(nil, nil)
		if err := late(); err != nil {
			t.Fatal(err)
		}
		if got := ask(t, f, "copy", "again"); got != "heard hello, again" {
			t.Errorf("answer %q", got)
		}
	})
}

// A copy ends before a call that the original waits for, whether it is made of a
// conversation or of a session on a disk: nobody is asked about the call a second time, and
// no copy runs it, answers it or learns how it ended.
func TestForkLeavesTheDeferredCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		f := gated(t, db, cli)
		defer closeFleet(t, f)
		ask(t, f, "ada", "hello")
		send(t, f, "ada", "tool 1")
		<-time.After(5 * time.Minute)
		q := question(t, f)
		info, err := f.Get(t.Context(), "ada")
		if err != nil || !q.Deferred {
			t.Fatalf("%+v, %v", q, err)
		}
		d := &disk{t.TempDir(), info.Session}
		root, err := os.OpenRoot(d.dir)
		if err == nil {
			err = errors.Join((restore.Source{Store: db, Project: "p"}).Copy(t.Context(), root, "-work", d.session), root.Close())
		}
		if err == nil {
			err = f.Fork(t.Context(), "ada", "copy", "")
		}
		if err == nil {
			err = f.Resume(t.Context(), "from-disk", d.fork())
		}
		if err != nil {
			t.Fatal(err)
		}
		decide(t, f, q, permission.Allow())
		<-time.After(time.Minute)
		for _, key := range []string{"copy", "from-disk"} {
			if got := ask(t, f, key, "and"); got != "heard hello, tool 1, and" {
				t.Errorf("%s: answer %q", key, got)
			}
			copied, err := f.Get(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			for line, err := range store.Entries(t.Context(), db, store.Key{Project: "p", Session: copied.Session}) {
				if err != nil || strings.Contains(string(line), q.ToolUseID) {
					t.Errorf("%s has the call: %s, %v", key, line, err)
				}
			}
		}
		all := 0
		for _, err := range f.Approvals().List(t.Context(), approval.Filter{}) {
			if all++; err != nil {
				t.Fatal(err)
			}
		}
		if all != 1 || len(cli.tools) != 1 {
			t.Errorf("%d questions, and the tool ran %q", all, cli.tools)
		}
	})
}
