package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// In returns the history of a project in a store, with the same methods and
// errors as on disk. A transcript is loaded whole when it is read and stays in
// memory. An operation that the store does not support returns an error that
// matches [errors.ErrUnsupported].
//
// Writes carry no lease. A session that runs elsewhere keeps its lease, and sees
// a new title when it is resumed.
func In(s store.Transcripts, project string) *History {
	return &History{in: &stored{s, project}}
}

// stored holds the sessions of a project in a store.
type stored struct {
	store   store.Transcripts
	project string
}

func (s *stored) key(id string) store.Key { return store.Key{Project: s.project, Session: id} }

// check refuses invalid ids before the store is asked.
func (s *stored) check(id string) error {
	if !uuid.Valid(id) {
		return fmt.Errorf("claude: history: %q %w", id, ErrInvalidID)
	}
	return s.key(id).Check()
}

// fail translates an error of the store into this package's errors.
func (s *stored) fail(id string, err error) error {
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrDeleted) {
		return fmt.Errorf("claude: history: session %s %w: %w", id, ErrNotFound, err)
	}
	return fmt.Errorf("claude: history: session %s: %w", id, err)
}

// list lists the sessions, from summaries if the store keeps them.
func (s *stored) list(ctx context.Context, q Query, yield func(SessionInfo, error) bool) {
	keep := func(string) bool { return true }
	if q.Dir != "" {
		dirs, err := directories(ctx, q.Dir, !q.SkipWorktrees)
		if err != nil {
			yield(SessionInfo{}, err)
			return
		}
		keep = func(dir string) bool { return slices.Contains(dirs, filepath.Clean(dir)) }
	}
	passed, listed := 0, 0
	for info, err := range s.infos(ctx, q.After) {
		if err != nil {
			yield(SessionInfo{}, err)
			return
		}
		if !keep(info.Dir) || !q.wants(&info) {
			continue
		}
		if passed < q.Offset {
			passed++
			continue
		}
		listed++
		if !yield(info, nil) || q.Limit > 0 && listed == q.Limit {
			return
		}
	}
}

// infos yields all sessions after a place that have something to show.
func (s *stored) infos(ctx context.Context, after Position) iter.Seq2[SessionInfo, error] {
	return func(yield func(SessionInfo, error) bool) {
		for sum, err := range behind(s.store.List(ctx, s.project), after) {
			if err != nil {
				yield(SessionInfo{}, fmt.Errorf("claude: history: %w", err))
				return
			}
			info, err := s.listed(ctx, sum)
			if errors.Is(err, ErrEmpty) {
				continue
			}
			if !yield(info, err) || err != nil {
				return
			}
		}
	}
}

// behind leaves out the summaries up to a place. Sessions of the same moment have an
// order that only the store knows: those before the place are held back until it has
// come, and are listed again if it has not, because it was modified since.
func behind(list iter.Seq2[store.Summary, error], after Position) iter.Seq2[store.Summary, error] {
	if after == (Position{}) {
		return list
	}
	return func(yield func(store.Summary, error) bool) {
		var held []store.Summary
		passed := false
		release := func() bool {
			for _, sum := range held {
				if !yield(sum, nil) {
					return false
				}
			}
			held, passed = nil, true
			return true
		}
		for sum, err := range list {
			switch order := sum.Modified.Compare(after.Modified); {
			case err != nil:
				yield(sum, err)
				return
			case order > 0:
				continue
			case order == 0 && !passed:
				if held = append(held, sum); sum.Session == after.ID {
					held, passed = nil, true
				}
				continue
			}
			if !release() || !yield(sum, nil) {
				return
			}
		}
		release()
	}
}

// listed returns the listing's entry for a session, [ErrEmpty] if there is nothing to
// show. A session whose summary the store does not keep is loaded.
func (s *stored) listed(ctx context.Context, sum store.Summary) (SessionInfo, error) {
	if sum.Data == nil {
		info, err := s.info(ctx, sum.Session)
		if errors.Is(err, ErrNotFound) { // deleted in the meantime
			err = ErrEmpty
		}
		info.Modified = sum.Modified
		return info, err
	}
	var f transcript.Fold
	if json.Unmarshal(sum.Data, &f) != nil {
		return SessionInfo{}, ErrEmpty // written by a different version
	}
	return s.folded(ctx, &f, sum.Session, sum.Modified)
}

// folded returns the listing's entry for a session, [ErrEmpty] if there is
// nothing to show.
func (s *stored) folded(ctx context.Context, f *transcript.Fold, id string, modified time.Time) (SessionInfo, error) {
	l := f.Listing()
	shown := !l.Sidechain && l.Name() != ""
	if shown && l.ContinuedIn != "" && l.ContinuedIn != id {
		err := s.exists(ctx, l.ContinuedIn)
		shown = errors.Is(err, ErrNotFound) || errors.Is(err, ErrInvalidID)
		if err != nil && !shown {
			return SessionInfo{}, err
		}
	}
	if !shown {
		return SessionInfo{}, fmt.Errorf("claude: history: session %s: %w", id, ErrEmpty)
	}
	return SessionInfo{
		ID: id, Title: l.Name(), CustomTitle: l.Title, FirstPrompt: l.FirstPrompt, Tag: l.Tag, Archived: f.Archived(),
		Dir: l.Dir, Branch: l.Branch, Entrypoint: l.Entrypoint, Created: l.Created, Modified: modified, CostUSD: l.Cost,
	}, nil
}

