package store

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/store/internal/rule"
)

// recordSet is the records of one project in the order of their kinds and names. The zero
// set is empty. It is not safe for concurrent use.
type recordSet struct {
	records map[RecordKey]Record
	names   map[string][]string // by kind, sorted
	loading bool                // the names are left out until order is called
}

// put makes or changes a record.
func (s *recordSet) put(r Record) {
	if s.records == nil {
		s.records, s.names = make(map[RecordKey]Record), make(map[string][]string)
	}
	if _, there := s.records[r.Key]; !there && !s.loading {
		names := s.names[r.Key.Kind]
		at, _ := slices.BinarySearch(names, r.Key.Name)
		s.names[r.Key.Kind] = slices.Insert(names, at, r.Key.Name)
	}
	s.records[r.Key] = r
}

// order sorts the names of a set that was loading. To insert them one by one costs the
// square of their number.
func (s *recordSet) order() {
	s.loading = false
	for k := range s.records {
		s.names[k.Kind] = append(s.names[k.Kind], k.Name)
	}
	for _, names := range s.names {
		slices.Sort(names)
	}
}

// drop removes a record.
func (s *recordSet) drop(k RecordKey) {
	delete(s.records, k)
	names := s.names[k.Kind]
	if at, ok := slices.BinarySearch(names, k.Name); ok {
		s.names[k.Kind] = slices.Delete(names, at, at+1)
	}
}

// fits returns an error if a change is not based on what there is.
func (s *recordSet) fits(c RecordChange) error {
	r, there := s.records[c.Key]
	switch {
	case c.Drop && !there:
		return fmt.Errorf("claude: store: record %v: %w", c.Key, ErrNotFound)
	case r.Revision != c.Revision:
		return fmt.Errorf("claude: store: record %v: %w", c.Key, ErrConflict)
	case c.IfEmpty != "" && s.holds(c.Key.Kind, c.IfEmpty):
		return fmt.Errorf("claude: store: record %v: folder %s is not empty: %w", c.Key, c.IfEmpty, ErrConflict)
	}
	return nil
}

// holds reports whether a folder has records, those further below left out.
func (s *recordSet) holds(kind, folder string) bool {
	names := s.names[kind]
	at, _ := slices.BinarySearch(names, folder+"/")
	for _, name := range names[at:] {
		below, ok := strings.CutPrefix(name, folder+"/")
		if !ok || !strings.Contains(below, "/") {
			return ok
		}
	}
	return false
}

// after returns up to most records of a folder that come after a name, in order. Their
// values are shared with the set: it replaces values and never changes them.
func (s *recordSet) after(f Folder, name string, most int) []Record {
	below := ""
	if f.Name != "" {
		below = f.Name + "/"
	}
	names := s.names[f.Kind]
	at, found := slices.BinarySearch(names, max(name, below))
	if found {
		at++
	}
	var page []Record
	for _, name := range names[at:] {
		if !strings.HasPrefix(name, below) || len(page) == most {
			break
		}
		page = append(page, s.records[RecordKey{f.Project, f.Kind, name}])
	}
	return page
}

// view returns the records that a view asks for.
func (s *recordSet) view(v View) ([]Record, error) {
	var all []Record
	for _, k := range v.Keys {
		if r, ok := s.records[k]; ok {
			all = append(all, r)
		}
	}
	for _, f := range v.Folders {
		all = append(all, s.after(f, "", MaxViewed+1)...) // one more is too large
	}
	all = ordered(all)
	size := 0
	for _, r := range all {
		size += len(r.Value)
	}
	if len(all) > MaxViewed || size > MaxViewedBytes {
		return nil, fmt.Errorf("claude: store: %w: it has more than %d records or %d bytes", ErrTooLarge, MaxViewed, MaxViewedBytes)
	}
	for i := range all {
		all[i].Value = bytes.Clone(all[i].Value)
	}
	return all, nil
}

// ordered puts records of a project into the order of a view, each once.
func ordered(all []Record) []Record {
	return rule.Ordered(all, func(r Record) (kind, name string) { return r.Key.Kind, r.Key.Name })
}

// scanPage is how many records a scan takes at a time: most scans want a few.
const scanPage = 100

// scan is Scan of [Records]. read calls a function with the records of the folder's project,
// and is asked again for each page.
func scan(ctx context.Context, f Folder, after string, read func(func(*recordSet) error) error) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if err := f.Check(); err != nil {
			yield(Record{}, err)
			return
		}
		for {
			var page []Record
			err := cmp.Or(ctx.Err(), read(func(set *recordSet) error {
				page = set.after(f, after, scanPage)
				return nil
			}))
			if err != nil {
				yield(Record{}, err)
				return
			}
			for _, r := range page {
				r.Value = bytes.Clone(r.Value)
				if !yield(r, nil) {
					return
				}
				after = r.Key.Name
			}
			if len(page) < scanPage {
				return
			}
		}
	}
}
