package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// Store is a store in Redis. Its methods may be called from any goroutine.
type Store struct {
	db   redis.UniversalClient
	base string

	checked atomic.Bool // the layout is one that this program knows

	mu   sync.Mutex
	hubs map[string]*storeimpl.Hub // of the projects that are or were watched; nil when the store is closed
}

var _ store.Fleet = (*Store)(nil)

// Open connects to a server by its URL, such as "redis://user@host:6379/0", or
// "rediss://" for TLS. It refuses a server that may evict any key when its memory
// is short ([ErrEvicts]). A layout of a newer version of this package is refused with
// [store.ErrNewer] when the store is first used. Close the store when you are done with it.
func Open(ctx context.Context, url string) (*Store, error) {
	opts, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("claude: redisstore: the URL cannot be read: want \"redis://HOST:PORT/NUMBER\"") // it may hold a password
	}
	opts.ContextTimeoutEnabled = true
	opts.MaxRetries = -1 // a script that ran, and whose answer was lost, must not run again
	s := New(redis.NewClient(opts))
	if err := cmp.Or(s.db.Ping(ctx).Err(), s.keepsAll(ctx)); err != nil {
		return nil, fmt.Errorf("claude: redisstore: %w", errors.Join(err, s.db.Close()))
	}
	return s, nil
}

// ErrEvicts is the error of [Open] for a server whose maxmemory-policy lets it
// remove any key when its memory is short. Set it to noeviction; the volatile
// policies are fine too, as no key of a store expires.
var ErrEvicts = errors.New("the server may remove any key when its memory is short")

// keepsAll returns an error if the server may remove keys that do not expire. A
// server that does not answer is trusted, because its users may not be allowed to
// ask.
func (s *Store) keepsAll(ctx context.Context) error {
	info, err := s.db.Info(ctx, "memory").Result()
	if err != nil {
		return nil
	}
	for line := range strings.Lines(info) {
		if policy, ok := strings.CutPrefix(strings.TrimSpace(line), "maxmemory_policy:"); ok && strings.HasPrefix(policy, "allkeys-") {
			return fmt.Errorf("%w (maxmemory-policy %s): set noeviction", ErrEvicts, policy)
		}
	}
	return nil
}

// New returns a store that uses a client, which may be that of a cluster. The
// client should have ContextTimeoutEnabled, so that calls end with their
// contexts, and a MaxRetries of -1: a client that repeats a call whose answer was
// lost can store entries without a uuid twice.
func New(db redis.UniversalClient) *Store {
	return &Store{db: db, base: "claude", hubs: make(map[string]*storeimpl.Hub)}
}

// Close closes the client. Loops over [Store.Watch] end with an error.
func (s *Store) Close() error {
	s.mu.Lock()
	hubs := s.hubs
	s.hubs = nil
	s.mu.Unlock()
	for project, h := range hubs {
		h.Close(fail(project, redis.ErrClosed))
	}
	return s.db.Close()
}

// layoutVersion is the version of the keys and values that this program writes.
const layoutVersion = 1

// client returns the client if it knows the layout on the server. A server without a
// version has the first one. The version is then written; if that fails because the
// server is full or read-only, a later client writes it.
func (s *Store) client(ctx context.Context) (redis.UniversalClient, error) {
	if s.checked.Load() {
		return s.db, nil
	}
	at := s.base + ":layout"
	text, err := s.db.Get(ctx, at).Result()
	if err == redis.Nil {
		set, failed := s.db.SetNX(ctx, at, layoutVersion, 0).Result()
		if _, refused := errors.AsType[redis.Error](failed); set || refused {
			s.checked.Store(true)
			return s.db, nil
		}
		if failed != nil {
			return nil, failed
		}
		text, err = s.db.Get(ctx, at).Result() // another program was faster
	}
	if err == nil {
		err = storeimpl.CheckLayout(text, layoutVersion)
	}
	if err != nil {
		return nil, err
	}
	s.checked.Store(true)
	return s.db, nil
}

// key returns a key of a project. The part in braces decides on which node of a
// cluster it lies.
func (s *Store) key(project string, parts ...string) string {
	return s.base + ":{" + project + "}:" + strings.Join(parts, ":")
}

// fail prefixes an error with its origin, once.
func fail(what any, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("claude: redisstore: %v: %w", what, err)
}

// verdict translates the answer of a script into an error.
func verdict(answer int64) error {
	switch answer {
	case leaseLost:
		return store.ErrLeaseLost
	case deleted:
		return store.ErrDeleted
	case conflict:
		return store.ErrConflict
	case notFound:
		return store.ErrNotFound
	case damaged:
		return fmt.Errorf("%w: its entries are gone", store.ErrDamaged)
	}
	return nil
}
