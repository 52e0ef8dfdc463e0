package s3store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/claude-agent-go/claude/store"
)

// The index has an object for each session, which is written after each append to
// its own transcript: the time of the object is the session's. That of a deleted
// session is empty, and stays so.
func indexName(k store.Key) string { return k.Project + "/index/" + k.Session }

// touch writes the entry of a session in the index.
func (s *sessions) touch(ctx context.Context, t *session) error {
	for {
		etag, err := s.put(ctx, indexName(t.key), []byte("1"), t.index)
		if err == nil {
			t.index = etag
			return nil
		}
		if !errors.Is(err, errTaken) {
			return err
		}
		o, err := s.get(ctx, indexName(t.key))
		if err != nil && !errors.Is(err, store.ErrNotFound) || err == nil && len(o.body) == 0 {
			return err // it was deleted meanwhile
		}
		t.index = o.etag
	}
}

// sessionID is the form of the id of a session: a UUID, as the CLI writes it.
var sessionID = regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)

// listed returns the objects that a folder has for sessions, by their ids.
func (s *sessions) listed(ctx context.Context, folder string, each func(id string, modified time.Time, size int64)) error {
	for o, err := range s.list(ctx, folder) {
		if err != nil {
			return err
		}
		if id := strings.TrimPrefix(*o.Key, folder); sessionID.MatchString(id) {
			each(id, aws.ToTime(o.LastModified), aws.ToInt64(o.Size))
		}
	}
	return nil
}

// sessionsOf returns the sessions of a project, the last modified first.
func (s *sessions) sessionsOf(ctx context.Context, project string) ([]store.Summary, error) {
	if err := cmp.Or(store.CheckProject(project), ctx.Err()); err != nil {
		return nil, err
	}
	var list []store.Summary
	seen := make(map[string]bool)
	err := s.listed(ctx, project+"/index/", func(id string, modified time.Time, size int64) {
		if seen[id] = true; size > 0 {
			list = append(list, store.Summary{Session: id, Modified: modified})
		}
	})
	if err != nil {
		return nil, fail(project, err)
	}
	// A writer that died may have left a session out of the index.
	var others []store.Summary
	err = s.listed(ctx, project+"/heads/", func(id string, modified time.Time, _ int64) {
		if !seen[id] {
			others = append(others, store.Summary{Session: id, Modified: modified})
		}
	})
	if err != nil {
		return nil, fail(project, err)
	}
	for item, h := range s.heads(ctx, project, others, &err) {
		if len(h.Transcripts[""].Parts) > 0 {
			list = append(list, item)
		}
	}
	if err != nil {
		return nil, fail(project, err)
	}
	slices.SortFunc(list, func(a, b store.Summary) int {
		return cmp.Or(b.Modified.Compare(a.Modified), strings.Compare(a.Session, b.Session))
	})
	return list, nil
}

// heads yields the heads of sessions. A failure ends the loop.
func (s *sessions) heads(ctx context.Context, project string, list []store.Summary, failure *error) iter.Seq2[store.Summary, head] {
	return func(yield func(store.Summary, head) bool) {
		names := make([]string, len(list))
		for i, item := range list {
			names[i] = headName(store.Key{Project: project, Session: item.Session})
		}
		i := -1
		for body, err := range s.fetch(ctx, names) {
			i++
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			var h head
			if err == nil && json.Unmarshal(body, &h) != nil {
				err = store.ErrDamaged
			}
			if err != nil {
				*failure = fail(list[i].Session, err)
				return
			}
			if !yield(list[i], h) {
				return
			}
		}
	}
}

// List implements [store.Transcripts].
func (s *Store) List(ctx context.Context, project string) iter.Seq2[store.Summary, error] {
	return func(yield func(store.Summary, error) bool) {
		list, err := s.sessionsOf(ctx, project)
		if err != nil {
			yield(store.Summary{}, err)
			return
		}
		for item, h := range s.heads(ctx, project, list, &err) {
			t, there := h.Transcripts[""]
			if !there {
				continue // deleted in the meantime
			}
			if !yield(store.Summary{Session: item.Session, Modified: item.Modified, Data: t.Summary}, nil) {
				return
			}
		}
		if err != nil {
			yield(store.Summary{}, err)
		}
	}
}

// Subagents implements [store.Transcripts].
func (s *Store) Subagents(ctx context.Context, project, session string) iter.Seq2[string, error] {
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
func (s *sessions) subs(ctx context.Context, k store.Key) ([]string, error) {
	if err := cmp.Or(k.Check(), ctx.Err()); err != nil {
		return nil, err
	}
	t := &session{key: k}
	if err := s.readHead(ctx, t); err != nil {
		return nil, fail(k, err)
	}
	var subs []string
	for sub := range t.head.Transcripts {
		if sub != "" {
			subs = append(subs, sub)
		}
	}
	slices.Sort(subs)
	return subs, nil
}
