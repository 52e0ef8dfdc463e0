package workspace_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/workspace"
	"github.com/claude-agent-go/claude/workspace/blobtest"
)

func TestFileBlobs(t *testing.T) {
	dir := t.TempDir()
	blobtest.Run(t, blobtest.Subject{
		Open: func(*testing.T) workspace.Blobs { return workspace.FileBlobs(dir) },
		PutOld: func(t *testing.T, b workspace.Blobs, name string, data []byte, ago time.Duration) {
			then := time.Now().Add(-ago)
			if err := b.Put(t.Context(), name, data); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(filepath.Join(dir, name[:2], name), then, then); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// slowClock is a store whose clock is behind.
type slowClock struct {
	*store.MemoryStore
	behind atomic.Int64
}

func (s *slowClock) Now(ctx context.Context) (time.Time, error) {
	now, err := s.MemoryStore.Now(ctx)
	return now.Add(-time.Duration(s.behind.Load())), err
}

func TestStoreBlobs(t *testing.T) {
	records := &slowClock{MemoryStore: store.Memory()}
	blobtest.Run(t, blobtest.Subject{
		Open: func(*testing.T) workspace.Blobs { return workspace.StoreBlobs(records, "p") },
		PutOld: func(t *testing.T, b workspace.Blobs, name string, data []byte, ago time.Duration) {
			records.behind.Store(int64(ago))
			defer records.behind.Store(0)
			if err := b.Put(t.Context(), name, data); err != nil {
				t.Fatal(err)
			}
		},
	})
}
