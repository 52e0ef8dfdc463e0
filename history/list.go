package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/internal/uuid"
)

// Query says which sessions to list. The zero Query lists all.
type Query struct {
	// Dir is a working directory: only its sessions are listed, and those of
	// the other worktrees of its git repository. "" lists all directories.
	Dir string
	// SkipWorktrees leaves out the other worktrees.
	SkipWorktrees bool
	// Limit is how many sessions to list at most; 0 means all.
	Limit int
	// Offset is how many to skip first.
	Offset int
	// Archived says what to do with archived sessions. By default they are
	// listed and marked.
	Archived ArchiveFilter
	// Tag lists only sessions with this tag.
	Tag string
	// SkipProgrammatic leaves out sessions that a program started with an SDK
	// or with "claude -p".
	SkipProgrammatic bool
}

// ArchiveFilter chooses sessions by whether they are archived.
type ArchiveFilter int

// The filters.
const (
	IncludeArchived ArchiveFilter = iota
	ExcludeArchived
	OnlyArchived
)

// SessionInfo is what a listing knows about a session. It is read from the two
// ends of the file, so for a long session it may miss what was set long ago.
type SessionInfo struct {
	ID string
	// Title is what to call the session: its custom title, or else its last or
	// first prompt. It is never empty.
	Title       string
	CustomTitle string // given by a person or made up by the CLI
	FirstPrompt string // cut after 200 characters
	Tag         string
	Archived    bool
	Dir         string // the working directory
	Branch      string // the git branch; "HEAD" outside a repository
	Entrypoint  string // what began the session, such as "cli" or "sdk-go"
	Created     time.Time
	Modified    time.Time
	Size        int64 // of the transcript in bytes; 0 if a store did not say
	// CostUSD is what the session has cost, as the CLI recorded it when its
	// last process ended. A process that was killed recorded nothing.
	CostUSD float64
}

// List lists sessions, the last modified first. It reads only as far as you
// range over it. Files that are not sessions, that have nothing to show, or
// that were continued in another session are skipped; an error ends the list.
func (h *History) List(ctx context.Context, q Query) iter.Seq2[SessionInfo, error] {
	return func(yield func(SessionInfo, error) bool) {
		if h.in != nil {
			h.in.list(ctx, q, yield)
			return
		}
		r, err := h.root()
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(SessionInfo{}, err)
			return
		}
		defer r.Close()
		found, err := h.places(ctx, r, q)
		if err != nil {
			yield(SessionInfo{}, err)
			return
		}
		if err := list(ctx, r, found, q, yield); err != nil {
			yield(SessionInfo{}, err)
		}
	}
}

// list yields the sessions that the query wants.
func list(ctx context.Context, r *os.Root, found []place, q Query, yield func(SessionInfo, error) bool) error {
	seen := make(map[string]bool, len(found))
	var e edges
	passed, listed := 0, 0
	for _, p := range found {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if seen[p.id] {
			continue
		}
		info, err := e.read(r, p)
		if err != nil || !q.wants(&info) {
			continue // nothing to show, or closed to us: the others are still there
		}
		seen[p.id] = true
		if passed < q.Offset {
			passed++
			continue
		}
		listed++
		if !yield(info, nil) || q.Limit > 0 && listed == q.Limit {
			return nil
		}
	}
	return nil
}

// wants reports whether a session passes the filters.
func (q *Query) wants(info *SessionInfo) bool {
	switch {
	case q.Tag != "" && info.Tag != q.Tag:
		return false
	case q.Archived == ExcludeArchived && info.Archived, q.Archived == OnlyArchived && !info.Archived:
		return false
	case q.SkipProgrammatic && strings.HasPrefix(info.Entrypoint, "sdk-"):
		return false
	}
	return true
}

