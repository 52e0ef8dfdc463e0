package store_test

import (
	"bytes"
	"encoding/json"
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

// An entry is checked by a quick reader first, which must not let anything pass
// that is not JSON.
func FuzzEntryCheck(f *testing.F) {
	for _, e := range []string{`{}`, `{"a":1,"a":2}`, `{"a":"\ud83d"}`, "{\"a\":\"\xff\"}", `{"a":[1e5,-0.1,true,null]}`, `{"a":01}`, `{}{}`, "{}\n", `[]`, ``} {
		f.Add([]byte(e))
	}
	f.Fuzz(func(t *testing.T, e []byte) {
		want := len(e) > 0 && e[0] == '{' && json.Valid(e) && !bytes.ContainsAny(e, "\r\n")
		if err := store.Entry(e).Check(); (err == nil) != want {
			t.Errorf("Check(%q) = %v, want an error: %v", e, err, !want)
		}
	})
}
