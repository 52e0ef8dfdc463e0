package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/claude-agent-go/claude/internal/test/realstore"
	"github.com/claude-agent-go/claude/internal/test/server"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/redisstore"
	"github.com/claude-agent-go/claude/store/storetest"
)

func open(t testing.TB, url string) *redisstore.Store {
	t.Helper()
	s, err := redisstore.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestRedis(t *testing.T) {
	url := server.Redis(t) + "?read_timeout=1m" // the largest entry takes long on a busy machine
	storetest.Run(t, storetest.Target{
		Open:    func(t *testing.T) store.Fleet { return open(t, url) },
		Again:   func(t *testing.T, _ store.Fleet) store.Fleet { return open(t, url) },
		Process: func(*testing.T, store.Fleet) *exec.Cmd { return other(url) },
		Layout: func(t *testing.T, _ store.Fleet, version string) {
			opts, err := redis.ParseURL(url)
			if err != nil {
				t.Fatal(err)
			}
			db := redis.NewClient(opts)
			defer db.Close()
			if version == "" {
				err = db.Del(t.Context(), "claude:layout").Err()
			} else {
				err = db.Set(t.Context(), "claude:layout", version, 0).Err()
			}
			if err != nil {
				t.Fatal(err)
			}
		},
	})
}

// A store that wraps this one also keeps the contract.
func TestRedisWrapped(t *testing.T) {
	url := server.Redis(t) + "?read_timeout=1m" // as above
	storetest.RunWrapped(t, storetest.Target{
		Open:  func(t *testing.T) store.Fleet { return open(t, url) },
		Again: func(t *testing.T, _ store.Fleet) store.Fleet { return open(t, url) },
	})
}

// other is another process with a store of the same data.
func other(url string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STORE_TEST_OWN="+url)
	return cmd
}

// TestMain lets the test binary be the other process of a test.
func TestMain(m *testing.M) {
	url := os.Getenv("STORE_TEST_OWN")
	if url == "" {
		os.Exit(m.Run())
	}
	s, err := redisstore.Open(context.Background(), url)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if realstore.Owner() {
		os.Exit(realstore.Own(s))
	}
	os.Exit(storetest.Own(s))
}

// A cluster refuses a script whose keys lie on different nodes.
func TestCluster(t *testing.T) {
	address := strings.TrimPrefix(server.Redis(t, "--cluster-enabled", "yes"), "redis://")
	one := redis.NewClient(&redis.Options{Addr: address})
	defer one.Close()
	if err := one.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	for { // until the node has noticed
		info, err := one.ClusterInfo(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(info, "cluster_state:ok") {
			break
		}
	}
	cluster := func(t *testing.T) store.Fleet {
		s := redisstore.New(redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{address}, ContextTimeoutEnabled: true, ReadTimeout: time.Minute}))
		t.Cleanup(func() { s.Close() })
		return s
	}
	storetest.Run(t, storetest.Target{Open: cluster, Again: func(t *testing.T, _ store.Fleet) store.Fleet { return cluster(t) }})
}

func TestOpenRefuses(t *testing.T) {
	for _, url := range []string{"", "localhost:6379", "http://x:hunter2@localhost", "redis://:hunter2@127.0.0.1:1/0", "redis://:hunter2@127.0.0.1:x"} {
		ctx, cancel := context.WithCancel(t.Context())
		s, err := redisstore.Open(ctx, url)
		cancel()
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v, %v", url, s, err)
		}
	}
}

// A server that may remove any key would lose transcripts silently.
func TestOpenRefusesEviction(t *testing.T) {
	url := server.Redis(t)
	opts, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	db := redis.NewClient(opts)
	defer db.Close()
	for policy, want := range map[string]error{"allkeys-lru": redisstore.ErrEvicts, "allkeys-random": redisstore.ErrEvicts, "volatile-lru": nil, "noeviction": nil} {
		if err := db.ConfigSet(t.Context(), "maxmemory-policy", policy).Err(); err != nil {
			t.Fatal(err)
		}
		s, err := redisstore.Open(t.Context(), url)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v", policy, err)
		}
		if err == nil {
			s.Close()
		}
	}
	// A user who may not ask is not kept out.
	if err := db.Do(t.Context(), "ACL", "SETUSER", "plain", "on", ">secret", "~*", "+@all", "-info").Err(); err != nil {
		t.Fatal(err)
	}
	s, err := redisstore.Open(t.Context(), "redis://plain:secret@"+opts.Addr)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

func BenchmarkAppend(b *testing.B) { storetest.BenchmarkAppend(b, open(b, server.Redis(b))) }
