package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// inputs are promises about odd and bad input, of whatever a store can do.
func inputs() []contract {
	return []contract{
		{"bad names are refused with the same error by every store", badNames},
		{"uuids of every kind", oddUUIDs},
		{"the largest entry", largestEntry},
		{"a batch of many entries", largeBatch},
		{"the longest names", longestNames},
	}
}

// tricks are texts that some layer of a store might take for something else.
func tricks() map[string]string {
	return map[string]string{
		"traversal":        "../../etc/passwd",
		"dots":             "..",
		"dot":              ".",
		"hidden":           ".ssh",
		"absolute":         "/etc/passwd",
		"backslash":        `..\..\x`,
		"drive":            `C:\x`,
		"NUL":              "a\x00b",
		"line feed":        "a\nb",
		"escape":           "a\x1b[2Jb",
		"blank":            "a b",
		"10 KB":            strings.Repeat("a", 10<<10),
		"invalid UTF-8":    "a\xffb",
		"accent":           "é",
		"combining accent": "e\u0301",
		"full-width":       "ａ",
		"Cyrillic":         "а",
		"ligature":         "ﬁ",
		"zero width":       "a\u200bb",
		"right to left":    "a\u202eb",
		"full-width dots":  "．．／x",
		"Kelvin sign":      "\u212a",
		"quote":            "a'; drop table claude_entries; --",
		"wildcard":         "a*?[b]",
		"braces":           "a}{b",
		"percent":          "a%2e%2e%2fb",
		"dash":             "-rf",
	}
}

// badNames makes every call with every trick in every place. Each must fail with
// the error that a store in memory has: a *KeyError that names the place.
func badNames(s *subject) {
	plain := store.Memory()
	good := s.session()
	for what, bad := range tricks() {
		for call, do := range calls(s, good, bad) {
			got, want := do(s.Fleet), do(plain)
			if errors.Is(got, errors.ErrUnsupported) {
				continue // an ability that it does not have
			}
			if _, ok := errors.AsType[*store.KeyError](got); !ok || got.Error() != want.Error() {
				s.t.Errorf("%s, %s: %v\nwant %v", call, what, got, want)
			}
			if got != nil && len(got.Error()) > 400 {
				s.t.Errorf("%s, %s: an error of %d bytes", call, what, len(got.Error()))
			}
		}
	}
}

// calls are the calls of a store with a bad text in each place.
func calls(s *subject, good store.Key, bad string) map[string]func(store.Fleet) error {
	ctx := s.t.Context()
	project, session, sub := good, good, good
	project.Project, session.Session, sub.Sub = bad, bad, "a/"+bad
	fence := store.Fence{Project: good.Project, Name: bad, Token: 1}
	lease := store.Lease{Fence: fence, Owner: "o", TTL: time.Minute}
	record := store.RecordKey{Project: good.Project, Kind: "k", Name: "n"}
	kind, name, elsewhere := record, record, record
	kind.Kind, name.Name, elsewhere.Project = bad, bad, bad
	out := map[string]func(store.Fleet) error{
		"Append, batch":  func(s store.Fleet) error { return s.Append(ctx, good, batch(bad, line("a"))) },
		"Append, fence":  func(s store.Fleet) error { return s.Append(ctx, good, store.Batch{Fence: fence}) },
		"List":           func(s store.Fleet) error { return lastError(s.List(ctx, bad)) },
		"Subagents":      func(s store.Fleet) error { return lastError(s.Subagents(ctx, good.Project, bad)) },
		"Delete, fence":  func(s store.Fleet) error { return s.Delete(ctx, good, fence) },
		"Acquire":        func(s store.Fleet) error { _, err := s.Acquire(ctx, good.Project, bad, "o", time.Minute); return err },
		"Acquire, where": func(s store.Fleet) error { _, err := s.Acquire(ctx, bad, "n", "o", time.Minute); return err },
		"Renew":          func(s store.Fleet) error { return s.Renew(ctx, lease) },
		"Release":        func(s store.Fleet) error { return s.Release(ctx, lease) },
		"Scan": func(s store.Fleet) error {
			return lastError(s.Scan(ctx, store.Folder{Project: good.Project, Kind: bad}, ""))
		},
		"PutRecord, fence": func(s store.Fleet) error {
			_, err := store.Put(ctx, s, record, nil, 0, fence)
			return err
		},
		"DropRecord, fence": func(s store.Fleet) error { return store.Drop(ctx, s, record, 1, fence) },
	}
	for what, k := range map[string]store.Key{"project": project, "session": session, "sub": sub} {
		out["Append, "+what] = func(s store.Fleet) error { return s.Append(ctx, k, batch("", line("a"))) }
		out["Load, "+what] = func(s store.Fleet) error { return lastError(store.Entries(ctx, s, k)) }
		out["Delete, "+what] = func(s store.Fleet) error { return s.Delete(ctx, k, store.Fence{}) }
	}
	for what, k := range map[string]store.RecordKey{"project": elsewhere, "kind": kind, "name": name} {
		out["GetRecord, "+what] = func(s store.Fleet) error { _, err := store.Get(ctx, s, k); return err }
		out["PutRecord, "+what] = func(s store.Fleet) error { _, err := store.Put(ctx, s, k, nil, 0, store.Fence{}); return err }
		out["DropRecord, "+what] = func(s store.Fleet) error { return store.Drop(ctx, s, k, 1, store.Fence{}) }
	}
	return out
}

