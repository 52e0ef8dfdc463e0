package acp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"sync/atomic"
	"time"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/regular"
	"github.com/claude-agent-go/claude/internal/uuid"
)

const (
	// writing is how long a question may wait until the CLI has written its call, and
	// writingLook how often that is looked at.
	writing     = 5 * time.Second
	writingLook = 10 * time.Millisecond
	// writtenLast is how much of a transcript may have a call that is asked about: more
	// than an answer with all its results.
	writtenLast = 16 << 20
)

// written knows which calls the CLI has written to its transcript. It gathers lines for
// 100 ms, and shows the call sooner: an agent that is killed in between loses the call, so
// its question could never be asked again.
type written struct {
	config  string // the configuration directory
	session string
	known   map[string]string          // calls of an earlier process
	runs    func(context.Context) bool // or may run
	log     *slog.Logger
	skip    atomic.Bool // this CLI writes elsewhere, or nothing
}

// writtenIn returns a watcher of a session in a configuration directory.
func writtenIn(h *history.History, session string, log *slog.Logger) *written {
	return &written{config: h.ConfigDir(), session: session, log: log, runs: func(ctx context.Context) bool {
		pids, err := h.Processes(ctx, session)
		if err != nil && ctx.Err() == nil {
			log.Warn("acp: the processes of a session cannot be listed; its CLI may still run", "session", session, "error", err)
		}
		return err != nil || len(pids) > 0
	}}
}

// wait returns when a call is written, or ctx ends. It gives up for good if nothing comes:
// the CLI may be on another machine, or keep no transcripts.
func (w *written) wait(ctx context.Context, call string) {
	if _, known := w.known[call]; known || call == "" || w.skip.Load() {
		return
	}
	if !uuid.Valid(w.session) || !w.runs(ctx) {
		w.skip.Store(ctx.Err() == nil)
		return
	}
	patience := time.NewTimer(writing)
	defer patience.Stop()
	look := time.NewTicker(writingLook)
	defer look.Stop()
	seen := make(map[string]int64) // how much of each transcript was searched
	for {
		found, err := w.has(call, seen)
		if found {
			return
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		case <-patience.C:
			w.skip.Store(true)
			w.log.Warn("acp: the CLI does not write its transcript here; a question that is open when this program dies may be lost", "session", w.session, "error", err)
			return
		}
	}
}

// has reports whether a transcript of the session has a call. There are several if its
// directory was moved.
func (w *written) has(call string, seen map[string]int64) (bool, error) {
	r, err := os.OpenRoot(w.config)
	if err != nil {
		return false, err
	}
	defer r.Close()
	text := string(jsonx.AppendText(nil, call)) // as a transcript has it
	dirs, err := fs.ReadDir(r.FS(), "projects") // not what is in each: there may be thousands of sessions
	for _, d := range dirs {
		found, problem := searchFile(r, path.Join("projects", d.Name(), w.session+".jsonl"), text, seen)
		if found {
			return true, nil
		}
		if !errors.Is(problem, fs.ErrNotExist) {
			err = errors.Join(err, problem)
		}
	}
	return false, err
}

// searchFile searches the part of a file behind the last search.
func searchFile(r *os.Root, name, text string, seen map[string]int64) (bool, error) {
	f, info, err := regular.Open(r, name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	from := max(seen[name]-int64(len(text)), info.Size()-writtenLast, 0)
	found, err := search(io.NewSectionReader(f, from, info.Size()-from), text)
	if err == nil {
		seen[name] = info.Size()
	}
	return found, err
}

// search reports whether a text is in what is read.
func search(r io.Reader, text string) (bool, error) {
	buf, kept := make([]byte, 64<<10+len(text)), 0
	for {
		n, err := r.Read(buf[kept:])
		if bytes.Contains(buf[:kept+n], []byte(text)) {
			return true, nil
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		next := min(kept+n, len(text)-1)
		copy(buf, buf[kept+n-next:kept+n])
		kept = next
	}
}
