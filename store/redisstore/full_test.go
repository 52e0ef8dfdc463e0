package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/claude-agent-go/claude/internal/test/server"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/redisstore"
)

func key(n int) store.Key {
	return store.Key{Project: "p", Session: fmt.Sprintf("00000000-0000-4000-8000-%012d", n)}
}

// Calls that free memory work when the server's memory is full.
func TestMemoryIsFull(t *testing.T) {
	url := server.Redis(t)
	s := open(t, url)
	opts, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	raw := redis.NewClient(opts)
	defer raw.Close()
	batch := store.Batch{Entries: []store.Entry{[]byte(`{"type":"tag"}`)}}
	sub := key(2)
	sub.Sub = "subagents/agent-1"
	for _, k := range []store.Key{key(1), sub} {
		if err := s.Append(t.Context(), k, batch); err != nil {
			t.Fatal(err)
		}
	}
	lease, err := s.Acquire(t.Context(), "p", "c", "me", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	rk := store.RecordKey{Project: "p", Kind: "k", Name: "n"}
	rev, err := store.Put(t.Context(), s, rk, []byte("1"), 0, store.Fence{})
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), key(1), batch); err == nil {
		t.Error("Append works: the test shows nothing")
	}
	for what, err := range map[string]error{
		"Renew":        s.Renew(t.Context(), lease),
		"Delete":       s.Delete(t.Context(), key(1), lease.Fence),
		"Delete a sub": s.Delete(t.Context(), sub, lease.Fence),
		"DropRecord":   store.Drop(t.Context(), s, rk, rev, lease.Fence),
		"Release":      s.Release(t.Context(), lease),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A transcript that is deleted while it is read, and comes back, is not taken for
// the one that was read.
func TestLoadOfAnotherLife(t *testing.T) {
	s := open(t, server.Redis(t))
	sub := key(1)
	sub.Sub = "subagents/agent-1"
	fill := func(what string) {
		for i := range 30 {
			e := store.Entry(fmt.Sprintf(`{"what":%q,"n":%d,"pad":%q}`, what, i, strings.Repeat("x", 300<<10)))
			if err := s.Append(t.Context(), sub, store.Batch{Entries: []store.Entry{e}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill("old")
	n := 0
	var last error
	for e, err := range store.Entries(t.Context(), s, sub) {
		if last = err; err != nil {
			break
		}
		if n++; n == 1 {
			if err := s.Delete(t.Context(), sub, store.Fence{}); err != nil {
				t.Fatal(err)
			}
			fill("new")
		}
		if !strings.Contains(string(e), `"old"`) {
			t.Fatalf("entry %d is %.40s", n, e)
		}
	}
	if !errors.Is(last, store.ErrNotFound) || n >= 30 {
		t.Errorf("%d entries, then %v", n, last)
	}
}

// counting is a connection that counts what is read between commands.
type counting struct {
	net.Conn
	most *int
	now  *int
}

func (c counting) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	*c.now += n
	*c.most = max(*c.most, *c.now)
	return n, err
}

func (c counting) Write(b []byte) (int, error) { *c.now = 0; return c.Conn.Write(b) }

// Replies are bounded by their bytes, however large entries and records are.
func TestPagesAreBounded(t *testing.T) {
	url := server.Redis(t)
	opts, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	most, now := 0, 0
	opts.PoolSize = 1
	opts.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		return counting{c, &most, &now}, err
	}
	s := redisstore.New(redis.NewClient(opts))
	defer s.Close()
	pad := strings.Repeat("x", 900<<10)
	for i := range 24 {
		if err := s.Append(t.Context(), key(1), store.Batch{Entries: []store.Entry{[]byte(fmt.Sprintf(`{"n":%d,"pad":%q}`, i, pad))}}); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Put(t.Context(), s, store.RecordKey{Project: "p", Kind: "k", Name: fmt.Sprintf("%03d", i)}, []byte(pad), 0, store.Fence{}); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for _, err := range store.Entries(t.Context(), s, key(1)) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	for _, err := range s.Scan(t.Context(), store.Folder{Project: "p", Kind: "k"}, "") {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 48 || most > 8<<20 || most < 1<<20 {
		t.Errorf("%d items; the largest reply has %d bytes", n, most)
	}
}
