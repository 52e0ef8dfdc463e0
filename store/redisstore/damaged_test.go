package redisstore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/claude-agent-go/claude/internal/test/server"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/redisstore"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// Whichever key of a transcript the server has lost, or another client has
// overwritten, the transcript is never read with fewer entries than it had, and
// never as one that does not exist.
func TestDamaged(t *testing.T) {
	url := server.Redis(t)
	opts, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	db := redis.NewClient(opts)
	t.Cleanup(func() { db.Close() })
	s := open(t, url)
	for n, damage := range map[string]func(name string) error{
		"lost":        func(name string) error { return db.Del(t.Context(), name).Err() },
		"overwritten": func(name string) error { return db.Set(t.Context(), name, "x", 0).Err() },
	} {
		t.Run(n, func(t *testing.T) {
			for i := 0; ; i++ {
				if err := db.FlushDB(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
				k := key(1)
				want := fillForDamage(t, s, k)
				names, err := db.Keys(t.Context(), "*").Result()
				if err != nil {
					t.Fatal(err)
				}
				slices.Sort(names)
				if i == len(names) {
					return
				}
				if err := damage(names[i]); err != nil {
					t.Fatal(err)
				}
				checkDamaged(t, s, k, names[i], want)
			}
		})
	}
}

// fillForDamage uses every kind of key that the store has.
func fillForDamage(t *testing.T, s *redisstore.Store, k store.Key) (want []string) {
	t.Helper()
	lease, err := s.Acquire(t.Context(), k.Project, k.Session, "me", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	b := store.Batch{ID: storeimpl.NewBatchID(), Fence: lease.Fence}
	for i := range 3 {
		want = append(want, fmt.Sprintf(`{"type":"user","uuid":"%d"}`, i))
		b.Entries = append(b.Entries, store.Entry(want[i]))
	}
	sub := k
	sub.Sub = "subagents/agent-1"
	if err := errors.Join(s.Append(t.Context(), k, b), s.Append(t.Context(), sub, b)); err != nil {
		t.Fatal(err)
	}
	for _, err := range s.List(t.Context(), k.Project) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.Put(t.Context(), s, store.RecordKey{Project: k.Project, Kind: "kind", Name: "name"}, []byte("{}"), 0, lease.Fence); err != nil {
		t.Fatal(err)
	}
	return want
}

func checkDamaged(t *testing.T, s *redisstore.Store, k store.Key, name string, want []string) {
	t.Helper()
	read := func() ([]string, error) {
		var got []string
		for e, err := range store.Entries(t.Context(), s, k) {
			if err != nil {
				return got, err
			}
			got = append(got, string(e))
		}
		return got, nil
	}
	got, err := read()
	if errors.Is(err, store.ErrNotFound) || err == nil && !slices.Equal(got, want) {
		t.Errorf("%s: %q, %v", name, got, err)
	}
	// A refused append leaves no gap, and an accepted one can be read.
	appended := s.Append(t.Context(), k, store.Batch{ID: "again", Entries: []store.Entry{store.Entry(`{"uuid":"0"}`), store.Entry(`{"uuid":"9"}`)}})
	got, err = read()
	if err == nil && !strings.HasPrefix(strings.Join(got, ""), strings.Join(want, "")) || appended == nil && err == nil && got[len(got)-1] != `{"uuid":"9"}` {
		t.Errorf("%s: after an append (%v): %q", name, appended, got)
	}
	for range s.List(t.Context(), k.Project) {
	}
	for range s.Subagents(t.Context(), k.Project, k.Session) {
	}
	for range s.Scan(t.Context(), store.Folder{Project: k.Project, Kind: "kind"}, "") {
	}
	_, _ = store.Get(t.Context(), s, store.RecordKey{Project: k.Project, Kind: "kind", Name: "name"}) // it must not panic
	if _, err := s.Acquire(t.Context(), k.Project, k.Session, "other", time.Minute); err == nil && !strings.Contains(name, "lease") {
		t.Errorf("%s: a lease was given out twice", name)
	}
}
