package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// transcripts are the promises of every store.
func transcripts() []contract {
	return []contract{
		{"entries come back in order", order},
		{"what was never stored is not found", notFound},
		{"batches are in the order of the calls", orderOfBatches},
		{"a batch of nothing makes no transcript", emptyBatch},
		{"sub-agents are apart", subsApart},
		{"projects are apart", projectsApart},
		{"a batch that is sent again is stored once", batchAgain},
		{"the id of a batch counts in its transcript only", batchElsewhere},
		{"entries with a uuid are stored once", uuidAgain},
		{"entries without a uuid are stored as often as they come", noUUID},
		{"bytes come back as they went in", bytesKept},
		{"many writers lose nothing", manyWriters},
		{"what was stored is known beside many others", manyTranscripts},
		{"a batch is stored whole or not at all when its context ends", cancelled},
		{"an ended context stores nothing", endedContext},
		{"a loop can be left", loopLeft},
		{"a loop sees what was there when it began", loopSnapshot},
		{"entries belong to the caller", ownership},
		{"names of every form", names},
		{"bad keys", badKeys},
		{"bad entries", badEntries},
	}
}

// manyWriters lets writers append to one transcript at once, each through its own
// handle. Nothing is lost, and the lines of each are in their order.
func manyWriters(s *subject) {
	const writers, batches = 8, 12
	k := s.session()
	handles := make([]store.Fleet, writers)
	for i := range handles {
		handles[i] = s.again()
	}
	var wg sync.WaitGroup
	for w, h := range handles {
		wg.Go(func() {
			for i := range batches {
				b := batch(storeimpl.NewBatchID(), line(fmt.Sprintf("%d-%d-1", w, i)), line(fmt.Sprintf("%d-%d-2", w, i)), line("shared"))
				if err := h.Append(s.t.Context(), k, b); err != nil {
					s.t.Errorf("writer %d: %v", w, err)
				}
			}
		})
	}
	wg.Wait()
	got := collect(s.t, store.Entries(s.t.Context(), s.again(), k))
	if len(got) != 2*writers*batches+1 {
		s.t.Fatalf("%d entries, want %d", len(got), 2*writers*batches+1)
	}
	at := make(map[string]int)
	for i, e := range got {
		at[e.UUID()] = i
	}
	for w := range writers {
		last := -1
		for i := range batches {
			one, two := at[fmt.Sprintf("%d-%d-1", w, i)], at[fmt.Sprintf("%d-%d-2", w, i)]
			gap := two - one
			if one < last || gap < 1 || gap > 2 { // "shared" may stand between other batches only
				s.t.Fatalf("writer %d: batch %d is at %d and %d, the one before ended at %d", w, i, one, two, last)
			}
			last = two
		}
	}
}

// cancelled ends contexts at moments all over an append. Whatever Append returns,
// the batch is stored whole or not at all, and can be sent again.
func cancelled(s *subject) {
	k := s.session()
	var want []string
	var took time.Duration // of an undisturbed append
	for i := range 40 {
		b := store.Batch{ID: fmt.Sprint("b", i)}
		var lines []string
		for j := range 20 {
			lines = append(lines, line(fmt.Sprintf("%d-%d", i, j)))
		}
		b.Entries = batch("", lines...).Entries
		begin := time.Now()
		if i > 0 {
			ctx, cancel := context.WithTimeout(s.t.Context(), took*time.Duration(i)/20)
			err := s.Append(ctx, k, b)
			cancel()
			var got []string
			for _, e := range collect(s.t, store.Entries(s.t.Context(), s, k)) {
				got = append(got, string(e))
			}
			whole := slices.Concat(want, lines)
			if !slices.Equal(got, whole) && (err == nil || !slices.Equal(got, want)) {
				s.t.Fatalf("Append = %v, but %d entries are there; want %d or %d", err, len(got), len(want), len(whole))
			}
		}
		if err := s.Append(s.t.Context(), k, b); err != nil {
			s.t.Fatal(err)
		}
		if i == 0 {
			took = time.Since(begin)
		}
		want = append(want, lines...)
	}
	s.wants(s, k, want...)
}

// names uses keys with all that a key may have.
func names(s *subject) {
	var all strings.Builder
	for c := byte('!'); c <= '~'; c++ {
		if store.CheckProject("a"+string(c)) == nil {
			all.WriteByte(c)
		}
	}
	if all.Len() != 26+26+10+len("-_.@+=:,~") {
		s.t.Fatalf("characters of a name: %q", all.String())
	}
	long := s.project + strings.Repeat("X", 120-len(s.project))
	for _, project := range []string{s.project + all.String(), long, s.project + ".jsonl", "con." + s.project} {
		k := s.session()
		k.Project = project
		s.append(k, line("main"))
		k.Session = strings.ToUpper(k.Session)
		s.append(k, line("upper"))
		k.Session = strings.ToLower(k.Session)
		for _, sub := range []string{all.String(), "a/b/c/d/e/f/g/h", "subagents", "subagents/agent-1", "subagents.jsonl", "nul", long} {
			k.Sub = strings.TrimLeft(sub, "-_.@+=:,~")
			s.append(k, line(k.Sub))
			s.wants(s.again(), k, line(k.Sub))
		}
		k.Sub = ""
		s.wants(s, k, line("main"))
	}
}

