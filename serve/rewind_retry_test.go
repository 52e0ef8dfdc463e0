package serve_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// unwritable is a store in which logs cannot be written while broken is set.
type unwritable struct {
	store.Fleet
	broken atomic.Bool
}

func (u *unwritable) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	if u.broken.Load() && !c[0].Drop && strings.HasPrefix(c[0].Key.Kind, "serve-log") {
		return nil, errors.New("the disk is full")
	}
	return u.Fleet.Change(ctx, f, c...)
}

// rewinding is a fleet that does something around each rewind.
type rewinding struct {
	*fleet.Fleet
	rewind func(context.Context, func(context.Context) (control.Rewind, error)) (control.Rewind, error)
}

func (f rewinding) Rewind(ctx context.Context, key string, r fleet.RewindTo) (control.Rewind, error) {
	return f.rewind(ctx, func(ctx context.Context) (control.Rewind, error) { return f.Fleet.Rewind(ctx, key, r) })
}

// notices returns the notices of a log: who did what.
func (c *client) notices(conversation string) string {
	c.t.Helper()
	var all []string
	c.follow("/v1/conversations/"+conversation+"/events?after=0", func(e sse) bool {
		if e.event == "notice" {
			all = append(all, e.data)
		}
		return e.event == "synced"
	})
	return strings.Join(all, "\n")
}

// A rewind is in the log before it begins, and again when it is done, although its
// client leaves. One that is done is not an error because the log cannot be
// written.
func TestRewindIsWrittenDown(t *testing.T) {
	t.Parallel()
	db := &unwritable{Fleet: store.Memory()}
	root := t.TempDir()
	r := newRewindRigOn(t, db, root, func(*fleet.Options) {})
	ctx, leave := context.WithCancel(t.Context())
	breaks := false
	r.over(rewinding{r.fleet, func(ctx context.Context, rewind func(context.Context) (control.Rewind, error)) (control.Rewind, error) {
		done, err := rewind(ctx)
		db.broken.Store(breaks)
		leave()
		return done, err
	}})
	ada := r.as("ada", api.RoleOperator)
	id := ada.begin("write " + filepath.Join(root, "a.go")).ID
	prompt := ada.turnsOf(id, 1)[0].Prompt
	done, err := r.server.Service().Rewind(ctx, operator, id, api.RewindRequest{Message: prompt})
	if err != nil || len(done.Files) != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	asked, restored, _ := strings.Cut(ada.notices(id), "\n")
	if !strings.Contains(asked, "asked for files") || !strings.Contains(restored, "restored a file") {
		t.Errorf("the log has %s, then %s", asked, restored)
	}
	breaks = true
	if _, err := r.server.Service().Rewind(t.Context(), operator, id, api.RewindRequest{Message: prompt}); err != nil {
		t.Errorf("although it is done: %v", err)
	}
	if _, err := r.server.Service().Rewind(t.Context(), operator, id, api.RewindRequest{Message: prompt}); err == nil {
		t.Error("files were restored, and nothing says so")
	}
}

// A rewind that failed or was taken back is tried again with the same
// Idempotency-Key, and one that was done is not done again.
func TestRewindAgainWithItsKey(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	root := t.TempDir()
	r := newRewindRigOn(t, store.Memory(), root, func(o *fleet.Options) {
		usual := o.Session
		o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
			if broken.Load() {
				return nil, errors.New("no such repository")
			}
			return usual(ctx, key)
		}
	})
	ada := r.as("ada", api.RoleOperator)
	id := ada.begin("write " + filepath.Join(root, "a.go")).ID
	request := api.RewindRequest{Message: ada.turnsOf(id, 1)[0].Prompt}
	for {
		info, err := r.fleet.Get(t.Context(), strings.Replace(id, "~", "/", 1))
		if err != nil {
			t.Fatal(err)
		}
		if info.State == fleet.StateAsleep {
			break
		}
		<-time.After(time.Millisecond)
	}
	post := func() reply {
		return ada.do("POST", "/v1/conversations/"+id+"/rewind", request, "Idempotency-Key", "k")
	}
	broken.Store(true)
	for range 2 {
		if p := want[api.Problem](ada, post(), http.StatusBadGateway); !strings.Contains(p.Detail, "no such repository") {
			t.Errorf("%+v", p)
		}
	}
	broken.Store(false)
	if done := want[api.Rewound](ada, post(), http.StatusOK); len(done.Files) != 1 {
		t.Errorf("%+v", done)
	}
	if again := post(); again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("it was done again: %s", again.body)
	}
}
