package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

func listings() []contract {
	return []contract{
		{"sessions of the project, the last modified first", listNewestFirst},
		{"an unknown project is empty", listUnknown},
		{"sub-agents are not sessions", listWithoutSubs},
		{"many sessions", listMany},
		{"bad projects and ended contexts", listRefused},
	}
}

func subListings() []contract {
	return []contract{
		{"those of the session, in order", subsInOrder},
		{"an unknown session has none", subsUnknown},
	}
}

func summaries() []contract {
	return []contract{
		{"the fold of all entries", summaryIsFold},
		{"as many as sessions, in their order, at their times", summariesAsListed},
		{"gone with the session", summaryDeleted},
		{"what a caller does to its bytes changes nothing", summaryOwnBytes},
	}
}

func listNewestFirst(s *subject) {
	a, b, c := s.session(), s.session(), s.session()
	other := store.Key{Project: s.project + "-b", Session: uuid.New()}
	begin := time.Now().Add(-time.Minute)
	for _, k := range []store.Key{a, b, c, other} {
		s.append(k, line("1"))
		s.tick()
	}
	s.append(a, line("2"))
	if got, want := s.ids(s.again(), s.project), []string{a.Session, c.Session, b.Session}; !slices.Equal(got, want) {
		s.t.Errorf("List = %q, want %q", got, want)
	}
	if got := s.ids(s.Fleet, other.Project); !slices.Equal(got, []string{other.Session}) {
		s.t.Errorf("the other project: %q", got)
	}
	for _, item := range collect(s.t, s.Fleet.List(s.t.Context(), s.project)) {
		if item.Modified.Before(begin) || item.Modified.After(time.Now().Add(time.Minute)) {
			s.t.Errorf("modified %v", item.Modified)
		}
	}
}

func listUnknown(s *subject) {
	if got := s.ids(s.Fleet, s.project); len(got) != 0 {
		s.t.Errorf("List = %q", got)
	}
}

func listWithoutSubs(s *subject) {
	k := s.session()
	k.Sub = "subagents/agent-1"
	s.append(k, line("a"))
	s.append(s.session()) // nothing
	if got := s.ids(s.Fleet, s.project); len(got) != 0 {
		s.t.Errorf("List = %q", got)
	}
	s.append(k.Main(), line("a"))
	if got := s.ids(s.Fleet, s.project); !slices.Equal(got, []string{k.Session}) {
		s.t.Errorf("List = %q", got)
	}
}

func listMany(s *subject) {
	var want []string
	for range 150 {
		k := s.session()
		s.append(k, line("a"))
		want = append(want, k.Session)
	}
	got := s.ids(s.Fleet, s.project)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		s.t.Errorf("%d sessions, want %d", len(got), len(want))
	}
}

func listRefused(s *subject) {
	l := s.Fleet
	if err := lastError(l.List(s.t.Context(), "../x")); err == nil {
		s.t.Error("a bad project is listed")
	}
	s.append(s.session(), line("a"))
	if err := lastError(l.List(ended(s.t), s.project)); err == nil {
		s.t.Error("a list with a context that has ended")
	}
}

func subsInOrder(s *subject) {
	k, other := s.session(), s.session()
	s.append(k, line("a"))
	for _, sub := range []string{"subagents/agent-2", "subagents/agent-1", "subagents/workflows/w/agent-3", "subagents"} {
		s.append(store.Key{Project: k.Project, Session: k.Session, Sub: sub}, line("a"))
	}
	s.append(store.Key{Project: k.Project, Session: other.Session, Sub: "subagents/agent-9"}, line("a"))
	list := s.again()
	got := collect(s.t, list.Subagents(s.t.Context(), k.Project, k.Session))
	if want := []string{"subagents", "subagents/agent-1", "subagents/agent-2", "subagents/workflows/w/agent-3"}; !slices.Equal(got, want) {
		s.t.Errorf("Subagents = %q, want %q", got, want)
	}
}