// badKeys wants invalid keys to be refused before anything is touched.
func badKeys(s *subject) {
	good := s.session()
	keys := map[string]store.Key{
		"no project":           {Session: good.Session},
		"no session":           {Project: good.Project},
		"traversal in project": {Project: "..", Session: good.Session},
		"slash in project":     {Project: "a/b", Session: good.Session},
		"backslash":            {Project: `a\b`, Session: good.Session},
		"hidden":               {Project: ".a", Session: good.Session},
		"absolute":             {Project: "/a", Session: good.Session},
		"NUL":                  {Project: "a\x00b", Session: good.Session},
		"control character":    {Project: "a\nb", Session: good.Session},
		"not ASCII":            {Project: "é", Session: good.Session},
		"other letters":        {Project: "а", Session: good.Session}, // Cyrillic
		"invalid UTF-8":        {Project: "a\xff", Session: good.Session},
		"long":                 {Project: strings.Repeat("a", 10<<10), Session: good.Session},
		"session not a UUID":   {Project: good.Project, Session: "../" + good.Session},
		"session with more":    {Project: good.Project, Session: good.Session + "/x"},
		"traversal in sub":     {Project: good.Project, Session: good.Session, Sub: "subagents/../../x"},
		"absolute sub":         {Project: good.Project, Session: good.Session, Sub: "/subagents/a"},
		"empty part":           {Project: good.Project, Session: good.Session, Sub: "a//b"},
		"trailing slash":       {Project: good.Project, Session: good.Session, Sub: "a/"},
		"drive":                {Project: good.Project, Session: good.Session, Sub: `C:\x`},
		"too deep":             {Project: good.Project, Session: good.Session, Sub: "a/b/c/d/e/f/g/h/i"},
	}
	for name, k := range keys {
		err := s.Append(s.t.Context(), k, batch("", line("a")))
		if _, ok := errors.AsType[*store.KeyError](err); !ok {
			s.t.Errorf("%s: Append = %v, want a *KeyError", name, err)
		}
		err = lastError(store.Entries(s.t.Context(), s, k))
		if _, ok := errors.AsType[*store.KeyError](err); !ok {
			s.t.Errorf("%s: Load = %v, want a *KeyError", name, err)
		}
	}
}

// badEntries wants batches with a bad entry to be refused whole.
func badEntries(s *subject) {
	k := s.session()
	for name, bad := range map[string]string{
		"nothing":     "",
		"text":        "hello",
		"an array":    "[1]",
		"a string":    `"x"`,
		"cut off":     `{"a":1`,
		"two":         `{}{}`,
		"two lines":   "{\"a\":\n1}",
		"a line feed": "{}\n",
	} {
		err := s.Append(s.t.Context(), k, batch("", line("a"), bad))
		s.wantsError(name, err, store.ErrInvalid)
	}
	err := s.Append(s.t.Context(), k, batch("../x", line("a")))
	if _, ok := errors.AsType[*store.KeyError](err); !ok {
		s.t.Errorf("a bad id: %v, want a *KeyError", err)
	}
	s.wantsNone(s, k)
}

func order(s *subject) {
	k := s.session()
	s.append(k, line("a"), `{"type":"tag","tag":"x"}`, line("b"))
	s.wants(s, k, line("a"), `{"type":"tag","tag":"x"}`, line("b"))
	s.wants(s.again(), k, line("a"), `{"type":"tag","tag":"x"}`, line("b"))
}

func notFound(s *subject) {
	k := s.session()
	s.wantsNone(s, k)
	s.append(k, line("a"))
	k.Sub = "subagents/agent-1"
	s.wantsNone(s, k)
}

func orderOfBatches(s *subject) {
	k := s.session()
	var want []string
	for i := range 50 {
		l := line(fmt.Sprintf("%03d", i))
		s.append(k, l)
		want = append(want, l)
	}
	s.wants(s.again(), k, want...)
}

func emptyBatch(s *subject) {
	k := s.session()
	s.append(k)
	s.wantsNone(s, k)
}

func subsApart(s *subject) {
	k := s.session()
	sub := k
	sub.Sub = "subagents/agent-1"
	deep := k
	deep.Sub = "subagents/workflows/w/agent-1"
	s.append(sub, line("a"))
	s.wantsNone(s, k)
	s.append(k, line("a"))
	s.append(deep, line("b"))
	s.wants(s, k, line("a"))
	s.wants(s, sub, line("a"))
	s.wants(s, deep, line("b"))
}

func projectsApart(s *subject) {
	k := s.session()
	other := k
	other.Project += "-b"
	upper := k
	upper.Project = strings.ToUpper(k.Project)
	s.append(k, line("a"))
	s.wantsNone(s, other)
	s.wantsNone(s, upper)
	s.append(other, line("b"))
	s.append(upper, line("c"))
	s.wants(s, k, line("a"))
	s.wants(s, other, line("b"))
	s.wants(s, upper, line("c"))
}

