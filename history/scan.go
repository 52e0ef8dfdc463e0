package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/regular"
	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/internal/uuid"
)

// The first sessions of a list are read one by one, for a list that is left
// early. After that all processors read, a few sessions ahead of the loop.
const (
	firstScans = 8
	scanAhead  = 16 // for each processor
	maxScans   = 4  // processors
)

// scanned is the outcome of reading a session.
type scanned struct {
	info SessionInfo
	err  error
}

// scan reads the sessions in the order of their places.
func scan(r *os.Root, found []place) iter.Seq[scanned] {
	return func(yield func(scanned) bool) {
		var one edges
		for _, p := range found[:min(len(found), firstScans)] {
			info, err := one.read(r, p)
			if !yield(scanned{info, err}) {
				return
			}
		}
		found = found[min(len(found), firstScans):]
		workers := min(runtime.GOMAXPROCS(0), maxScans)
		all := make([]edges, workers)
		results := make([]scanned, workers*scanAhead)
		for len(found) > 0 {
			n := min(len(found), len(results))
			var done sync.WaitGroup
			for w := range workers {
				done.Go(func() {
					for i := w; i < n; i += workers {
						results[i].info, results[i].err = all[w].read(r, found[i])
					}
				})
			}
			done.Wait()
			for _, s := range results[:n] {
				if !yield(s) {
					return
				}
			}
			found = found[n:]
		}
	}
}

// edges are the buffers for the two ends of a file.
type edges struct{ head, tail [transcript.Edge]byte }

// read returns the listing's entry for a session, or [ErrEmpty] for one that is not
// listed.
func (e *edges) read(r *os.Root, p place) (SessionInfo, error) {
	f, _, err := regular.Open(r, p.file())
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
		if transcript.CutShort(head) {
			if head, err = readOn(f, head); err != nil {
				return SessionInfo{}, err
			}
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

// maxFirstLine bounds how far the first prompt of a session is read. The API
// takes requests of 32 MB.
const maxFirstLine = 40 << 20

// readOn returns head and the rest of the line in which it ends.
func readOn(f io.ReaderAt, head []byte) ([]byte, error) {
	rest := bufio.NewReader(io.NewSectionReader(f, int64(len(head)), maxFirstLine))
	line, err := rest.ReadBytes('\n')
	if err != nil && err != io.EOF {
		return nil, err
	}
	return slices.Concat(head, line), nil
}

// continued reports whether the session that continues this one exists.
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
	f, _, err := regular.Open(r, name)
	if err != nil {
		return false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxNote+1))
	return err == nil && len(text) <= maxNote && json.Unmarshal(text, v) == nil
}

// customTitle returns the title from the separate file that a rename over the
// control channel leaves.
func customTitle(r *os.Root, p place) string {
	var note struct {
		Title string `json:"customTitle"`
	}
	if p.bare || !readNote(r, path.Join(p.folder(), "custom-title.json"), &note) {
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

// archived reports whether a session is archived. A later prompt unarchives it.
func archived(r *os.Root, p place, head, tail []byte) bool {
	var note archivedNote
	if p.bare || !readNote(r, path.Join(p.folder(), "archived.json"), &note) || !note.Archived {
		return false
	}
	return !transcript.LastPrompt(head, tail).After(note.At)
}
