package redisstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// token returns a fence as scripts want it, "" for none.
func token(f store.Fence) string {
	if f.IsZero() {
		return ""
	}
	return strconv.FormatInt(f.Token, 10)
}

// leaseKey returns the key of a fence's lease.
func (s *Store) leaseKey(project string, f store.Fence) string {
	return s.key(project, "lease", f.Name)
}

// run runs a script that answers with a number.
func (s *Store) run(ctx context.Context, script *redis.Script, keys []string, args ...any) (int64, error) {
	db, err := s.client(ctx)
	if err != nil {
		return 0, err
	}
	n, err := script.Run(ctx, db, keys, args...).Int64()
	if err != nil {
		return 0, err
	}
	return n, verdict(n)
}

// transcriptKeys returns the keys of a transcript: entries, uuids, batches and life.
func (s *Store) transcriptKeys(k store.Key) (entries, uuids, batches, life string) {
	of := func(part string) string { return s.key(k.Project, part, k.Session, k.Sub) }
	return of("entries"), of("uuids"), of("batches"), of("life")
}

// Append implements [store.Transcripts].
func (s *Store) Append(ctx context.Context, k store.Key, b store.Batch) error {
	if err := cmp.Or(b.Check(k), ctx.Err()); err != nil {
		return err
	}
	entries, uuids, batches, life := s.transcriptKeys(k)
	// A session is listed by when it was modified, a sub-agent by its name.
	list, member, score := s.key(k.Project, "sessions"), k.Session, ""
	if k.Sub != "" {
		list, member, score = s.key(k.Project, "subs", k.Session), k.Sub, "0"
	}
	args := []any{token(b.Fence), k.Session, b.ID, member, score, s.channel(k.Project), storeimpl.Text(store.Changed{Transcript: k, By: b.Fence})}
	for _, e := range b.Entries {
		args = append(args, e.ID(), []byte(e))
	}
	_, err := s.run(ctx, appendScript(), []string{s.leaseKey(k.Project, b.Fence), s.key(k.Project, "deleted"), entries, uuids, batches, list, life, s.key(k.Project, "lives")}, args...)
	return fail(k, err)
}

// The size of one read: so many records, and about so many bytes of records or
// entries. A single one may be larger.
const (
	pageCount = 200
	pageBytes = 4 << 20
)

// Load implements [store.Transcripts].
func (s *Store) Load(ctx context.Context, k store.Key, after store.Place) iter.Seq2[store.PlacedEntry, error] {
	return func(yield func(store.PlacedEntry, error) bool) {
		if err := k.Check(); err != nil {
			yield(store.PlacedEntry{}, err)
			return
		}
		place := max(after, 0)
		for line, err := range s.lines(ctx, k, int64(place)) {
			if err = cmp.Or(err, ctx.Err()); err != nil {
				yield(store.PlacedEntry{}, fail(k, err))
				return
			}
			place++
			if !yield(store.PlacedEntry{Entry: store.Entry(line), Place: place}, nil) {
				return
			}
		}
	}
}

// lines yields the entries that a transcript has when the loop begins, from a
// number on. It ends with ErrNotFound if there is none, or if it is deleted in
// the meantime, even if it comes back.
func (s *Store) lines(ctx context.Context, k store.Key, from int64) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		life, end := "", int64(math.MaxInt32)
		for from < end {
			p, err := s.page(ctx, k, from, end)
			if err == nil && (p.count == 0 || life != "" && (p.life != life || len(p.lines) == 0)) {
				err = store.ErrNotFound
			}
			if err != nil {
				yield("", err)
				return
			}
			if life == "" {
				life, end = p.life, p.count
			}
			for _, line := range p.lines {
				if from == end || !yield(line, nil) {
					return
				}
				from++
			}
		}
	}
}

// page is some entries of a transcript.
type page struct {
	life  string
	count int64 // of all entries of the transcript
	lines []string
}

// page reads entries, and what they belong to, at one moment.
func (s *Store) page(ctx context.Context, k store.Key, from, to int64) (page, error) {
	entries, _, _, life := s.transcriptKeys(k)
	db, err := s.client(ctx)
	if err != nil {
		return page{}, err
	}
	answer, err := pageScript().Run(ctx, db, []string{entries, life}, from, to, pageBytes).Slice()
	if err != nil {
		return page{}, err
	}
	odd := fmt.Errorf("%w: the server's answer is not a page", store.ErrDamaged)
	if len(answer) < 2 {
		return page{}, odd
	}
	p := page{lines: make([]string, 0, len(answer)-2)}
	var ok, ok2 bool
	p.life, ok = answer[0].(string)
	p.count, ok2 = answer[1].(int64)
	if !ok || !ok2 || p.life == "" && p.count > 0 {
		return page{}, odd
	}
	if p.life != "" && p.count == 0 {
		return page{}, verdict(damaged)
	}
	for _, a := range answer[2:] {
		line, ok := a.(string)
		if !ok {
			return page{}, odd
		}
		p.lines = append(p.lines, line)
	}
	return p, nil
}

