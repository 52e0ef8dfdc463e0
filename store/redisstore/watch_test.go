package redisstore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/claude-agent-go/claude/internal/test/server"
	"github.com/claude-agent-go/claude/internal/test/watched"
	"github.com/claude-agent-go/claude/store/redisstore"
)

func client(t *testing.T, url string) *redis.Client {
	t.Helper()
	opts, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	db := redis.NewClient(opts)
	t.Cleanup(func() { db.Close() })
	return db
}

// A subscription that the server ends is made again, and the reader looks at everything. So it is
// when the server dies and another one takes its place.
func TestWatchReconnects(t *testing.T) {
	url := server.Redis(t)
	p := server.NewProxy(t, strings.TrimPrefix(url, "redis://"), nil)
	s, admin := open(t, "redis://"+p.Addr()), client(t, url)
	w := watched.New(t, s)
	w.Record("a change", "1", watched.Put(t, s, "1"))
	if n, err := admin.Do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub").Int(); err != nil || n != 1 {
		t.Fatalf("%d subscriptions were killed, %v", n, err)
	}
	w.Zero("after the subscription was killed")
	w.Record("a change after that", "2", watched.Put(t, s, "2"))

	other := server.Redis(t)
	p.Lead("")
	_ = admin.ShutdownNoSave(t.Context()).Err() // the connection ends instead of an answer
	p.Lead(strings.TrimPrefix(other, "redis://"))
	w.Zero("on another server")
	direct := open(t, other)
	w.Record("a change on it", "3", watched.Put(t, direct, "3"))
}

// When a slot leaves its node, a cluster ends the subscriptions of its channels. The reader
// learns of it, and listens again where the slot is.
func TestWatchSlotMoves(t *testing.T) {
	address := strings.TrimPrefix(server.Redis(t, "--cluster-enabled", "yes"), "redis://")
	admin := redis.NewClient(&redis.Options{Addr: address})
	defer admin.Close()
	state := func(want string) {
		t.Helper()
		for {
			info, err := admin.ClusterInfo(t.Context()).Result()
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(info, "cluster_state:"+want) {
				return
			}
		}
	}
	if err := admin.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	state("ok")
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{address}, ContextTimeoutEnabled: true})
	s := redisstore.New(cluster)
	defer s.Close()
	w := watched.New(t, s)
	slot, err := admin.ClusterKeySlot(t.Context(), "{p}").Result()
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.ClusterDelSlots(t.Context(), int(slot)).Err(); err != nil {
		t.Fatal(err)
	}
	if err := admin.ClusterAddSlots(t.Context(), int(slot)).Err(); err != nil {
		t.Fatal(err)
	}
	state("ok")
	w.Zero("after the slot has moved")
	w.Record("a change after that", "1", watched.Put(t, s, "1"))
}

// A user who may use no channel can change everything. Its watch looks now and then.
func TestWatchWithoutChannels(t *testing.T) {
	url := server.Redis(t)
	admin := client(t, url)
	if err := admin.Do(t.Context(), "ACL", "SETUSER", "plain", "on", ">secret", "~*", "+@all", "resetchannels").Err(); err != nil {
		t.Fatal(err)
	}
	s := open(t, "redis://plain:secret@"+strings.TrimPrefix(url, "redis://"))
	watched.Put(t, s, "1")
	w := watched.New(t, s)
	watched.Put(t, s, "2")
	w.Zero("after a few seconds")
}

// Leaving the loop ends the subscription, and closing the store ends the loop.
func TestWatchEnds(t *testing.T) {
	url := server.Redis(t)
	s, admin := open(t, url), client(t, url)
	subscriptions := func() string {
		list, err := admin.Do(t.Context(), "CLIENT", "LIST", "TYPE", "pubsub").Text()
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	one, two := watched.New(t, s), watched.New(t, s)
	if n := strings.Count(subscriptions(), "\n"); n != 1 {
		t.Errorf("two loops have %d subscriptions", n)
	}
	one.Stop()
	two.Stop()
	for _, w := range []*watched.Loop{one, two} {
		if err := <-w.End; err != nil {
			t.Errorf("a loop whose context ends: %v", err)
		}
	}
	for begin := time.Now(); subscriptions() != ""; { // the server takes a moment to notice
		if time.Since(begin) > time.Minute {
			t.Fatal("a subscription is left")
		}
	}
	three := watched.New(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-three.End; !errors.Is(err, redis.ErrClosed) {
		t.Errorf("a loop whose store is closed: %v", err)
	}
	for _, err := range s.Watch(t.Context(), "p") {
		if !errors.Is(err, redis.ErrClosed) {
			t.Errorf("a loop over a closed store: %v", err)
		}
	}
}

// Of many changes by many writers, each is read, or the reader is told to look after it was made,
// although connections are cut.
func TestWatchMissesNothing(t *testing.T) {
	url := server.Redis(t)
	address := strings.TrimPrefix(url, "redis://")
	p := server.NewProxy(t, address, nil)
	l := watched.New(t, open(t, "redis://"+p.Addr()))
	l.Many([]watched.Store{open(t, url), open(t, url), open(t, url), open(t, url)}, 250, func() { p.Lead(address) })
}
