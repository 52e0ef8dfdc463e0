package store_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storetest"
)

// inMemory are stores in memory.
func inMemory() storetest.Target {
	return storetest.Target{Open: func(*testing.T) store.Fleet { return store.Memory() }}
}

func TestMemory(t *testing.T) { storetest.Run(t, inMemory()) }

func TestMemoryWrapped(t *testing.T) { storetest.RunWrapped(t, inMemory()) }

// inFiles are stores in directories. On the quick level the disk is not waited for: what is
// synced when, and what follows if that fails, is tested apart.
func inFiles() storetest.Target {
	dirs := make(map[store.Fleet]string)
	open := func(dir string) store.Fleet {
		s := store.Files(dir)
		s.NoSync = !long.Enabled()
		s.PollEvery(5 * time.Millisecond) // the tests wait for some looks
		return s
	}
	return storetest.Target{
		Open: func(t *testing.T) store.Fleet {
			dir := t.TempDir()
			s := open(dir)
			dirs[s] = dir
			return s
		},
		Again: func(t *testing.T, s store.Fleet) store.Fleet { return open(dirs[s]) },
		Process: func(t *testing.T, s store.Fleet) *exec.Cmd {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "STORE_TEST_OWN="+dirs[s])
			return cmd
		},
		Layout: func(t *testing.T, s store.Fleet, version string) {
			file := filepath.Join(dirs[s], ".layout")
			if err := os.Remove(file); err != nil {
				t.Error(err)
			}
			if version == "" {
				return
			}
			if err := os.WriteFile(file, []byte(version), 0o600); err != nil {
				t.Error(err)
			}
		},
	}
}

func TestFiles(t *testing.T) { storetest.Run(t, inFiles()) }

func TestFilesWrapped(t *testing.T) {
	long.Test(t, "holds files to the contract twice more; TestMemoryWrapped wraps on the quick level")
	storetest.RunWrapped(t, inFiles())
}

// An entry is checked by a quick reader first, which must not let anything pass
// that is not JSON, and finds the same uuid as others do.
func FuzzEntryCheck(f *testing.F) {
	for _, e := range []string{`{}`, `{"a":1,"a":2}`, `{"a":"\ud83d"}`, "{\"a\":\"\xff\"}", `{"a":[1e5,-0.1,true,null]}`, `{"a":01}`, `{}{}`, "{}\n", `[]`, ``,
		`{"uuid":"a","x":{"uuid":"b"}}`, `{"x":{"uuid":"b"},"uuid":"a\u0062"}`, `{"uuid":1}`, `{"uuid":null}`, `{"uuid":"\ud83d"}`, `{"Uuid":"a","uuid":"b"}`,
		`{"uuid":"a","uuid":"b"}`, `{"uuid":"` + strings.Repeat("x", 100) + `"}`, `{"uu\u0069d":"a"}`, `{"uuid":"a"}x`} {
		f.Add([]byte(e))
	}
	f.Fuzz(func(t *testing.T, e []byte) {
		want := len(e) > 0 && e[0] == '{' && json.Valid(e) && !bytes.ContainsAny(e, "\r\n")
		if err := store.Entry(e).Check(); (err == nil) != want {
			t.Errorf("Check(%q) = %v, want an error: %v", e, err, !want)
		}
		if id, err := store.Entry(e).CheckedID(); err == nil && id != store.Entry(e).ID() {
			t.Errorf("the id of %q is %q, and checked it is %q", e, store.Entry(e).ID(), id)
		}
	})
}
