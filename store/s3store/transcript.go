package s3store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// known is what this process has read of a transcript.
type known struct {
	last    int64 // number of the last part
	uuids   map[string]bool
	batches map[string]bool
	summary []byte
}

// maxKnown is for how many transcripts it is remembered.
const maxKnown = 64

// recall returns a copy of what is known of a transcript, to be changed.
func (s *Store) recall(k store.Key) *known {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.known[k]
	if t == nil {
		return &known{uuids: make(map[string]bool), batches: make(map[string]bool)}
	}
	delete(s.known, k) // nobody else has it meanwhile
	return t
}

// learn keeps what is known, unless somebody has learned more in the meantime.
func (s *Store) learn(k store.Key, t *known) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.known[k]; other != nil && other.last >= t.last {
		return
	}
	if s.known == nil {
		s.known = make(map[store.Key]*known)
	}
	s.known[k] = t
	s.recent = append(slices.DeleteFunc(s.recent, func(o store.Key) bool { return o == k }), k)
	if len(s.recent) > maxKnown {
		delete(s.known, s.recent[0])
		s.recent = slices.Delete(s.recent, 0, 1)
	}
}

// add takes up the content of a part.
func (t *known) add(batches []string, entries []store.Entry) {
	for _, id := range batches {
		if id != "" {
			t.batches[id] = true
		}
	}
	for _, e := range entries {
		if id := e.UUID(); id != "" {
			t.uuids[id] = true
		}
	}
	t.summary = store.Fold(t.summary, entries...)
}

// catchUp reads the parts that others have written.
func (s *Store) catchUp(ctx context.Context, k store.Key, t *known) error {
	for range 3 {
		again, err := s.readParts(ctx, k, t)
		if !again {
			return err
		}
		// Compacted since it was listed: the pack is there now, with all of it.
		*t = known{uuids: make(map[string]bool), batches: make(map[string]bool)}
	}
	return fmt.Errorf("%w: a part is empty", store.ErrDamaged)
}

// readParts lists and reads the parts after the last that is known. It returns
// true if one of them has become empty since it was listed.
func (s *Store) readParts(ctx context.Context, k store.Key, t *known) (again bool, err error) {
	names, last, err := s.parts(ctx, k, t.last)
	if err != nil {
		return false, err
	}
	if len(names) > 0 && strings.HasPrefix(names[0], folder(k)+"pack-") {
		*t = known{uuids: make(map[string]bool), batches: make(map[string]bool)} // it has all from the beginning
	}
	for body, err := range s.fetch(ctx, names) {
		if err == nil && len(body) == 0 {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		batches, entries, err := decode(body)
		if err != nil {
			return false, err
		}
		t.add(batches, entries)
	}
	t.last = last
	return false, nil
}

func deletedName(k store.Key) string { return k.Project + "/deleted/" + k.Session }

func indexName(k store.Key) string { return k.Project + "/index/" + k.Session }

// Append implements [store.Store].
func (s *Store) Append(ctx context.Context, k store.Key, b store.Batch) error {
	if err := cmp.Or(b.Check(k), ctx.Err()); err != nil {
		return err
	}
	return fail(k, s.append(ctx, k, b))
}

func (s *Store) append(ctx context.Context, k store.Key, b store.Batch) error {
	if err := s.fenced(ctx, b.Fence); err != nil {
		return err
	}
	if gone, err := s.exists(ctx, deletedName(k)); gone || err != nil {
		return cmp.Or(err, store.ErrDeleted)
	}
	if len(b.Entries) == 0 {
		return nil
	}
	t := s.recall(k)
	if t.last == 0 { // a process that knows nothing looks first
		if err := s.catchUp(ctx, k, t); err != nil {
			return err
		}
	}
	for {
		if t.batches[b.ID] {
			break
		}
		fresh := t.fresh(b.Entries)
		body, err := encode(b, fresh)
		if err != nil {
			return err
		}
		err = s.put(ctx, partName(k, t.last+1), body, "")
		if err == nil {
			if err := s.confirm(ctx, k, t.last+1, b.Fence); err != nil {
				return err
			}
			t.last++
			t.add([]string{b.ID}, fresh)
			break
		}
		if !errors.Is(err, errTaken) {
			return err
		}
		if err := s.catchUp(ctx, k, t); err != nil {
			return err
		}
	}
	if k.Sub == "" {
		if err := s.put(ctx, indexName(k), t.summary, "*"); err != nil {
			return err
		}
	}
	// Whoever deleted the session meanwhile has not seen what was written here.
	if gone, err := s.exists(ctx, deletedName(k)); gone || err != nil {
		if gone {
			err = errors.Join(store.ErrDeleted, s.remove(ctx, indexName(k)), s.remove(ctx, partName(k, t.last)))
		}
		return err
	}
	s.learn(k, t)
	return nil
}

// confirm wants the lease to be ours still after a part was written, and takes the
// part back if it is not.
func (s *Store) confirm(ctx context.Context, k store.Key, n int64, f store.Fence) error {
	err := s.fenced(ctx, f)
	if !errors.Is(err, store.ErrLeaseLost) {
		return err
	}
	body, err2 := encode(store.Batch{}, nil) // a part without entries: its number stays taken
	if err2 == nil {
		err2 = s.put(ctx, partName(k, n), body, "*")
	}
	return errors.Join(err, err2)
}

// fresh returns the entries that the transcript does not have yet.
func (t *known) fresh(entries []store.Entry) []store.Entry {
	var fresh []store.Entry
	own := make(map[string]bool)
	for _, e := range entries {
		if id := e.UUID(); id != "" {
			if t.uuids[id] || own[id] {
				continue
			}
			own[id] = true
		}
		fresh = append(fresh, e)
	}
	return fresh
}

// Load implements [store.Store].
func (s *Store) Load(ctx context.Context, k store.Key) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		if err := s.load(ctx, k, yield); err != nil {
			yield(nil, err)
		}
	}
}

