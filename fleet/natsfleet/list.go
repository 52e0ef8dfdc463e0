package natsfleet

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/store"
)

// List implements [store.Transcripts].
func (s *streamed) List(ctx context.Context, project string) iter.Seq2[store.Summary, error] {
	return func(yield func(store.Summary, error) bool) {
		if err := cmp.Or(store.CheckProject(project), ctx.Err()); err != nil {
			yield(store.Summary{}, err)
			return
		}
		found, err := s.sessions(ctx, project)
		if err != nil {
			yield(store.Summary{}, fail(project, err))
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
func (s *streamed) lastOfSessions(ctx context.Context, project string) (map[string]stored, error) {
	subjects, err := s.subjects(ctx, s.layout.transcript(project, "*", "")+".e")
	if err != nil {
		return nil, err
	}
	return s.lasts(ctx, subjects)
}

func (s *streamed) sessions(ctx context.Context, project string) ([]store.Summary, error) {
	last, err := s.lastOfSessions(ctx, project)
	if err != nil {
		return nil, err
	}
	gone, err := s.deletedOf(ctx, project, last)
	if err != nil {
		return nil, err
	}
	var found []store.Summary
	for subject, m := range last {
		id := sessionOf(subject)
		if _, deleted := gone[s.layout.deleted(project, id)]; !deleted && m.header.Get(headerGone) == "" {
			found = append(found, store.Summary{Session: id, Modified: m.modified()})
		}
	}
	slices.SortFunc(found, func(a, b store.Summary) int {
		return cmp.Or(b.Modified.Compare(a.Modified), strings.Compare(a.Session, b.Session))
	})
	return found, nil
}

// deletedOf returns the tombstones of sessions by subject. It looks only at
// sessions that have messages: those that were ever deleted may be many.
func (s *streamed) deletedOf(ctx context.Context, project string, last map[string]stored) (map[string]stored, error) {
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

// Subagents implements [store.Transcripts].
func (s *streamed) Subagents(ctx context.Context, project, session string) iter.Seq2[string, error] {
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

func (s *streamed) subs(ctx context.Context, k store.Key) ([]string, error) {
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