func batchAgain(s *subject) {
	k := s.session()
	one := batch("b1", line("a"), `{"type":"tag","tag":"x"}`)
	two := batch("b2", `{"type":"tag","tag":"x"}`, line("b"))
	for _, b := range []store.Batch{one, one, two, one, two} {
		if err := s.Append(s.t.Context(), k, b); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := s.again().Append(s.t.Context(), k, one); err != nil {
		s.t.Fatal(err)
	}
	s.wants(s, k, line("a"), `{"type":"tag","tag":"x"}`, `{"type":"tag","tag":"x"}`, line("b"))
}

func batchElsewhere(s *subject) {
	k, other := s.session(), s.session()
	for _, k := range []store.Key{k, other} {
		if err := s.Append(s.t.Context(), k, batch("b", line("a"))); err != nil {
			s.t.Fatal(err)
		}
	}
	s.wants(s, other, line("a"))
}

func uuidAgain(s *subject) {
	k := s.session()
	s.append(k, line("a"), line("b"), line("a"))
	s.append(k, line("b"), line("c"))
	s.wants(s, k, line("a"), line("b"), line("c"))
	if err := s.again().Append(s.t.Context(), k, batch("", line("a"), line("d"))); err != nil {
		s.t.Fatal(err)
	}
	s.wants(s, k, line("a"), line("b"), line("c"), line("d"))
}

func noUUID(s *subject) {
	k := s.session()
	note := `{"type":"custom-title","customTitle":"t"}`
	s.append(k, note, note)
	s.append(k, note)
	s.wants(s, k, note, note, note)
}

func bytesKept(s *subject) {
	k := s.session()
	lines := []string{
		`{"z":1,"a":{"y":2,"b":[3,1,2]},"uuid":"1"}`,
		`{"number":1.0,"big":12345678901234567890,"exp":1E+2,"uuid":"2"}`,
		`{"text":"\u00e9 é \ud83d\ude00 😀 \/ / \u0000","uuid":"3"}`,
		`{"twice":1,"twice":2,"uuid":"4"}`,
		`{"blank" : "kept", "uuid":"5"}`,
		`{"quote":"'; DROP TABLE entries; -- \\ \" % _ ` + "`" + ` $1 ?","uuid":"6"}`,
		`{"long":"` + strings.Repeat("x", 3<<20) + `","uuid":"7"}`,
		`{}`,
		`{"uuid":"8"} `,
		"{\"uuid\":\"9\"}\t",
	}
	s.append(k, lines...)
	s.wants(s.again(), k, lines...)
}

func endedContext(s *subject) {
	k := s.session()
	if err := s.Append(ended(s.t), k, batch("", line("a"))); err == nil {
		s.t.Error("Append works with a context that has ended")
	}
	s.wantsNone(s, k)
	s.append(k, line("a"))
	if err := lastError(store.Entries(ended(s.t), s, k)); !errors.Is(err, context.Canceled) {
		s.t.Errorf("Load with a context that has ended: %v", err)
	}
}

func loopLeft(s *subject) {
	k := s.session()
	s.append(k, line("a"), line("b"), line("c"))
	for range 3 {
		for e := range store.Entries(s.t.Context(), s, k) {
			if string(e) != line("a") {
				s.t.Fatalf("first entry %s", e)
			}
			break
		}
	}
	s.append(k, line("d"))
}

func loopSnapshot(s *subject) {
	k := s.session()
	s.append(k, line("a"), line("b"))
	n := 0
	for _, err := range store.Entries(s.t.Context(), s, k) {
		if err != nil {
			s.t.Fatal(err)
		}
		s.append(k, line(fmt.Sprint("new", n)))
		n++
	}
	if n != 2 {
		s.t.Errorf("the loop saw %d entries, want 2", n)
	}
}

func ownership(s *subject) {
	k := s.session()
	e := []byte(line("a"))
	if err := s.Append(s.t.Context(), k, store.Batch{Entries: []store.Entry{e}}); err != nil {
		s.t.Fatal(err)
	}
	clear(e)
	for got := range store.Entries(s.t.Context(), s, k) {
		clear(got)
	}
	s.wants(s, k, line("a"))
}

// manyTranscripts writes to so many transcripts at once that a store which
// remembers some of them forgets others. It still knows what it has stored.
func manyTranscripts(s *subject) {
	first := s.session()
	sub := first
	sub.Sub = "subagents/agent-1"
	keys := []store.Key{first, sub}
	for range 70 {
		keys = append(keys, s.session())
	}
	note := `{"type":"tag","tag":"x"}`
	for range 2 {
		var wg sync.WaitGroup
		for _, k := range keys {
			wg.Go(func() {
				if err := s.Append(s.t.Context(), k, batch("b1", line("a"), note)); err != nil {
					s.t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	for _, k := range keys {
		s.wants(s, k, line("a"), note)
	}
}