func (s *Store) load(ctx context.Context, k store.Key, yield func(store.Entry, error) bool) error {
	if err := cmp.Or(k.Check(), ctx.Err()); err != nil {
		return err
	}
	if gone, err := s.exists(ctx, deletedName(k)); gone || err != nil {
		return fail(k, cmp.Or(err, store.ErrNotFound))
	}
	done := int64(0) // entries that were yielded
	for {
		names, _, err := s.parts(ctx, k, 0)
		if err != nil {
			return fail(k, err)
		}
		if len(names) == 0 {
			return fail(k, store.ErrNotFound)
		}
		again, err := s.yieldParts(ctx, names, &done, yield)
		if !again {
			return fail(k, err)
		}
		// Somebody has compacted the transcript since it was listed. If there
		// is no pack now either, the part was never whole.
		if packed, _, err := s.parts(ctx, k, 0); err != nil || slices.Equal(packed, names) {
			return fail(k, cmp.Or(err, fmt.Errorf("%w: a part is empty", store.ErrDamaged)))
		}
	}
}

// yieldParts yields the entries of parts but for those that were yielded before. It
// returns true if a part has become empty since it was listed.
func (s *Store) yieldParts(ctx context.Context, names []string, done *int64, yield func(store.Entry, error) bool) (again bool, err error) {
	skip := *done
	for body, err := range s.fetch(ctx, names) {
		if err == nil && len(body) == 0 || errors.Is(err, store.ErrNotFound) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		_, entries, err := decode(body)
		if err != nil {
			return false, err
		}
		for _, e := range entries {
			if skip--; skip >= 0 {
				continue
			}
			if err := ctx.Err(); err != nil {
				return false, err
			}
			if !yield(e, nil) {
				return false, nil
			}
			*done++
		}
	}
	return false, nil
}

// List implements [store.Lister].
func (s *Store) List(ctx context.Context, project string) iter.Seq2[store.Session, error] {
	return func(yield func(store.Session, error) bool) {
		list, err := s.sessions(ctx, project)
		if err != nil {
			yield(store.Session{}, err)
			return
		}
		for _, item := range list {
			if !yield(item, nil) {
				return
			}
		}
	}
}

