package serve_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

var root = api.User{Name: "root", Role: api.RoleAdmin}

// foreign starts a server whose fleet also has conversations that were not begun here.
func foreign(t *testing.T, db store.Fleet, dir string) *rig {
	t.Helper()
	return newService(t, db, dir, func(o *fleet.Options) {
		o.Gate = &approval.Options{}
		begun := o.Session
		o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
			own, err := begun(ctx, key)
			if errors.Is(err, store.ErrNotFound) {
				return &claude.Options{Transport: newAgent(), Cwd: dir, Env: []string{"HOME=/home/a"}, Logger: slog.New(slog.DiscardHandler)}, nil
			}
			return own, err
		}
	}, nil)
}

// A conversation that was not begun here, whose deletion was cut off before it had a
// note, is deleted when the server starts again: it does not stay closed for good.
func TestForeignDeletionIsFinished(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		db := &cutOff{Fleet: store.Memory()}
		r := foreign(t, db, dir)
		if _, err := r.fleet.Send(t.Context(), "nightly", fleet.Prompt{Text: "past the server"}); err != nil {
			t.Fatal(err)
		}
		<-time.After(5 * time.Second)
		db.dieAfter(`"erasing"`)
		if err := r.server.Service().Delete(t.Context(), root, "nightly"); err == nil {
			t.Fatal("no error")
		}
		if err := r.server.Close(); err != nil {
			t.Fatal(err)
		}
		db.set(nil)
		r.onto(r.fleet)
		<-time.After(3 * time.Minute)
		r.nothingLeft()
	})
}

// A prompt that was sent here to a conversation not begun here, and whose turn ends
// while no server runs, is counted by the next server, even without a reader.
func TestForeignTurnIsCounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := foreign(t, store.Memory(), dir)
		if _, err := r.fleet.Send(t.Context(), "nightly", fleet.Prompt{Text: "past the server"}); err != nil {
			t.Fatal(err)
		}
		<-time.After(5 * time.Second)
		usd, turns := r.spentBy(root)
		if _, err := r.server.Service().Send(t.Context(), root, "nightly", api.NewPrompt{Content: []byte(`"hello"`)}); err != nil {
			t.Fatal(err)
		}
		if err := r.server.Close(); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		r.onto(r.fleet)
		<-time.After(time.Minute)
		if u, n := r.spentBy(root); n != turns+1 || u <= usd {
			t.Errorf("$%v on %d turns, before $%v on %d", u, n, usd, turns)
		}
	})
}
