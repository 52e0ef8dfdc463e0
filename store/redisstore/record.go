package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/claude-agent-go/claude/store"
)

// parseRecord reads a record as it is kept: the revision, a colon, the value.
func parseRecord(k store.RecordKey, text string) (store.Record, error) {
	number, value, ok := strings.Cut(text, ":")
	revision, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil {
		return store.Record{}, fail(k, fmt.Errorf("%w: a record without a revision", store.ErrDamaged))
	}
	return store.Record{Key: k, Value: []byte(value), Revision: revision}, nil
}

// GetRecord implements [store.Records].
func (s *Store) GetRecord(ctx context.Context, k store.RecordKey) (store.Record, error) {
	if err := cmp.Or(k.Check(), ctx.Err()); err != nil {
		return store.Record{}, err
	}
	db, err := s.client(ctx)
	if err != nil {
		return store.Record{}, fail(k, err)
	}
	text, err := db.HGet(ctx, s.key(k.Project, "records", k.Kind), k.Name).Result()
	if err == redis.Nil {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Record{}, fail(k, err)
	}
	return parseRecord(k, text)
}

// recordKeys returns the keys of scripts that change a record.
func (s *Store) recordKeys(k store.RecordKey, f store.Fence) []string {
	return []string{s.leaseKey(k.Project, f), s.key(k.Project, "records", k.Kind), s.key(k.Project, "names", k.Kind)}
}

// PutRecord implements [store.Records].
func (s *Store) PutRecord(ctx context.Context, k store.RecordKey, value []byte, revision int64, f store.Fence) (int64, error) {
	if err := cmp.Or(store.CheckPut(k, value, revision, f), ctx.Err()); err != nil {
		return 0, err
	}
	keys := append(s.recordKeys(k, f), s.key(k.Project, "revision"))
	next, err := s.run(ctx, putScript(), keys, token(f), k.Name, strconv.FormatInt(revision, 10), value)
	if err != nil {
		return 0, fail(k, err)
	}
	return next, nil
}

// DropRecord implements [store.Records].
func (s *Store) DropRecord(ctx context.Context, k store.RecordKey, revision int64, f store.Fence) error {
	if err := cmp.Or(store.CheckDrop(k, revision, f), ctx.Err()); err != nil {
		return err
	}
	_, err := s.run(ctx, dropScript(), s.recordKeys(k, f), token(f), k.Name, strconv.FormatInt(revision, 10))
	return fail(k, err)
}

// Scan implements [store.Records].
func (s *Store) Scan(ctx context.Context, f store.Folder, after string) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if err := cmp.Or(f.Check(), ctx.Err()); err != nil {
			yield(store.Record{}, err)
			return
		}
		from, to := bounds(f, after)
		s.scan(ctx, f.Project, f.Kind, from, to, yield)
	}
}

// bounds are those of a folder for ZRANGEBYLEX, from behind a name.
func bounds(f store.Folder, after string) (from, to string) {
	from, to = f.Between(after)
	if from = "(" + from; from == "(" {
		from = "-"
	}
	if to = "(" + to; to == "(" {
		to = "+"
	}
	return from, to
}

// scan yields the records between two bounds of ZRANGEBYLEX.
func (s *Store) scan(ctx context.Context, project, kind, from, to string, yield func(store.Record, error) bool) {
	for {
		found, err := s.records(ctx, project, kind, from, to)
		if err != nil {
			yield(store.Record{}, fail(project+"/"+kind, err))
			return
		}
		if len(found) == 0 {
			return
		}
		for _, r := range found {
			if !yield(r, nil) {
				return
			}
		}
		from = "(" + found[len(found)-1].Key.Name
	}
}

// records reads some records in the order of their names.
func (s *Store) records(ctx context.Context, project, kind, from, to string) ([]store.Record, error) {
	keys := []string{s.key(project, "records", kind), s.key(project, "names", kind)}
	db, err := s.client(ctx)
	if err != nil {
		return nil, err
	}
	answer, err := scanScript().Run(ctx, db, keys, from, pageCount, pageBytes, to).StringSlice()
	if err != nil {
		return nil, err
	}
	var found []store.Record
	for ; len(answer) >= 2; answer = answer[2:] {
		r, err := parseRecord(store.RecordKey{Project: project, Kind: kind, Name: answer[0]}, answer[1])
		if err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	return found, nil
}

// Now implements [store.Records]. In a cluster it is always the same node's
// time.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	us, err := clockScript().Run(ctx, s.db, []string{s.base + ":{clock}"}).Int64()
	if err != nil {
		return time.Time{}, fail("clock", err)
	}
	return time.UnixMicro(us), nil
}
