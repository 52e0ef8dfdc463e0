package restore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/store"
)

// Resumable refuses on disk what Write would refuse when it comes from a store.
func TestResumable(t *testing.T) {
	const id = "00000000-0000-4000-8000-000000000001"
	const first, second = `{"type":"user","uuid":"a","parentUuid":null}` + "\n", `{"type":"user","uuid":"b","parentUuid":"a"}` + "\n"
	for name, c := range map[string]struct {
		main, sub string
		want      error
	}{
		"whole":              {first + second, "", nil},
		"twice the same":     {first + second + first, "", nil},
		"cut off":            {first + second + `{"type":"us`, "", nil},
		"a gap":              {second, "", store.ErrDamaged},
		"out of order":       {second + first, "", store.ErrDamaged},
		"a gap in a sub":     {first, second, store.ErrDamaged},
		"with a whole sub":   {first, first + second, nil},
		"an unreadable line": {first + "{\n" + second, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			base := filepath.Join(dir, "projects", "-work")
			files := map[string]string{id + ".jsonl": c.main}
			if c.sub != "" {
				files[id+"/subagents/agent-a.jsonl"] = c.sub
			}
			for file, text := range files {
				path := filepath.Join(base, file)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			err = Resumable(t.Context(), root, "-work", id)
			if !errors.Is(err, c.want) || err != nil && c.want == nil {
				t.Errorf("got %v, want %v", err, c.want)
			}
			source := Source{store.Memory(), "p"}
			if _, err := source.SaveUnder(t.Context(), root, "-work", id, store.Fence{}); err != nil {
				t.Fatal(err)
			}
			out, err := os.OpenRoot(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			if err := source.Write(t.Context(), out, "-work", id); !errors.Is(err, c.want) || err != nil && c.want == nil {
				t.Errorf("Write: %v, want %v", err, c.want)
			}
			if err := Resumable(t.Context(), root, "-other", id); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("elsewhere: %v", err)
			}
		})
	}
}

// A session with more subagents than can be restored is refused before it is copied,
// and one in which nothing was said too.
func TestResumableBounds(t *testing.T) {
	long.Test(t, "writes 10,000 files")
	const id = "00000000-0000-4000-8000-000000000001"
	const line, title = `{"type":"user","uuid":"a","parentUuid":null}` + "\n", `{"type":"custom-title","customTitle":"Late"}` + "\n"
	dir := t.TempDir()
	base := filepath.Join(dir, "projects", "-work", id)
	if err := errors.Join(os.MkdirAll(base, 0o700), os.WriteFile(base+".jsonl", []byte(title), 0o600)); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := Resumable(t.Context(), root, "-work", id); !errors.Is(err, transcript.ErrEmpty) {
		t.Errorf("with only a title: %v", err)
	}
	if err := os.WriteFile(base+".jsonl", []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	for n := range maxSubs {
		if err := os.WriteFile(fmt.Sprintf("%s/agent-%d.jsonl", base, n), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Resumable(t.Context(), root, "-work", id); err != nil {
		t.Errorf("with %d subagents: %v", maxSubs, err)
	}
	if err := os.WriteFile(base+"/agent-more.jsonl", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Resumable(t.Context(), root, "-work", id); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("with one more: %v", err)
	}
}