// sessions yields the sessions of a project without their summaries.
func (s *Store) sessions(ctx context.Context, project string) iter.Seq2[store.Summary, error] {
	return func(yield func(store.Summary, error) bool) {
		if err := cmp.Or(store.CheckProject(project), ctx.Err()); err != nil {
			yield(store.Summary{}, err)
			return
		}
		db, err := s.client(ctx)
		if err != nil {
			yield(store.Summary{}, fail(project, err))
			return
		}
		all, err := db.ZRevRangeWithScores(ctx, s.key(project, "sessions"), 0, -1).Result()
		if err != nil {
			yield(store.Summary{}, fail(project, err))
			return
		}
		for _, item := range all {
			if !yield(store.Summary{Session: fmt.Sprint(item.Member), Modified: time.UnixMicro(int64(item.Score))}, nil) {
				return
			}
		}
	}
}

// Subagents implements [store.Transcripts].
func (s *Store) Subagents(ctx context.Context, project, session string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		k := store.Key{Project: project, Session: session}
		if err := cmp.Or(k.Check(), ctx.Err()); err != nil {
			yield("", err)
			return
		}
		db, err := s.client(ctx)
		if err != nil {
			yield("", fail(k, err))
			return
		}
		subs, err := db.ZRange(ctx, s.key(project, "subs", session), 0, -1).Result()
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

// summary is the fold of the first Count entries of a session.
type summary struct {
	Count int64           `json:"count"`
	Data  json.RawMessage `json:"data"`
}

// List implements [store.Transcripts]. A summary is updated when it is
// requested, starting where the last one ended.
func (s *Store) List(ctx context.Context, project string) iter.Seq2[store.Summary, error] {
	return func(yield func(store.Summary, error) bool) {
		for item, err := range s.sessions(ctx, project) {
			if err != nil {
				yield(store.Summary{}, err)
				return
			}
			data, err := s.summary(ctx, store.Key{Project: project, Session: item.Session})
			if err != nil {
				yield(store.Summary{}, fail(item.Session, err))
				return
			}
			if data == nil {
				continue // deleted in the meantime
			}
			if !yield(store.Summary{Session: item.Session, Modified: item.Modified, Data: data}, nil) {
				return
			}
		}
	}
}

// summary returns the summary of a session, nil if there is no such session.
func (s *Store) summary(ctx context.Context, k store.Key) ([]byte, error) {
	entries, _, _, _ := s.transcriptKeys(k)
	db, err := s.client(ctx)
	if err != nil {
		return nil, err
	}
	pipe := db.Pipeline()
	length := pipe.LLen(ctx, entries)
	text := pipe.HGet(ctx, s.key(k.Project, "summaries"), k.Session)
	if _, err := pipe.Exec(ctx); err != nil && err != redis.Nil {
		return nil, err
	}
	end := length.Val()
	var kept summary
	if err := json.Unmarshal([]byte(text.Val()), &kept); err != nil || kept.Count > end {
		kept = summary{} // there is none yet
	}
	if kept.Count == end {
		return kept.Data, nil
	}
	for line, err := range s.lines(ctx, k, kept.Count) {
		if errors.Is(err, store.ErrNotFound) {
			return nil, nil // deleted in the meantime
		}
		if err != nil {
			return nil, err
		}
		kept.Data = storeimpl.Fold(kept.Data, store.Entry(line))
		kept.Count++
	}
	out, err := json.Marshal(kept)
	if err == nil {
		_, err = s.run(ctx, summaryScript(), []string{s.key(k.Project, "deleted"), s.key(k.Project, "summaries")}, k.Session, out)
	}
	return kept.Data, err
}

// Delete implements [store.Transcripts].
func (s *Store) Delete(ctx context.Context, k store.Key, f store.Fence) error {
	if err := cmp.Or(store.Batch{Fence: f}.Check(k), ctx.Err()); err != nil {
		return err
	}
	lease, subs := s.leaseKey(k.Project, f), s.key(k.Project, "subs", k.Session)
	channel, text := s.channel(k.Project), storeimpl.Text(store.Changed{Transcript: k, By: f})
	var err error
	if k.Sub != "" {
		entries, uuids, batches, life := s.transcriptKeys(k)
		_, err = s.run(ctx, deleteSubScript(), []string{lease, entries, uuids, batches, life, subs}, token(f), k.Sub, channel, text)
	} else {
		_, err = s.run(ctx, deleteScript(), []string{lease, s.key(k.Project, "deleted"), s.key(k.Project, "sessions"), subs, s.key(k.Project, "summaries")},
			token(f), k.Session, s.key(k.Project), channel, text)
	}
	return fail(k, err)
}
