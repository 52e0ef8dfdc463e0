package store_test

import (
	"os"
	"os/exec"
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
		Process: func(t *testing.T, s store.Store) *exec.Cmd {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "STORE_TEST_OWN="+dirs[s])
			return cmd
		},
	})
}
