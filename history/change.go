package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/internal/uuid"
)

// Rename changes the title of a session. A live CLI picks it up.
func (h *History) Rename(ctx context.Context, id, title string) error {
	title = strings.TrimSpace(title)
	if title == "" {
		return errors.New("claude: history: rename: the title is empty")
	}
	return h.append(ctx, id, transcript.Title(id, title))
}

// Tag sets the tag of a session, replacing the one it had. An empty tag
// removes it. Invisible characters are removed from the tag.
func (h *History) Tag(ctx context.Context, id, tag string) error {
	clean := transcript.CleanTag(tag)
	if clean == "" && tag != "" {
		return errors.New("claude: history: tag: the tag has no visible characters")
	}
	return h.append(ctx, id, transcript.Tag(id, clean))
}

// append adds a line to a transcript. The file is opened for appending and never
// created, so that concurrent writes of a CLI stay whole, and a deleted session
// stays deleted.
func (h *History) append(ctx context.Context, id string, line []byte) error {
	if h.in != nil {
		return h.in.append(ctx, id, line)
	}
	return h.with(id, func(r *os.Root, found []place) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f, err := r.OpenFile(found[0].file(), os.O_RDWR|os.O_APPEND, 0)
		if err != nil {
			return fmt.Errorf("claude: history: %w", err)
		}
		text := append(line, '\n')
		var last [1]byte
		if info, err := f.Stat(); err == nil && info.Size() > 0 {
			if _, err := f.ReadAt(last[:], info.Size()-1); err == nil && last[0] != '\n' {
				text = append([]byte{'\n'}, text...) // a line that was cut off stays separate
			}
		}
		if _, err := f.Write(text); err != nil {
			return errors.Join(fmt.Errorf("claude: history: %w", err), f.Close())
		}
		return f.Close()
	})
}

// Archive marks a session as archived, wherever it is. Listings still include
// it unless told otherwise, and the next prompt unarchives it.
func (h *History) Archive(ctx context.Context, id string) error { return h.archive(ctx, id, true) }

// Unarchive removes the mark.
func (h *History) Unarchive(ctx context.Context, id string) error { return h.archive(ctx, id, false) }

func (h *History) archive(ctx context.Context, id string, on bool) error {
	if h.in != nil {
		return h.in.append(ctx, id, transcript.Archived(id, on, time.Now()))
	}
	note, err := json.Marshal(archivedNote{Archived: on, At: time.Now().UTC().Truncate(time.Millisecond), By: "sdk"})
	if err != nil {
		return err
	}
	return h.with(id, func(r *os.Root, found []place) error {
		var errs []error
		for _, p := range found {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			errs = append(errs, replace(r, p.folder(), "archived.json", note))
		}
		if err := errors.Join(errs...); err != nil {
			return fmt.Errorf("claude: history: archive session %s: %w", id, err)
		}
		return nil
	})
}

// replace writes a file atomically, even when other processes write it at the
// same time.
func replace(r *os.Root, folder, name string, data []byte) error {
	if err := r.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	next := path.Join(folder, "."+name+"."+uuid.New())
	f, err := r.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = r.Rename(next, path.Join(folder, name))
	}
	if err != nil {
		_ = r.Remove(next)
	}
	return err
}

// Removed lists what Delete has removed.
type Removed struct {
	// Paths are the files and folders, relative to the configuration directory;
	// in a store they are keys.
	Paths []string
	Files int
	Bytes int64
}

// Delete removes a session permanently: its transcript, those of its subagents,
// and the copies of files kept for rewinding. It returns what it removed, even
// if it could not remove everything: then the transcript is still there and you
// can call Delete again.
//
// End the session first if it is live. A CLI that has it open does not notice
// the deletion: it creates the file again, with the messages from then on.
// Nothing from before comes back, and Delete after its end removes the rest.
func (h *History) Delete(ctx context.Context, id string) (removed Removed, err error) {
	if h.in != nil {
		return h.in.delete(ctx, id)
	}
	err = h.with(id, func(r *os.Root, found []place) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		paths := []string{path.Join("file-history", id)}
		for _, p := range found {
			paths = append(paths, p.folder())
		}
		for _, p := range found {
			paths = append(paths, p.file()) // last: until then it can be found
		}
		for _, name := range paths {
			if err := removed.remove(r, name); err != nil {
				return fmt.Errorf("claude: history: delete session %s: %w", id, err)
			}
		}
		return nil
	})
	return removed, err
}

// remove removes a file or folder, if it exists, and counts its contents.
func (m *Removed) remove(r *os.Root, name string) error {
	if _, err := r.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	files, bytes := 0, int64(0)
	_ = fs.WalkDir(r.FS(), name, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint // counting is not worth a failure
		}
		files++
		if info, err := entry.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	if err := r.RemoveAll(name); err != nil {
		return err
	}
	m.Paths = append(m.Paths, name)
	m.Files += files
	m.Bytes += bytes
	return nil
}

// ErrNotWaiting means that a session does not wait for a call: the conversation has
// moved on, or other calls of the same answer have no result either.
var ErrNotWaiting = errors.New("does not wait for this call")

// Defer makes a session that broke off at a call wait for it, as if a hook had
// deferred the call: a CLI that resumes the session asks about it again, under the
// same id, and runs it if it is allowed. It needs a CLI that can defer, and is checked
// with 2.1.325. Defer may be repeated.
//
// A CLI that loses its program while it asks may refuse the call itself before it ends,
// and let the model comment on that. No one has decided then, so the session still waits
// for the call: Defer repeats the answer that made it as the end of the conversation, and
// leaves the refusal on a branch that no one follows. This holds if the answer made no
// other call and nothing but text came after the refusal.
//
// No CLI may have the session open; see [History.Processes]. If the session does not
// end with the call, or another call of the same answer has no result, the error matches
// [ErrNotWaiting]: the other call may have run, and the CLI would drop it from the
// conversation. Sessions in a store are deferred by package approval.
func (h *History) Defer(ctx context.Context, id, call string) error {
	if h.in != nil {
		return errors.New("claude: history: a session in a store is deferred by its questions")
	}
	t, err := h.Read(ctx, id)
	if err != nil {
		return err
	}
	lines, err := t.deferral(ctx, id, call)
	if err != nil || lines == nil {
		return err
	}
	return h.append(ctx, id, lines)
}
