package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// parseRecord reads the stored form of a record: the revision, a colon, the
// value.
func parseRecord(k store.RecordKey, text string) (store.Record, error) {
	number, value, ok := strings.Cut(text, ":")
	revision, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil {
		return store.Record{}, fail(k, fmt.Errorf("%w: a record without a revision", store.ErrDamaged))
	}
	return store.Record{Key: k, Value: []byte(value), Revision: revision}, nil
}

// kinds numbers the kinds of records in a script, and has their keys: records and names
// of each.
type kinds struct {
	s       *Store
	project string
	number  map[string]int
	keys    []string
}

// of returns the number of a kind, 1 for the first.
func (k *kinds) of(kind string) int {
	n, ok := k.number[kind]
	if !ok {
		n = len(k.number) + 1
		k.number[kind] = n
		k.keys = append(k.keys, k.s.key(k.project, "records", kind), k.s.key(k.project, "names", kind))
	}
	return n
}

// Change implements [store.Records], in one script. A project is on one node of a cluster, so
// its records can be changed together.
func (s *Store) Change(ctx context.Context, f store.Fence, changes ...store.RecordChange) ([]int64, error) {
	if err := cmp.Or(store.CheckChanges(changes, f), ctx.Err()); err != nil {
		return nil, err
	}
	project := changes[0].Key.Project
	all := kinds{s: s, project: project, number: make(map[string]int)}
	args := []any{token(f), s.channel(project), storeimpl.By(f)}
	grows := false
	for _, c := range changes {
		op := "put"
		switch {
		case c.Drop:
			op = "drop"
		case c.Keep:
			op = "keep"
		}
		grows = grows || op == "put"
		args = append(args, all.of(c.Key.Kind), c.Key.Kind, c.Key.Name, op, strconv.FormatInt(c.Revision, 10), c.IfEmpty, c.Value)
	}
	db, err := s.client(ctx)
	if err != nil {
		return nil, fail(changes[0].Key, err)
	}
	keys := append([]string{s.leaseKey(project, f), s.key(project, "revision")}, all.keys...)
	next, err := changeScript(grows).Run(ctx, db, keys, args...).Int64Slice()
	if err == nil && len(next) != len(changes) {
		err = fmt.Errorf("%w: the server's answer is not a change", store.ErrDamaged)
	}
	if err == nil {
		err = verdict(next[0])
	}
	if err != nil {
		return nil, fail(changes[0].Key, err)
	}
	return next, nil
}

// View implements [store.Records], in one script. Scripts run one after the other on the node
// that has the project, so Known makes no difference.
func (s *Store) View(ctx context.Context, v store.View) ([]store.Record, error) {
	if err := cmp.Or(v.Check(), ctx.Err()); err != nil {
		return nil, err
	}
	project := ""
	for _, f := range v.Folders {
		project = f.Project
	}
	for _, k := range v.Keys {
		project = k.Project
	}
	all := kinds{s: s, project: project, number: make(map[string]int)}
	args := []any{store.MaxViewed, store.MaxViewedBytes}
	for _, k := range v.Keys {
		args = append(args, all.of(k.Kind), "key", k.Name, "")
	}
	for _, f := range v.Folders {
		from, to := bounds(f, "")
		args = append(args, all.of(f.Kind), "folder", from, to)
	}
	db, err := s.client(ctx)
	if err != nil {
		return nil, fail("view", err)
	}
	answer, err := viewScript().Run(ctx, db, all.keys, args...).StringSlice()
	if err != nil {
		return nil, fail("view", err)
	}
	if len(answer) == 1 {
		return nil, fail("view", fmt.Errorf("%w: more than %d records or %d bytes", store.ErrTooLarge, store.MaxViewed, store.MaxViewedBytes))
	}
	names := make(map[string]string, len(all.number))
	for kind, n := range all.number {
		names[strconv.Itoa(n)] = kind
	}
	found := make([]store.Record, 0, len(answer)/3)
	for ; len(answer) >= 3; answer = answer[3:] {
		r, err := parseRecord(store.RecordKey{Project: project, Kind: names[answer[0]], Name: answer[1]}, answer[2])
		if err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	return storeimpl.SortView(found), nil
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
	from, to = storeimpl.Between(f, after)
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