// info loads a session and returns its listing's entry. A store does not report
// when a single session was modified, so the time of its last message counts.
func (s *stored) info(ctx context.Context, id string) (SessionInfo, error) {
	if err := s.check(id); err != nil {
		return SessionInfo{}, err
	}
	var f transcript.Fold
	size := int64(0)
	for e, err := range store.Entries(ctx, s.store, s.key(id)) {
		if err != nil {
			return SessionInfo{}, s.fail(id, err)
		}
		f.Add(e)
		size += int64(len(e)) + 1
	}
	info, err := s.folded(ctx, &f, id, f.Last)
	if err != nil {
		return SessionInfo{}, err
	}
	info.Size = size
	return info, nil
}

// load reads a transcript of the store into memory.
func (s *stored) load(ctx context.Context, k store.Key) (*Transcript, error) {
	var text bytes.Buffer
	t := &Transcript{index: new(transcript.Index), subs: s, ID: k.Session}
	for e, err := range store.Entries(ctx, s.store, k) {
		if err != nil {
			return nil, s.fail(k.Session, err)
		}
		if err := t.index.Add(int64(text.Len()), e); err != nil {
			return nil, s.fail(k.Session, err)
		}
		text.Write(e)
		text.WriteByte('\n')
	}
	t.Skipped = t.index.Skipped
	all := bytes.NewReader(text.Bytes())
	t.open = func() (io.ReaderAt, func(), error) { return all, func() {}, nil }
	return t, nil
}

func (s *stored) read(ctx context.Context, id string) (*Transcript, error) {
	if err := s.check(id); err != nil {
		return nil, err
	}
	t, err := s.load(ctx, s.key(id))
	if err != nil {
		return nil, err
	}
	t.entries = t.index.Conversation()
	return t, nil
}

// exists returns an error if the session does not exist.
func (s *stored) exists(ctx context.Context, id string) error {
	if err := s.check(id); err != nil {
		return err
	}
	for _, err := range store.Entries(ctx, s.store, s.key(id)) {
		if err != nil {
			return s.fail(id, err)
		}
		break
	}
	return nil
}

// append adds lines to an existing session.
func (s *stored) append(ctx context.Context, id string, lines ...[]byte) error {
	if err := s.exists(ctx, id); err != nil {
		return err
	}
	return s.put(ctx, id, lines)
}

func (s *stored) put(ctx context.Context, id string, lines [][]byte) error {
	b := store.Batch{ID: uuid.New()}
	for _, line := range lines {
		b.Entries = append(b.Entries, store.Entry(line))
	}
	if err := s.store.Append(ctx, s.key(id), b); err != nil {
		return s.fail(id, err)
	}
	return nil
}

// delete removes a session and returns what it removed.
func (s *stored) delete(ctx context.Context, id string) (removed Removed, err error) {
	if err := s.exists(ctx, id); err != nil {
		return removed, err
	}
	keys := []store.Key{s.key(id)}
	for sub, err := range s.store.Subagents(ctx, s.project, id) {
		if errors.Is(err, errors.ErrUnsupported) {
			break // they go anyway
		}
		if err != nil {
			return removed, s.fail(id, err)
		}
		keys = append(keys, store.Key{Project: s.project, Session: id, Sub: sub})
	}
	for _, k := range keys {
		for e, err := range store.Entries(ctx, s.store, k) {
			if err != nil {
				return removed, s.fail(id, err)
			}
			removed.Bytes += int64(len(e)) + 1
		}
	}
	if err := s.store.Delete(ctx, s.key(id), store.Fence{}); err != nil {
		return Removed{}, s.fail(id, err)
	}
	for _, k := range keys {
		removed.Paths = append(removed.Paths, k.String())
	}
	removed.Files = len(keys)
	return removed, nil
}

// fork copies a conversation into a new session, in one batch.
func (s *stored) fork(ctx context.Context, id string, o ForkOptions) (string, error) {
	t, err := s.read(ctx, id)
	if err != nil {
		return "", err
	}
	if o.Title == "" {
		o.Title = defaultForkTitle
		if info, err := s.info(ctx, id); err == nil {
			o.Title = info.Title + " (fork)"
		}
	}
	to := o.ID
	plan, err := newForkPlan(t.index, id, to, o)
	if err != nil {
		return "", err
	}
	in, closeIn, err := t.open()
	if err != nil {
		return "", err
	}
	defer closeIn()
	lines, err := plan.lines(ctx, in)
	if err != nil {
		return "", err
	}
	into := s
	if o.Into != nil {
		into = o.Into.in
	}
	return to, into.put(ctx, to, lines)
}

// subagents lists the subagents of a session. The notes about a subagent are in
// its own transcript, where the last one counts.
func (s *stored) subagents(ctx context.Context, t *Transcript) ([]SubagentInfo, error) {
	var agents []SubagentInfo
	for sub, err := range s.store.Subagents(ctx, s.project, t.ID) {
		if err != nil {
			return nil, s.fail(t.ID, err)
		}
		id := transcript.AgentOf(sub)
		if id == "" || len(agents) == maxAgents {
			continue
		}
		a := SubagentInfo{ID: id, file: sub}
		for e, err := range store.Entries(ctx, s.store, store.Key{Project: s.project, Session: t.ID, Sub: sub}) {
			if err != nil {
				return nil, s.fail(t.ID, err)
			}
			if transcript.IsAgentNote(e) {
				var note agentNote
				if json.Unmarshal(e, &note) == nil {
					a.take(&note)
				}
			}
		}
		agents = append(agents, a)
	}
	return agents, nil
}

func (s *stored) subagent(ctx context.Context, t *Transcript, a SubagentInfo) (*Transcript, error) {
	return s.load(ctx, store.Key{Project: s.project, Session: t.ID, Sub: a.file})
}
