package natsfleet

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/store"
)

// List implements [store.Lister].
func (s streamed) List(ctx context.Context, project string) iter.Seq2[store.Session, error] {
	return func(yield func(store.Session, error) bool) {
		if err := cmp.Or(store.CheckProject(project), ctx.Err()); err != nil {
			yield(store.Session{}, err)
			return
		}
		found, err := s.sessions(ctx, project)
		if err != nil {
			yield(store.Session{}, fail(project, err))
			return
		}
		for _, item := range found {
			if !yield(item, nil) {
				return
			}
		}
	}
}

// lastOfSessions returns the last message of each session in a project, by its subject.
func (s streamed) lastOfSessions(ctx context.Context, project string) (map[string]stored, error) {
	subjects, err := s.subjects(ctx, s.layout.transcript(project, "*", "")+".e")
	if err != nil {
		return nil, err
	}
	return s.lasts(ctx, subjects)
}

func (s streamed) sessions(ctx context.Context, project string) ([]store.Session, error) {
	last, err := s.lastOfSessions(ctx, project)
	if err != nil {
		return nil, err
	}
	gone, err := s.deletedOf(ctx, project, last)
	if err != nil {
		return nil, err
	}
	var found []store.Session
	for subject, m := range last {
		id := sessionOf(subject)
		if _, deleted := gone[s.layout.deleted(project, id)]; !deleted && m.header.Get(headerGone) == "" {
			found = append(found, store.Session{ID: id, Modified: m.modified()})
		}
	}
	slices.SortFunc(found, func(a, b store.Session) int {
		return cmp.Or(b.Modified.Compare(a.Modified), strings.Compare(a.ID, b.ID))
	})
	return found, nil
}

// deletedOf returns what says that sessions were deleted, by its subject. Only the
// sessions that have messages count: all that were ever deleted may be many.
func (s streamed) deletedOf(ctx context.Context, project string, last map[string]stored) (map[string]stored, error) {
	deleted, err := s.subjects(ctx, s.layout.deleted(project, "*"))
	if err != nil {
		return nil, err
	}
	deleted = slices.DeleteFunc(deleted, func(subject string) bool {
		_, has := last[s.layout.transcript(project, subject[strings.LastIndexByte(subject, '.')+1:], "")+".e"]
		return !has
	})
	return s.lasts(ctx, deleted)
}

// ListSubs implements [store.SubLister].
func (s streamed) ListSubs(ctx context.Context, project, session string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		k := store.Key{Project: project, Session: session}
		if err := cmp.Or(k.Check(), ctx.Err()); err != nil {
			yield("", err)
			return
		}
		subs, err := s.subs(ctx, k)
		if err != nil {
			yield("", fail(k, err))
			return
		}
		for _, sub := range subs {
			if !yield(sub, nil) {
				return
			}
		}
	}
}

func (s streamed) subs(ctx context.Context, k store.Key) ([]string, error) {
	subjects, err := s.subjects(ctx, strings.TrimSuffix(s.layout.transcript(k.Project, k.Session, ""), mainToken)+"*.e")
	if err != nil {
		return nil, err
	}
	deleted, err := s.last(ctx, s.layout.deleted(k.Project, k.Session))
	if err != nil || deleted != nil {
		return nil, err
	}
	last, err := s.lasts(ctx, subjects)
	if err != nil {
		return nil, err
	}
	var subs []string
	for subject, m := range last {
		if t := strings.Split(subject, ".")[4]; t != mainToken && m.header.Get(headerGone) == "" {
			subs = append(subs, untoken(t))
		}
	}
	slices.Sort(subs)
	return subs, nil
}
