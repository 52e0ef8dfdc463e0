// Package removal removes the folders of conversations, although a provider may hang.
package removal

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/workspace"
)

// Running are the removals that run. Its zero value is ready for use, by any number of
// goroutines.
type Running struct {
	mu      sync.Mutex
	running map[name]*removing
}

// name names a removal.
type name struct {
	provider any
	key      string
}

type removing struct {
	done chan struct{}
	err  error
}

// ErrHangs means that a provider does not return although its time is over. Its call
// continues, and may still remove the folder.
var ErrHangs = errors.New("its provider hangs")

// Grace is how long a provider may take to return once its context has ended.
const Grace = time.Second

// Remove lets a provider remove a folder, and leaves it to itself when the context has
// ended. While the provider hangs, it is not called again for the same conversation.
func (rs *Running) Remove(ctx context.Context, p workspace.Provider, key string, fence store.Fence) error {
	r := rs.begin(ctx, p, key, fence)
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
	}
	grace := time.NewTimer(Grace)
	defer grace.Stop()
	select {
	case <-r.done:
		return r.err
	case <-grace.C:
		return fmt.Errorf("claude: the folder of conversation %q: %w: %w", key, ErrHangs, context.Cause(ctx))
	}
}

func (rs *Running) begin(ctx context.Context, p workspace.Provider, key string, fence store.Fence) *removing {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	n := name{key: key}
	if reflect.ValueOf(p).Comparable() {
		n.provider = p
		if r := rs.running[n]; r != nil {
			return r
		}
	}
	r := &removing{done: make(chan struct{})}
	if rs.running == nil {
		rs.running = make(map[name]*removing)
	}
	rs.running[n] = r
	go func() {
		r.err = p.Remove(ctx, key, fence)
		rs.mu.Lock()
		if rs.running[n] == r {
			delete(rs.running, n)
		}
		rs.mu.Unlock()
		close(r.done)
	}()
	return r
}
