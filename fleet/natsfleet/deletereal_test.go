package natsfleet_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/internal/test/realstore"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// When a conversation is deleted, no message of the stream has anything of it: neither its
// data nor its header. Once the servers have rewritten the block, no file has. Servers that
// replicate also keep a log of their own, which a snapshot cuts.
func TestRealDeleteLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, nodes := range map[string]int{"one server": 1, "three that replicate": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var dirs []string
			c := natstest.Start(t, natstest.Options{Nodes: nodes, Configure: func(o *server.Options) {
				dirs, o.SyncInterval = append(dirs, o.StoreDir), 500*time.Millisecond // when blocks are rewritten
			}})
			s := openStore(t, c.URL())
			realstore.Deleted(t, s, func(t *testing.T, text string) []string {
				if found := messagesWith(t, c.URL(), text); len(found) > 0 {
					return found
				}
				if len(filesWith(t, dirs, text)) == 0 {
					t.Error("the server overwrites what is purged at once: then the guide can say so")
				}
				began := time.Now()
				fillBlock(t, s)
				for limit := time.Now().Add(4 * time.Minute); ; <-time.After(100 * time.Millisecond) {
					if found := filesWith(t, dirs, text); len(found) == 0 || time.Now().After(limit) {
						t.Logf("gone from the files of %d servers after %v", nodes, time.Since(began))
						return found
					}
				}
			})
		})
	}
}

// messagesWith lists the messages of the stream that have a text.
func messagesWith(t *testing.T, url, text string) (found []string) {
	t.Helper()
	s, err := newStranger(t, url).js.Stream(t.Context(), "claude")
	if err != nil {
		t.Fatal(err)
	}
	state := s.CachedInfo().State
	for seq := state.FirstSeq; seq <= state.LastSeq; seq++ {
		m, err := s.GetMsg(t.Context(), seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(m.Data, []byte(text)) || strings.Contains(fmt.Sprint(m.Subject, m.Header), text) {
			found = append(found, fmt.Sprintf("message %d of %s", seq, m.Subject))
		}
	}
	return found
}

// filesWith lists the files below some folders that have a text.
func filesWith(t *testing.T, dirs []string, text string) (found []string) {
	t.Helper()
	for _, dir := range dirs {
		found = append(found, filesBelow(t, dir, text)...)
	}
	return found
}

func filesBelow(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint // what is gone has nothing
		}
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte(text)) {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// fillBlock lets the server begin another block, of 8 MB each, and removes most of the one
// before.
func fillBlock(t *testing.T, s *natsfleet.Store) {
	t.Helper()
	k := store.Key{Project: "filler", Session: uuid.New()}
	for range 20 {
		line, err := json.Marshal(map[string]string{"type": "filler", "uuid": uuid.New(), "text": strings.Repeat("x", 1<<19)})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Append(t.Context(), k, store.Batch{ID: uuid.New(), Entries: []store.Entry{line}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delete(t.Context(), k, store.Fence{}); err != nil {
		t.Fatal(err)
	}
}