// places collects the transcripts that may be listed, the newest first.
func (h *History) places(ctx context.Context, r *os.Root, q Query) ([]place, error) {
	names, err := projects(r)
	if err != nil {
		return nil, fmt.Errorf("claude: history: %w", err)
	}
	keep := func(string, *os.Root) bool { return true }
	if q.Dir != "" {
		if keep, err = of(ctx, q.Dir, !q.SkipWorktrees); err != nil {
			return nil, err
		}
	}
	var found []place
	for _, name := range names {
		if !keep(name, r) {
			continue
		}
		entries, err := fs.ReadDir(r.FS(), path.Join("projects", name))
		if err != nil {
			continue // gone, or closed to us: the others are still there
		}
		for _, entry := range entries {
			id, ok := strings.CutSuffix(entry.Name(), ".jsonl")
			if !ok || !uuid.Valid(id) || !entry.Type().IsRegular() {
				continue
			}
			if info, err := entry.Info(); err == nil && info.Size() > 0 {
				found = append(found, place{id: id, project: name, info: info})
			}
		}
	}
	slices.SortFunc(found, newer)
	return found, nil
}

// Info returns what a listing says about one session.
func (h *History) Info(ctx context.Context, id string) (info SessionInfo, err error) {
	if h.in != nil {
		return h.in.info(ctx, id)
	}
	err = h.with(id, func(r *os.Root, found []place) error {
		var e edges
		if info, err = e.read(r, found[0]); err != nil {
			return fmt.Errorf("claude: history: session %s: %w", id, err)
		}
		return context.Cause(ctx)
	})
	return info, err
}

// edges are the buffers for the two ends of a file.
type edges struct{ head, tail [transcript.Edge]byte }

// read returns what a listing says about a session, or [ErrEmpty] for one that is not
// to be listed.
func (e *edges) read(r *os.Root, p place) (SessionInfo, error) {
	f, _, err := open(r, p.file())
	if err != nil {
		return SessionInfo{}, err
	}
	defer f.Close()
	n, err := f.ReadAt(e.head[:], 0)
	if err != nil && err != io.EOF {
		return SessionInfo{}, err
	}
	head := e.head[:n]
	tail := head
	if size := p.info.Size(); size > transcript.Edge {
		n, err := f.ReadAt(e.tail[:], size-transcript.Edge)
		if err != nil && err != io.EOF {
			return SessionInfo{}, err
		}
		tail = e.tail[:n]
		if i := bytes.IndexByte(tail, '\n'); i >= 0 {
			tail = tail[i+1:] // the first line is cut off
		}
	}
	l := transcript.List(head, tail, customTitle(r, p))
	if l.Sidechain || l.Name() == "" || l.ContinuedIn != "" && continued(r, p, l.ContinuedIn) {
		return SessionInfo{}, ErrEmpty
	}
	return SessionInfo{
		ID: p.id, Title: l.Name(), CustomTitle: l.Title, FirstPrompt: l.FirstPrompt, Tag: l.Tag,
		Archived: archived(r, p, head, tail), Dir: l.Dir, Branch: l.Branch, Entrypoint: l.Entrypoint,
		Created: l.Created, Modified: p.info.ModTime(), Size: p.info.Size(), CostUSD: l.Cost,
	}, nil
}

// continued reports whether the session that continues this one is there.
func continued(r *os.Root, p place, id string) bool {
	if !uuid.Valid(id) || id == p.id {
		return false
	}
	_, err := r.Lstat(place{id: id, project: p.project}.file())
	return err == nil
}

// maxNote is how large a file beside a transcript may be.
const maxNote = 64 << 10

// readNote decodes a small file beside a transcript.
func readNote(r *os.Root, name string, v any) bool {
	f, _, err := open(r, name)
	if err != nil {
		return false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxNote+1))
	return err == nil && len(text) <= maxNote && json.Unmarshal(text, v) == nil
}

// customTitle returns the title that a rename over the control channel left in a
// file of its own.
func customTitle(r *os.Root, p place) string {
	var note struct {
		Title string `json:"customTitle"`
	}
	if !readNote(r, path.Join(p.folder(), "custom-title.json"), &note) {
		return ""
	}
	return strings.TrimSpace(note.Title)
}

// archivedNote is the file that marks a session as archived.
type archivedNote struct {
	Archived bool      `json:"archived"`
	At       time.Time `json:"at"`
	By       string    `json:"by"`
}

// archived reports whether a session is archived. A prompt that came later takes
// it out again.
func archived(r *os.Root, p place, head, tail []byte) bool {
	var note archivedNote
	if !readNote(r, path.Join(p.folder(), "archived.json"), &note) || !note.Archived {
		return false
	}
	return !transcript.LastPrompt(head, tail).After(note.At)
}
