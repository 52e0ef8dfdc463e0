package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/uuid"
)

// Query selects the sessions to list. The zero Query lists all.
type Query struct {
	// Dir is a working directory: only its sessions are listed, and those of
	// the other worktrees of its git repository. "" lists all directories.
	Dir string
	// SkipWorktrees leaves out the other worktrees.
	SkipWorktrees bool
	// Limit is how many sessions to list at most; 0 means all.
	Limit int
	// Offset is how many to skip first. They are read to know whether they count:
	// to list page by page, use After.
	Offset int
	// After lists only what comes after a session of an earlier listing: the last one
	// of the page before. Everything before it is skipped. The zero Position is the
	// beginning. A session that is modified between two pages moves to the front, and
	// is not on the later ones.
	After Position
	// Archived selects sessions by whether they are archived. By default they
	// are listed and marked.
	Archived ArchiveFilter
	// Tag lists only sessions with this tag.
	Tag string
	// SkipProgrammatic leaves out sessions that a program started with an SDK
	// or with "claude -p".
	SkipProgrammatic bool
}

// Position is the place of a session in a listing. Its fields come from the entry.
type Position struct {
	Modified time.Time
	ID       string
}

// Position returns where in a listing the entry is.
func (i *SessionInfo) Position() Position { return Position{i.Modified, i.ID} }

// compare orders places as listings of a disk do: newest first, then by id.
func (p Position) compare(other Position) int {
	return cmp.Or(other.Modified.Compare(p.Modified), strings.Compare(other.ID, p.ID))
}

// ArchiveFilter chooses sessions by whether they are archived.
type ArchiveFilter int

// The filters.
const (
	ArchivedIncluded ArchiveFilter = iota
	ArchivedExcluded
	ArchivedOnly
)

// SessionInfo is an entry of a listing. It is read from the two ends of the
// file, so for a long session it may miss properties that were set long ago.
type SessionInfo struct {
	ID string
	// Title is the name to show: the custom title, or else the last or first
	// prompt. It is never empty.
	Title       string
	CustomTitle string // given by a person or made up by the CLI
	FirstPrompt string // cut after 200 characters
	Tag         string
	Archived    bool
	Dir         string // the working directory
	Branch      string // the git branch; "HEAD" outside a repository
	Entrypoint  string // the program that began the session, such as "cli" or "sdk-go"
	Created     time.Time
	Modified    time.Time
	Size        int64 // of the transcript in bytes; 0 if a store did not report it
	// CostUSD is the cost of the session, as the CLI recorded it when its last
	// process ended. A process that was killed recorded nothing.
	CostUSD float64
}

// List lists sessions, the last modified first. It reads only a few sessions
// ahead of your loop. Files that are not sessions, that have nothing to show, or
// that were continued in another session are skipped; an error ends the list. Of a
// session with copies in several directories, the newest that can be shown counts.
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

// list yields the sessions that the query selects.
func list(ctx context.Context, r *os.Root, found []place, q Query, yield func(SessionInfo, error) bool) error {
	seen := make(map[string]bool, len(found))
	var before passed
	if q.After != (Position{}) {
		next, _ := slices.BinarySearchFunc(found, q.After, func(p place, after Position) int {
			return cmp.Or(p.at().compare(after), -1) // the place itself was listed
		})
		before, found = passedBy(found[:next], found[next:]), found[next:]
	}
	skipped, listed := 0, 0
	for s := range scan(r, found) {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if s.err != nil || seen[s.info.ID] {
			continue // nothing to show, or not readable: the others still count
		}
		seen[s.info.ID] = true
		if !q.wants(&s.info) || before.shown(r, s.info.ID) {
			continue
		}
		if skipped < q.Offset {
			skipped++
			continue
		}
		listed++
		if !yield(s.info, nil) || q.Limit > 0 && listed == q.Limit {
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
	case q.Archived == ArchivedExcluded && info.Archived, q.Archived == ArchivedOnly && !info.Archived:
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
			continue // gone, or not readable: the others still count
		}
		for _, entry := range entries {
			id, ok := strings.CutSuffix(entry.Name(), ".jsonl")
			if !ok || !uuid.Valid(id) || !entry.Type().IsRegular() {
				continue
			}
			if info, err := entry.Info(); err == nil && info.Size() > 0 {
				_, folder := slices.BinarySearchFunc(entries, id, func(e fs.DirEntry, id string) int { return strings.Compare(e.Name(), id) })
				found = append(found, place{id: id, project: name, info: info, bare: !folder})
			}
		}
	}
	slices.SortFunc(found, newer)
	return found, nil
}

// Info returns the listing's entry for one session.
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