func subsUnknown(s *subject) {
	k := s.session()
	s.append(k, line("a"))
	list := s.Fleet
	for _, session := range []string{k.Session, uuid.New()} {
		if got := collect(s.t, list.Subagents(s.t.Context(), k.Project, session)); len(got) != 0 {
			s.t.Errorf("Subagents = %q", got)
		}
	}
	if err := lastError(list.Subagents(s.t.Context(), k.Project, "../x")); err == nil {
		s.t.Error("a bad session is listed")
	}
}

func summaryIsFold(s *subject) {
	k := s.session()
	var entries []store.Entry
	for i := range 12 {
		lines := []string{said(fmt.Sprint("u", i), fmt.Sprint("prompt ", i)), fmt.Sprintf(`{"type":"custom-title","customTitle":"title %d"}`, i), said(fmt.Sprint("u", i), "again")}
		s.append(k, lines...)
		entries = append(entries, store.Entry(lines[0]), store.Entry(lines[1]))
		if i%4 != 0 {
			continue
		}
		got := collect(s.t, s.Fleet.List(s.t.Context(), s.project))
		if len(got) != 1 || got[0].Session != k.Session || !bytes.Equal(got[0].Data, storeimpl.Fold(nil, entries...)) {
			s.t.Fatalf("after %d batches: %q\nwant %s", i+1, got, storeimpl.Fold(nil, entries...))
		}
	}
	got := collect(s.t, s.again().List(s.t.Context(), s.project))
	if len(got) != 1 || !bytes.Contains(got[0].Data, []byte("title 11")) || !bytes.Contains(got[0].Data, []byte("prompt 0")) || bytes.Contains(got[0].Data, []byte("again")) {
		s.t.Fatalf("summaries %q", got)
	}
}

func summariesAsListed(s *subject) {
	a, b := s.session(), s.session()
	s.append(a, said("1", "one"))
	s.tick()
	s.append(b, said("1", "two"))
	sub := b
	sub.Sub = "subagents/agent-1"
	s.tick()
	s.append(sub, said("2", "not a prompt of the session"))
	got := collect(s.t, s.Fleet.List(s.t.Context(), s.project))
	if len(got) != 2 || got[0].Session != b.Session || got[1].Session != a.Session || strings.Contains(string(got[0].Data), "not a prompt") {
		s.t.Fatalf("summaries %q", got)
	}
}

func summaryDeleted(s *subject) {
	k := s.session()
	s.append(k, said("1", "one"))
	if err := s.Delete(s.t.Context(), k, store.Fence{}); err != nil {
		s.t.Fatal(err)
	}
	if got := collect(s.t, s.Fleet.List(s.t.Context(), s.project)); len(got) != 0 {
		s.t.Errorf("summaries %q", got)
	}
}

// said is an entry with a prompt.
func said(id, text string) string {
	return fmt.Sprintf(`{"parentUuid":null,"type":"user","message":{"role":"user","content":%q},"uuid":%q,"timestamp":"2026-01-02T03:04:05.678Z","cwd":"/work","gitBranch":"main"}`, text, id)
}

// noSummaries are the promises of a store that keeps none.
func noSummaries() []contract {
	return []contract{{"a session is listed without a summary", func(s *subject) {
		k := s.session()
		s.append(k, said("1", "one"))
		if got := collect(s.t, s.List(s.t.Context(), s.project)); len(got) != 1 || got[0].Session != k.Session || got[0].Data != nil {
			s.t.Errorf("List = %q", got)
		}
	}}}
}

// summaryOwnBytes overwrites a summary that it was given: it is the caller's, and the store
// keeps its own, for those who list and for the entries that are still to come.
func summaryOwnBytes(s *subject) {
	k := s.session()
	s.append(k, said("1", "one"))
	for range 2 {
		for _, sum := range collect(s.t, s.Fleet.List(s.t.Context(), s.project)) {
			for i := range sum.Data {
				sum.Data[i] = 'x'
			}
		}
	}
	s.append(k, said("2", "two"))
	want := storeimpl.Fold(nil, collect(s.t, store.Entries(s.t.Context(), s, k))...)
	if got := collect(s.t, s.Fleet.List(s.t.Context(), s.project)); len(got) != 1 || !bytes.Equal(got[0].Data, want) {
		s.t.Errorf("summaries %q, want %q", got, want)
	}
}
