package fleet

import (
	"errors"
	"log/slog"
	"sync"

	"github.com/claude-agent-go/claude/store"
)

// While programs of two versions share a store, the older one meets records that it must
// not read. It leaves their conversations to the newer one, and runs all others.

// newerRecords are the conversations with records of a newer version. Each is reported once.
type newerRecords struct {
	log *slog.Logger

	mu   sync.Mutex
	seen map[string]bool
	held map[string]bool // those with prompts of a newer version, at the last look at all prompts
}

// prompts takes the conversations that have prompts of a newer version, and returns
// those that no longer have any: this program may again run the prompts behind them.
func (n *newerRecords) prompts(now map[string]bool) (freed []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for key := range n.held {
		if !now[key] {
			delete(n.seen, key)
			freed = append(freed, key)
		}
	}
	n.held = now
	return freed
}

// skips reports whether a scan over conversations passes a record because its version is
// newer.
func (n *newerRecords) skips(key string, err error) bool {
	if !errors.Is(err, store.ErrNewer) {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen[key] {
		return true
	}
	if n.seen == nil {
		n.seen = make(map[string]bool)
	}
	n.seen[key] = true
	n.log.Warn("a conversation is left to a newer version of this program", "conversation", key, "error", err)
	return true
}
