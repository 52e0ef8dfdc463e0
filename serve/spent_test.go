package serve_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// Deleting a conversation does not give its cost back: the sums by day, user, preset
// and model, and the budget of the day, stay the same, at the other server and after a
// restart. Nothing else is left, and only its owner and admins see the sums.
func TestDeletedIsPaidFor(t *testing.T) {
	t.Parallel()
	limit := func(o *serve.Options) { o.Presets[0].DailyUSD = 0.000001 }
	db, root := store.Memory(), t.TempDir()
	a, b := newRigIn(t, db, root, limit), newRigIn(t, db, root, limit)
	const all = "/v1/usage?by=day,user,preset,model"
	ada, eve, admin := a.as("ada", api.RoleOperator), a.as("eve", api.RoleOperator), a.as("root", api.RoleAdmin)
	own := want[api.Conversation](ada, ada.do("POST", "/v1/conversations", api.NewConversation{Preset: "shop", Content: api.Text("my secret"), Shared: true}), http.StatusCreated)
	ada.turnsOf(own.ID, 1)
	before := get[api.Usage](ada, all)
	if before.Total.CostUSD <= 0 || before.Total.Turns != 1 || len(before.Items) != 1 || before.Items[0].Model == "" {
		t.Fatalf("before: %+v", before)
	}
	// Either server may have run the turn, and only the one that has the conversation
	// deletes it.
	for at := ada; ; {
		got := at.do("DELETE", "/v1/conversations/"+own.ID, nil)
		if got.status == http.StatusNoContent {
			break
		}
		if got.status != http.StatusConflict || at != ada {
			t.Fatalf("status %d: %s", got.status, got.body)
		}
		at = b.as("ada", api.RoleOperator)
	}
	a.nothingLeft()
	check := func(r *rig) {
		t.Helper()
		for _, c := range []*client{r.as("ada", api.RoleOperator), r.as("root", api.RoleAdmin)} {
			if after := get[api.Usage](c, all); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("after: %+v\nbefore: %+v", after, before)
			}
		}
		if sum, err := r.server.Service().Overview(t.Context(), operator, time.Now()); err != nil || sum.SpentUSD != before.Total.CostUSD {
			t.Errorf("the overview says %v, %v", sum.SpentUSD, err)
		}
		for _, user := range []string{"ada", "bob"} {
			c := r.as(user, api.RoleOperator)
			want[api.Problem](c, c.do("POST", "/v1/conversations", api.NewConversation{Preset: "shop", Content: api.Text("more")}), http.StatusTooManyRequests)
		}
	}
	check(a)
	check(b)
	if seen := get[api.Usage](eve, all); len(seen.Items) > 0 {
		t.Errorf("somebody else sees %+v", seen.Items)
	}
	other := api.User{Name: "eve", Role: api.RoleOperator}
	if seen, err := a.server.Service().Overview(t.Context(), other, time.Now()); err != nil || seen.SpentUSD != 0 {
		t.Errorf("somebody else sees that $%v were spent, %v", seen.SpentUSD, err)
	}
	if old := get[api.Usage](admin, "/v1/usage?from="+time.Now().Add(48*time.Hour).UTC().Format(time.DateOnly)); old.Total.Turns != 0 {
		t.Errorf("after tomorrow: %+v", old.Total)
	}
	a.close()
	check(newRigIn(t, db, root, limit))
	left := 0
	for r, err := range db.Scan(t.Context(), store.Folder{Project: "p", Kind: "serve-spent"}, "") {
		if left++; err != nil {
			t.Fatal(err)
		}
		_, id, _ := strings.Cut(own.ID, "~")
		if text := r.Key.Name + string(r.Value); strings.Contains(text, id) || strings.Contains(text, "secret") {
			t.Errorf("there is %s", text)
		}
	}
	if left != 1 {
		t.Errorf("there are %d records", left)
	}

	// An unreadable record is not left out of the sums: the budget would let more through.
	today := time.Now().UTC().Format(time.DateOnly)
	if _, err := store.Put(t.Context(), db, store.RecordKey{Project: "p", Kind: "serve-spent", Name: today + "/broken"}, []byte("{"), 0, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	s := b.server.Service()
	if usage, err := s.Usage(t.Context(), operator, api.UsageQuery{}); err == nil {
		t.Errorf("the sums without what cannot be read: %+v", usage)
	}
	if sum, err := s.Overview(t.Context(), operator, time.Now()); err == nil {
		t.Errorf("the overview without what cannot be read: %+v", sum)
	}
	if _, err := s.Create(t.Context(), operator, api.NewConversation{Preset: "shop", Content: api.Text("more")}); err == nil {
		t.Error("a prompt was accepted without a look at the budget")
	}
}

// spentBy returns what a user has spent, and on how many turns.
func (r *rig) spentBy(u api.User) (usd float64, turns int) {
	r.t.Helper()
	usage, err := r.server.Service().Usage(r.t.Context(), u, api.UsageQuery{})
	if err != nil {
		r.t.Fatal(err)
	}
	return usage.Total.CostUSD, usage.Total.Turns
}