// sessions returns the sessions of a project, the last modified first.
func (s *Store) sessions(ctx context.Context, project string) ([]store.Session, error) {
	if err := cmp.Or(store.CheckProject(project), ctx.Err()); err != nil {
		return nil, err
	}
	prefix := project + "/index/"
	var list []store.Session
	for o, err := range s.list(ctx, prefix, "") {
		if err != nil {
			return nil, fail(project, err)
		}
		if id := strings.TrimPrefix(*o.Key, prefix); uuid.Valid(id) {
			list = append(list, store.Session{ID: id, Modified: aws.ToTime(o.LastModified)})
		}
	}
	slices.SortFunc(list, func(a, b store.Session) int {
		return cmp.Or(b.Modified.Compare(a.Modified), strings.Compare(a.ID, b.ID))
	})
	return list, nil
}

// Summaries implements [store.Summarizer].
func (s *Store) Summaries(ctx context.Context, project string) iter.Seq2[store.Summary, error] {
	return func(yield func(store.Summary, error) bool) {
		list, err := s.sessions(ctx, project)
		if err != nil {
			yield(store.Summary{}, err)
			return
		}
		var names []string
		for _, item := range list {
			names = append(names, indexName(store.Key{Project: project, Session: item.ID}))
		}
		i := 0
		for body, err := range s.fetch(ctx, names) {
			item := list[i]
			i++
			if errors.Is(err, store.ErrNotFound) {
				continue // deleted in the meantime
			}
			if err != nil {
				yield(store.Summary{}, fail(item.ID, err))
				return
			}
			if !yield(store.Summary{Session: item.ID, Modified: item.Modified, Data: body}, nil) {
				return
			}
		}
	}
}

// ListSubs implements [store.SubLister].
func (s *Store) ListSubs(ctx context.Context, project, session string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		k := store.Key{Project: project, Session: session}
		subs, err := s.subs(ctx, k)
		if err != nil {
			yield("", err)
			return
		}
		for _, sub := range subs {
			if !yield(sub, nil) {
				return
			}
		}
	}
}

// subs returns the transcripts below a session, in order.
func (s *Store) subs(ctx context.Context, k store.Key) ([]string, error) {
	if err := cmp.Or(k.Check(), ctx.Err()); err != nil {
		return nil, err
	}
	if gone, err := s.exists(ctx, deletedName(k)); gone || err != nil {
		return nil, fail(k, err)
	}
	prefix := k.Project + "/sessions/" + k.Session + "/"
	var subs []string
	for o, err := range s.list(ctx, prefix, "") {
		if err != nil {
			return nil, fail(k, err)
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(*o.Key, prefix), "/")
		sub := strings.ReplaceAll(name, "!", "/")
		if name != "-" && !slices.Contains(subs, sub) {
			subs = append(subs, sub)
		}
	}
	slices.Sort(subs)
	return subs, nil
}

// Delete implements [store.Deleter].
func (s *Store) Delete(ctx context.Context, k store.Key, f store.Fence) error {
	if err := cmp.Or(store.Batch{Fence: f}.Check(k), ctx.Err()); err != nil {
		return err
	}
	return fail(k, s.delete(ctx, k, f))
}

func (s *Store) delete(ctx context.Context, k store.Key, f store.Fence) error {
	if err := s.fenced(ctx, f); err != nil {
		return err
	}
	prefix := folder(k)
	if k.Sub == "" {
		prefix = k.Project + "/sessions/" + k.Session + "/"
		if err := s.put(ctx, deletedName(k), nil, "*"); err != nil {
			return err
		}
		if err := s.remove(ctx, indexName(k)); err != nil {
			return err
		}
	}
	for o, err := range s.list(ctx, prefix, "") {
		if err == nil {
			err = s.remove(ctx, *o.Key)
		}
		if err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for other := range s.known {
		if other == k || k.Sub == "" && other.Main() == k {
			delete(s.known, other)
		}
	}
	return nil
}

var errOdd = fmt.Errorf("%w: an object is not what it should be", store.ErrDamaged)

// read decodes an object of ours.
func read(o object, v any) error {
	if err := json.Unmarshal(o.body, v); err != nil {
		return errOdd
	}
	return nil
}
