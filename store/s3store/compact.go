package s3store

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/claude-agent-go/claude/store"
)

const (
	fanOut  = 16       // parts of a level that are merged
	maxPack = 32 << 20 // bytes of a part that was merged
)

// trailing returns the last parts if they are so many of one level that an append
// merges them: the head stays small, and every entry is written a few times.
func trailing(parts []part) (from, to int) {
	size := int64(0)
	for from = len(parts); from > 0 && parts[from-1].Level == parts[len(parts)-1].Level; from-- {
		size += parts[from-1].Bytes
	}
	if len(parts)-from < fanOut || size > maxPack {
		return 0, 0
	}
	return from, len(parts)
}

// adjacent returns the first parts that are small enough to be one.
func adjacent(parts []part) (from, to int) {
	for from = range parts {
		size := int64(0)
		for to = from; to < len(parts) && size+parts[to].Bytes <= maxPack; to++ {
			size += parts[to].Bytes
		}
		if to-from > 1 {
			return from, to
		}
	}
	return 0, 0
}

// Compact merges the parts of a transcript, so that it loads with as few
// requests as possible. Appends merge parts by themselves; Compact is for
// transcripts that are complete. It may run concurrently with everything else.
func (s *Store) Compact(ctx context.Context, k store.Key) error {
	if err := cmp.Or(k.Check(), ctx.Err()); err != nil {
		return err
	}
	t, leave, err := s.enter(ctx, k)
	if err != nil {
		return fail(k, err)
	}
	defer leave()
	if err := s.merge(ctx, t, k.Sub, adjacent); err != nil {
		return fail(k, err)
	}
	s.keep(t)
	return nil
}

// merge merges the parts that choose returns, until it returns none.
func (s *sessions) merge(ctx context.Context, t *session, sub string, choose func([]part) (from, to int)) error {
	for {
		m := merging{s: s, k: t.key, sub: sub, choose: choose}
		err := s.change(ctx, t, func(h *head) (bool, error) { return m.edit(ctx, h) })
		if err != nil || len(m.old) == 0 {
			return err
		}
		for _, p := range m.old {
			if err := s.remove(ctx, partsOf(t.key)+p.Name); err != nil {
				return err
			}
		}
	}
}

// merging is a merge under way.
type merging struct {
	s      *sessions
	k      store.Key
	sub    string
	choose func([]part) (from, to int)

	old []part
	new part
}

// edit puts one part in the place of several.
func (m *merging) edit(ctx context.Context, h *head) (done bool, err error) {
	t := h.Transcripts[m.sub]
	if slices.Contains(t.Parts, m.new) {
		return true, nil // the reply was lost
	}
	from, to := m.choose(t.Parts)
	run := t.Parts[from:to]
	if m.new.Name != "" && !slices.Equal(run, m.old) {
		// Another process was faster: based on the head that was read, ours can
		// no longer be written.
		_ = m.s.remove(context.WithoutCancel(ctx), partsOf(m.k)+m.new.Name)
		m.new = part{}
	}
	if m.old = nil; len(run) == 0 {
		return true, nil
	}
	if m.new.Name == "" {
		if err := m.write(ctx, run); err != nil {
			return false, err
		}
	}
	m.old = slices.Clone(run)
	t.Parts = slices.Concat(t.Parts[:from], []part{m.new}, t.Parts[to:])
	h.Transcripts[m.sub] = t
	return false, nil
}

// write writes the parts as one.
func (m *merging) write(ctx context.Context, run []part) error {
	var body []byte
	var entries int64
	level := 0
	names := make([]string, len(run))
	for i, p := range run {
		names[i] = partsOf(m.k) + p.Name
		entries += p.Entries
		level = max(level, p.Level+1)
	}
	i := 0
	for text, err := range m.s.fetch(ctx, names) {
		if errors.Is(err, store.ErrNotFound) {
			return errStale
		}
		if err == nil {
			_, err = decode(run[i], text) // damage must not spread
		}
		if err != nil {
			return err
		}
		i++
		body = append(body, text...)
	}
	var err error
	m.new, err = m.s.newPart(ctx, m.k, body, entries, level)
	return err
}