// Each of two conversations under one key is paid for, such as those of two requests
// with the same Idempotency-Key.
func TestDeletedTwiceIsPaidTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	var ids [2]string
	for i := range ids {
		begun := ada.do("POST", "/v1/conversations", api.NewConversation{Preset: "shop", Content: api.Text("hello")}, "Idempotency-Key", "same")
		ids[i] = want[api.Conversation](ada, begun, http.StatusCreated).ID
		ada.turnsOf(ids[i], 1)
		if got := ada.do("DELETE", "/v1/conversations/"+ids[i], nil); got.status != http.StatusNoContent {
			t.Fatalf("status %d: %s", got.status, got.body)
		}
		for _, name := range recordsOf(t, r.db, "serve-once") { // as after a day
			k := store.RecordKey{Project: "p", Kind: "serve-once", Name: name}
			if old, err := store.Get(t.Context(), r.db, k); err != nil || store.Drop(t.Context(), r.db, k, old.Revision, store.Fence{}) != nil {
				t.Fatal(err)
			}
		}
	}
	if _, turns := r.spentBy(operator); ids[0] != ids[1] || turns != 2 {
		t.Errorf("%v: %d turns are counted", ids, turns)
	}
}

// stays is a store that does not drop some records.
type stays struct {
	store.Fleet
	kind atomic.Value
}

func (s *stays) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	if c[0].Drop && s.kind.Load() == c[0].Key.Kind {
		return nil, errors.New("the program is dead")
	}
	return s.Fleet.Change(ctx, f, c...)
}

// A deletion that is cut off at any step, and finished by the next server, counts what
// was spent once, at every moment.
func TestDeletedHalfwayIsPaidOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"serve-log", "serve-conversation"} {
		t.Run(kind, func(t *testing.T) {
			root := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				db := &stays{Fleet: store.Memory()}
				r := newService(t, db, root, func(o *fleet.Options) { o.Gate = &approval.Options{} }, nil)
				s := r.server.Service()
				c, err := s.Create(t.Context(), operator, api.NewConversation{Preset: "shop", Content: api.Text("hello")})
				if err != nil {
					t.Fatal(err)
				}
				<-time.After(5 * time.Second)
				usd, turns := r.spentBy(operator)
				if turns != 1 || usd <= 0 {
					t.Fatalf("$%v on %d turns", usd, turns)
				}
				db.kind.Store(kind)
				if err := s.Delete(t.Context(), operator, c.ID); err == nil {
					t.Fatal("no error")
				}
				check := func(when string) {
					t.Helper()
					if u, n := r.spentBy(operator); n != turns || u != usd {
						t.Errorf("%s: $%v on %d turns, want $%v", when, u, n, usd)
					}
				}
				check("halfway")
				db.kind.Store("")
				r.onto(r.fleet)
				<-time.After(3 * time.Minute)
				check("finished")
				r.nothingLeft()
			})
		})
	}
}

// The cost of a turn that waits for a person when its conversation is deleted is
// counted as well, although the turn never ended.
func TestDeletedWhileDeferredIsPaidFor(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, store.Memory(), root, func(o *fleet.Options) { o.Gate = &approval.Options{Patience: time.Second} }, nil)
		s := r.server.Service()
		c, err := s.Create(t.Context(), operator, api.NewConversation{Preset: "shop", Content: api.Text("tool 1")})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		waiting, err := s.Conversation(t.Context(), operator, c.ID)
		if err != nil || waiting.State != api.StateDeferred || waiting.CostUSD <= 0 {
			t.Fatalf("%+v, %v", waiting, err)
		}
		if err := s.Delete(t.Context(), operator, c.ID); err != nil {
			t.Fatal(err)
		}
		if usd, turns := r.spentBy(operator); math.Abs(usd-waiting.CostUSD) > 1e-9 || turns != 1 {
			t.Errorf("$%v on %d turns, want $%v", usd, turns, waiting.CostUSD)
		}
		r.nothingLeft()
	})
}

// Readers see the same sums while conversations are deleted.
func TestDeletedWhileCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	var ids []string
	for range 6 {
		ids = append(ids, ada.begin("hello").ID)
		ada.turnsOf(ids[len(ids)-1], 1)
	}
	deleted := make(chan struct{})
	go func() {
		defer close(deleted)
		for _, id := range ids {
			if err := r.server.Service().Delete(t.Context(), operator, id); err != nil {
				t.Error(err)
			}
		}
	}()
	for over := false; !over; {
		select {
		case <-deleted:
			over = true
		default:
		}
		if _, turns := r.spentBy(operator); turns != len(ids) {
			t.Fatalf("%d turns are counted, want %d", turns, len(ids))
		}
	}
	r.nothingLeft()
}
