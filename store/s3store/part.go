package s3store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/store"
)

// A part begins with a line of its own, then come the entries.
type header struct {
	Batch string `json:"batch,omitempty"`
}

// folder returns where the parts of a transcript are. A name never begins with a
// dash, so the session's own are apart from those of its sub-agents.
func folder(k store.Key) string {
	sub := "-"
	if k.Sub != "" {
		sub = strings.ReplaceAll(k.Sub, "/", "!") // which is not a character of names
	}
	return k.Project + "/sessions/" + k.Session + "/" + sub + "/"
}

// partName returns the name of a part by its number, from 1 on.
func partName(k store.Key, n int64) string { return fmt.Sprintf("%s%012d", folder(k), n) }

// packName returns the name of all parts up to a number as one object. It sorts
// after the parts.
func packName(k store.Key, n int64) string { return fmt.Sprintf("%spack-%012d", folder(k), n) }

// encode makes a part.
func encode(b store.Batch, entries []store.Entry) ([]byte, error) {
	out, err := json.Marshal(header{b.ID})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		out = append(append(out, '\n'), e...)
	}
	return append(out, '\n'), nil
}

// decode reads a part, or several in a row, and returns its entries and the ids of
// the batches.
func decode(body []byte) (batches []string, entries []store.Entry, err error) {
	first := true
	for line := range bytes.Lines(body) {
		whole, ok := bytes.CutSuffix(line, []byte("\n"))
		if !ok {
			return nil, nil, fmt.Errorf("%w: a part is cut off", store.ErrDamaged)
		}
		if mark, ok := bytes.CutPrefix(whole, []byte(packMark)); ok || first {
			var h header
			if err := json.Unmarshal(mark, &h); err != nil {
				return nil, nil, fmt.Errorf("%w: a part begins with %.40q", store.ErrDamaged, whole)
			}
			batches, first = append(batches, h.Batch), false
			continue
		}
		entries = append(entries, bytes.Clone(whole))
	}
	if first {
		return nil, nil, fmt.Errorf("%w: a part is empty", store.ErrDamaged)
	}
	return batches, entries, nil
}

// packMark stands before the header of each part in a pack but the first. An entry
// begins with a brace.
const packMark = "-"

// parts lists the parts of a transcript after a number: the pack if there is one
// that reaches beyond it, and the parts that it does not have.
func (s *Store) parts(ctx context.Context, k store.Key, after int64) (names []string, last int64, err error) {
	last = after
	var numbers []int64
	pack := int64(0)
	for o, err := range s.list(ctx, folder(k), "") {
		if err != nil {
			return nil, 0, err
		}
		base := strings.TrimPrefix(*o.Key, folder(k))
		if n, ok := strings.CutPrefix(base, "pack-"); ok {
			pack, _ = strconv.ParseInt(n, 10, 64) // the last is the largest; 0 is none
		} else if n, err := strconv.ParseInt(base, 10, 64); err == nil {
			numbers = append(numbers, n)
		}
	}
	if pack > after {
		names = append(names, packName(k, pack))
		last = pack
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		if n <= last {
			continue
		}
		if n != last+1 {
			return nil, 0, fmt.Errorf("%w: part %d is missing", store.ErrDamaged, last+1)
		}
		names = append(names, partName(k, n))
		last = n
	}
	return names, last, nil
}

// ahead is how many parts are fetched at once.
const ahead = 8

// fetch yields the bodies of objects in their order, some ahead.
func (s *Store) fetch(ctx context.Context, names []string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		type answer struct {
			object
			err error
		}
		answers := make([]chan answer, len(names))
		ask := func(i int) {
			if i < len(names) {
				answers[i] = make(chan answer, 1)
				go func() {
					o, err := s.get(ctx, names[i])
					answers[i] <- answer{o, err}
				}()
			}
		}
		for i := range ahead {
			ask(i)
		}
		for i := range names {
			a := <-answers[i]
			ask(i + ahead)
			if !yield(a.body, a.err) {
				return
			}
		}
	}
}

// Compact writes the parts of a transcript as one, so that it loads with few
// requests. It may run concurrently with everything else; the next run
// completes what a crash left behind. A transcript of few parts is left as it
// is.
func (s *Store) Compact(ctx context.Context, k store.Key) error {
	if err := k.Check(); err != nil {
		return err
	}
	names, last, err := s.parts(ctx, k, 0)
	if err != nil || len(names) < 2 {
		return fail(k, err)
	}
	var out []byte
	for body, err := range s.fetch(ctx, names) {
		if err == nil && len(body) == 0 || errors.Is(err, store.ErrNotFound) {
			return nil // somebody else compacts it, or has deleted it
		}
		if err != nil {
			return fail(k, err)
		}
		if len(out) > 0 {
			out = append(out, packMark...)
		}
		out = append(out, body...)
	}
	if err := s.put(ctx, packName(k, last), out, ""); err != nil && !errors.Is(err, errTaken) {
		return fail(k, err)
	}
	for _, name := range names {
		if strings.HasPrefix(strings.TrimPrefix(name, folder(k)), "pack-") {
			err = s.remove(ctx, name)
		} else {
			err = s.put(ctx, name, nil, "*") // empty: its name stays taken
		}
		if err != nil {
			return fail(k, err)
		}
	}
	return nil
}