// oddUUIDs wants entries to be told apart by their uuids, whatever these are.
func oddUUIDs(s *subject) {
	k := s.session()
	huge := strings.Repeat("x", 1<<20)
	var lines []string
	for _, id := range []string{`a\u0000b`, `a\u0000c`, `\u0000`, huge, huge + "y", "'", `\\`, "%", "é", `\u00e9 `, "A", "a", " a", strings.Repeat("z", 64), strings.Repeat("z", 65)} {
		lines = append(lines, `{"uuid":"`+id+`"}`)
	}
	s.append(k, lines...)
	again := s.again()
	for _, h := range []store.Fleet{s.Fleet, again} {
		if err := h.Append(s.t.Context(), k, batch("", lines...)); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := again.Append(s.t.Context(), k, batch("", `{"uuid":"\u0061"}`)); err != nil { // "a" in another form
		s.t.Fatal(err)
	}
	s.wants(s, k, lines...)
}

func largestEntry(s *subject) {
	k := s.session()
	const head, tail = `{"uuid":"big","pad":"`, `"}`
	e := bytes.Repeat([]byte("x"), store.MaxEntry+len(tail))[:store.MaxEntry] // with room for one that is too large
	copy(e, head)
	copy(e[len(e)-len(tail):], tail)
	if err := s.Append(s.t.Context(), k, store.Batch{Entries: []store.Entry{store.Entry(line("a")), e, store.Entry(line("b"))}}); err != nil {
		s.t.Fatalf("%.300v", err)
	}
	got := collect(s.t, store.Entries(s.t.Context(), s.again(), k))
	if len(got) != 3 || !bytes.Equal(got[1], e) || string(got[2]) != line("b") {
		s.t.Fatalf("%d entries came back, or others", len(got))
	}
	e[len(e)-2] = 'x'
	err := s.Append(s.t.Context(), k, store.Batch{Entries: []store.Entry{append(e, tail...)}})
	s.wantsError("an entry that is too large", err, store.ErrInvalid)
}

func largeBatch(s *subject) {
	k := s.session()
	note := `{"type":"tag","tag":"x"}`
	b := store.Batch{ID: "large"}
	var want []string
	for i := range 2500 {
		l := line(fmt.Sprint(i))
		want = append(want, l, note)
		b.Entries = append(b.Entries, store.Entry(l), store.Entry(note), store.Entry(l))
	}
	for _, h := range []store.Fleet{s.Fleet, s.again(), s.Fleet} {
		if err := h.Append(s.t.Context(), k, b); err != nil {
			s.t.Fatal(err)
		}
	}
	s.wants(s.again(), k, want...)
}

func longestNames(s *subject) {
	part := strings.Repeat("N", 120)
	long := part + strings.Repeat("/"+part, 7)
	k := s.session()
	k.Project += strings.Repeat("P", 120-len(k.Project))
	k.Sub = long
	s.append(k, line("a"))
	s.wants(s.again(), k, line("a"))
	lease, err := s.Fleet.Acquire(s.t.Context(), k.Project, long, strings.Repeat("o", 1000), time.Minute)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.Append(s.t.Context(), k, fenced(lease, line("b"))); err != nil {
		s.t.Error(err)
	}
	r := s.Fleet
	var names []string
	for _, name := range []string{"a", long, strings.Replace(long, "N/", "M/", 1), "z"} {
		s.put(r, store.RecordKey{Project: k.Project, Kind: part, Name: name}, name, 0)
		names = append(names, name)
	}
	for rec := range s.sorted(r, k.Project, part, names) {
		got, err := store.Get(s.t.Context(), s.again(), rec.Key)
		if err != nil || string(got.Value) != rec.Key.Name {
			s.t.Errorf("GetRecord = %.300v, %.300v", got, err)
		}
	}
}
