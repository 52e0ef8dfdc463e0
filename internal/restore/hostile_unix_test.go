//go:build unix

package restore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/claude-agent-go/claude/store"
)

// What lies beside a transcript is copied only if it is a small file itself. A link
// could put credentials into the store, and a pipe would be waited for.
func TestSaveHostileFiles(t *testing.T) {
	const id, secret = "00000000-0000-4000-8000-000000000001", `{"accessToken":"sk-secret"}`
	const line = `{"type":"user","uuid":"a","parentUuid":null}` + "\n"
	for name, c := range map[string]struct {
		hostile func(base, meta string) error
		subs    int
		skipped int
	}{
		"as it should be":    {func(_, meta string) error { return os.WriteFile(meta, []byte(`{"agentType":"x"}`), 0o600) }, 1, 0},
		"as large as may be": {func(_, meta string) error { return os.WriteFile(meta, padded(maxMetadata), 0o600) }, 1, 0},
		"too large":          {func(_, meta string) error { return os.WriteFile(meta, padded(maxMetadata+1), 0o600) }, 1, 1},
		"a link":             {func(_, meta string) error { return os.Symlink("../../../../.credentials.json", meta) }, 1, 1},
		"a pipe":             {func(_, meta string) error { return syscall.Mkfifo(meta, 0o600) }, 1, 1},
		"a folder":           {func(_, meta string) error { return os.Mkdir(meta, 0o700) }, 1, 1},
		"a linked transcript": {func(base, _ string) error {
			return os.Symlink("../../../../.credentials.json", base+"/subagents/agent-b.jsonl")
		}, 1, 0},
		"a piped transcript": {func(base, _ string) error { return syscall.Mkfifo(base+"/subagents/agent-b.jsonl", 0o600) }, 1, 0},
		"a linked folder": {func(base, _ string) error {
			return errors.Join(os.RemoveAll(base), os.WriteFile(filepath.Dir(base)+"/other.jsonl", []byte(secret), 0o600), os.Symlink(".", base))
		}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			base := filepath.Join(dir, "projects", "-work", id)
			err := errors.Join(os.MkdirAll(base+"/subagents", 0o700), os.WriteFile(dir+"/.credentials.json", []byte(secret), 0o600),
				os.WriteFile(base+".jsonl", []byte(line), 0o600), os.WriteFile(base+"/subagents/agent-a.jsonl", []byte(line), 0o600),
				c.hostile(base, base+"/subagents/agent-a.meta.json"))
			if err != nil {
				t.Fatal(err)
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			if err := Resumable(t.Context(), root, "-work", id); err != nil {
				t.Fatal(err)
			}
			db := store.Memory()
			saved, err := Source{db, "p"}.Save(t.Context(), root, "-work", id, "me")
			if err != nil || saved.Skipped != c.skipped {
				t.Errorf("%+v, %v, want %d skipped", saved, err, c.skipped)
			}
			subs := []string{""}
			for sub, err := range db.Subagents(t.Context(), "p", id) {
				if err != nil {
					t.Fatal(err)
				}
				subs = append(subs, sub)
			}
			if len(subs) != c.subs+1 {
				t.Errorf("stored %q, want %d subagents", subs, c.subs)
			}
			for _, sub := range subs {
				for e, err := range store.Entries(t.Context(), db, store.Key{Project: "p", Session: id, Sub: sub}) {
					if err != nil || strings.Contains(string(e), "sk-secret") {
						t.Errorf("%s %v", e, err)
					}
				}
			}
		})
	}
}

// padded is metadata of a size.
func padded(size int) []byte {
	const text = `{"agentType":"x"}`
	return []byte(text + strings.Repeat(" ", size-len(text)))
}
