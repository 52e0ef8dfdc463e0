package history

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"time"

	"github.com/claude-agent-go/claude/internal/regular"
	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/internal/uuid"
)

// ForkOptions are the choices of Fork. The zero value copies the whole
// conversation.
type ForkOptions struct {
	// UpTo is the id of the last message of the copy, as in Message.UUID.
	UpTo string
	// Title is the title of the copy; "" means that of the original with
	// "(fork)".
	Title string
	// KeepDeferred also copies a tool call that a hook deferred, and the steps
	// after it. Both sessions then ask for the same call, and both can run it.
	// Without it, the copy ends before the call.
	KeepDeferred bool
	// ID is the id of the copy, a UUID; "" means a random one. The id of an
	// existing session is refused with [fs.ErrExist]. A program that records the
	// id first finds the copy even after a crash.
	ID string
	// Into is where the copy goes: the history of a project in a store, see
	// [In]. Nil: it goes beside the original.
	Into *History
}

// Fork copies a conversation into a new session, which can be resumed, and
// returns its id. The original is unchanged. The transcripts of subagents and
// the copies of files for rewinding are not copied.
func (h *History) Fork(ctx context.Context, id string, o ForkOptions) (fork string, err error) {
	if o.Into != nil && o.Into.in == nil {
		return "", forkError(id, o, fmt.Errorf("ForkOptions.Into is not in a store: %w", errors.ErrUnsupported))
	}
	if o.ID == "" {
		o.ID = uuid.New()
	} else if err := cmp.Or(o.Into, h).checkFree(ctx, o.ID); err != nil {
		return "", forkError(id, o, fmt.Errorf("ForkOptions.ID: %w", err))
	}
	if h.in != nil {
		fork, err = h.in.fork(ctx, id, o)
		return fork, forkError(id, o, err)
	}
	err = h.with(id, func(r *os.Root, found []place) error {
		if o.Into != nil {
			fork, err = h.forkInto(ctx, r, found[0], o)
		} else {
			fork, err = h.fork(ctx, r, found[0], o)
		}
		return forkError(id, o, err)
	})
	return fork, err
}

// checkFree refuses the id of an existing session.
func (h *History) checkFree(ctx context.Context, id string) (err error) {
	if h.in != nil {
		err = h.in.exists(ctx, id)
	} else {
		_, err = h.Info(ctx, id)
	}
	if err == nil || errors.Is(err, ErrEmpty) { // it exists although no list shows it
		return fmt.Errorf("session %s: %w", id, fs.ErrExist)
	}
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// forkError translates an error of Fork into this package's errors.
func forkError(id string, o ForkOptions, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, transcript.ErrNoMessage):
		err = fmt.Errorf("%w: message %s", ErrNotFound, o.UpTo)
	case errors.Is(err, transcript.ErrEmpty):
		err = ErrEmpty
	}
	return fmt.Errorf("claude: history: fork session %s: %w", id, err)
}

// defaultForkTitle is the title of a copy of a session without one.
const defaultForkTitle = "Forked session (fork)"

// fork writes the copy beside the original, under a temporary name that no
// reader looks for, and renames it when it is whole.
func (h *History) fork(ctx context.Context, r *os.Root, p place, o ForkOptions) (string, error) {
	to := place{id: o.ID, project: p.project}
	plan, err := h.planFork(ctx, r, p, to.id, o)
	if err != nil {
		return "", err
	}
	next := path.Join("projects", p.project, "."+to.id+".next")
	err = h.copy(r, p, next, func(out *bufio.Writer, lines *os.File) error {
		return plan.write(ctx, func(line []byte) {
			out.Write(line)
			out.WriteByte('\n')
		}, lines)
	})
	if err == nil {
		err = r.Rename(next, to.file())
	}
	if err != nil {
		_ = r.Remove(next)
		return "", err
	}
	return to.id, nil
}

// forkInto writes the copy into a store, in one batch.
func (h *History) forkInto(ctx context.Context, r *os.Root, p place, o ForkOptions) (string, error) {
	to := o.ID
	plan, err := h.planFork(ctx, r, p, to, o)
	if err != nil {
		return "", err
	}
	in, _, err := regular.Open(r, p.file())
	if err != nil {
		return "", err
	}
	defer in.Close()
	lines, err := plan.lines(ctx, in)
	if err != nil {
		return "", err
	}
	return to, o.Into.in.put(ctx, to, lines)
}

// planFork reads a session on disk and decides what to copy.
func (h *History) planFork(ctx context.Context, r *os.Root, p place, to string, o ForkOptions) (*forkPlan, error) {
	t, err := h.read(ctx, r, p.file())
	if err != nil {
		return nil, err
	}
	if o.Title == "" {
		var e edges
		o.Title = defaultForkTitle
		if info, err := e.read(r, p); err == nil {
			o.Title = info.Title + " (fork)"
		}
	}
	return newForkPlan(t.index, p.id, to, o)
}

// forkPlan is the part of a session to copy.
type forkPlan struct {
	copy  *transcript.Copy
	kept  []*transcript.Entry
	title string
}

func newForkPlan(index *transcript.Index, from, to string, o ForkOptions) (*forkPlan, error) {
	kept, err := index.Cut(o.UpTo, o.KeepDeferred)
	if err != nil {
		return nil, err
	}
	return &forkPlan{index.NewCopy(from, to, kept, uuid.New), kept, o.Title}, nil
}

// lines returns the lines of the copy.
func (p *forkPlan) lines(ctx context.Context, in io.ReaderAt) (all [][]byte, err error) {
	err = p.write(ctx, func(line []byte) { all = append(all, bytes.Clone(line)) }, in)
	return all, err
}

// copy opens the two files and makes sure that the new one is on disk.
func (h *History) copy(r *os.Root, p place, next string, do func(*bufio.Writer, *os.File) error) error {
	in, _, err := regular.Open(r, p.file())
	if err != nil {
		return err
	}
	defer in.Close()
	f, err := r.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	return errors.Join(do(out, in), out.Flush(), f.Sync(), f.Close())
}

// write writes the entries, then the notes that the CLI needs to resume, then the
// title.
func (p *forkPlan) write(ctx context.Context, put func(line []byte), in io.ReaderAt) error {
	for i, e := range p.kept {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		text := make([]byte, e.Len)
		if _, err := in.ReadAt(text, e.Pos); err != nil {
			return errors.Join(ErrChanged, err)
		}
		now := ""
		if i == len(p.kept)-1 {
			now = time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
		}
		line, err := p.copy.Entry(text, e, now)
		if err != nil {
			return errors.Join(ErrChanged, err)
		}
		if line != nil {
			put(line)
		}
	}
	for line, err := range transcript.Lines(io.NewSectionReader(in, 0, math.MaxInt64)) {
		if err != nil {
			return err
		}
		if note := p.copy.Note(line.Text); note != nil {
			put(note)
		}
	}
	put(transcript.Title(p.copy.To, p.title))
	return nil
}
