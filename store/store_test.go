package store_test

import (
	"testing"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, storetest.Target{Open: func(*testing.T) store.Store { return store.Memory() }})
}

func TestFiles(t *testing.T) {
	dirs := make(map[store.Store]string)
	storetest.Run(t, storetest.Target{
		Open: func(t *testing.T) store.Store {
			dir := t.TempDir()
			s := store.Files(dir)
			dirs[s] = dir
			return s
		},
		Again: func(t *testing.T, s store.Store) store.Store { return store.Files(dirs[s]) },
	})
}
