package fleet_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// installed makes a package with a CLI of a version that cannot be started.
func installed(t *testing.T, version string) *claude.Options {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "cli.exe")
	for name, text := range map[string]string{path: "", filepath.Join(dir, "package.json"): `{"name":"@anthropic-ai/claude-code","version":"` + version + `"}`} {
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return &claude.Options{CLIPath: path}
}

// A CLI that is too old for a fleet is refused before a prompt is accepted: at
// Open if the store has conversations, else at the first Send.
func TestTooOld(t *testing.T) {
	for version, refused := range map[string]bool{"1.0.128": true, "2.1.299": true, "2.1.325": false, "2.2.0": false} {
		db := store.Memory()
		opts := installed(t, version)
		o := fleet.Options{
			Store: db, Project: "p", Journal: t.TempDir(), Logger: quiet(),
			Session: func(context.Context, string) (*claude.Options, error) { return opts, nil },
		}
		f, err := fleet.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Send(t.Context(), "ada", fleet.Prompt{Text: "hello"})
		if errors.Is(err, claude.ErrUnsupportedVersion) != refused || !refused && err != nil {
			t.Errorf("%s: Send: %v", version, err)
		}
		closeFleet(t, f)
		client := open(t, db, nil, func(o *fleet.Options) { o.Session, o.MaxLive = nil, fleet.NoCLIs })
		if _, err := client.Send(t.Context(), "ada", fleet.Prompt{Text: "hello"}); err != nil {
			t.Errorf("%s: a fleet that runs none: %v", version, err)
		}
		closeFleet(t, client)
		f, err = fleet.Open(t.Context(), o)
		if refused && (!errors.Is(err, claude.ErrUnsupportedVersion) || !strings.Contains(err.Error(), version)) || !refused && err != nil {
			t.Errorf("%s: Open: %v", version, err)
		}
		if f != nil {
			closeFleet(t, f)
		}
	}
}

// A CLI whose options could not be read at the first prompt is looked at with the next.
func TestTooOldLater(t *testing.T) {
	opts := installed(t, "2.1.299")
	synctest.Test(t, func(t *testing.T) {
		var ready atomic.Bool
		f := open(t, store.Memory(), nil, func(o *fleet.Options) {
			o.Session = func(context.Context, string) (*claude.Options, error) {
				if !ready.Load() {
					return nil, errors.New("not yet")
				}
				return opts, nil
			}
		})
		defer closeFleet(t, f)
		if _, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "hello"}); err != nil {
			t.Fatal(err)
		}
		ready.Store(true)
		if _, err := f.Send(t.Context(), "bob", fleet.Prompt{Text: "hello"}); !errors.Is(err, claude.ErrUnsupportedVersion) {
			t.Errorf("the second prompt: %v", err)
		}
	})
}
