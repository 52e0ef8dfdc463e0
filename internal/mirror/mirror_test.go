package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/store"
)

const session = "00000000-0000-4000-8000-000000000001"

var errFault = errors.New("fault")

// faulty is a store in memory whose calls fail with the error of fault.
type faulty struct {
	*store.MemoryStore
	mu    sync.Mutex
	fault func(op string) kind
	delay func(op string) // nil for none
}

// kind is how a call fails.
type kind int

const (
	none      kind = iota
	before         // nothing is done
	after          // it is done, and an error is returned
	hangs          // nothing is done until the context ends
	hangsDone      // it is done, but returns only when the context ends
	twice          // it is done twice
	late           // it is done, long after it has failed
)

func (f *faulty) call(ctx context.Context, op string, do func(context.Context) error) error {
	if f.delay != nil {
		f.delay(op)
	}
	f.mu.Lock()
	kind := f.fault(op)
	f.mu.Unlock()
	switch kind {
	case before:
		return errFault
	case after:
		return errors.Join(do(ctx), errFault)
	case hangs:
		<-ctx.Done()
		return ctx.Err()
	case hangsDone:
		err := do(ctx)
		<-ctx.Done()
		return errors.Join(err, ctx.Err())
	case twice:
		err := do(ctx)
		_ = do(ctx) // the reply to the first one comes
		return err
	case late:
		time.AfterFunc(30*time.Second, func() { _ = do(context.Background()) })
		return errFault
	}
	return do(ctx)
}

func (f *faulty) Append(ctx context.Context, k store.Key, b store.Batch) error {
	return f.call(ctx, "append", func(ctx context.Context) error { return f.MemoryStore.Append(ctx, k, b) })
}

func (f *faulty) Acquire(ctx context.Context, project, name, owner string, ttl time.Duration) (l store.Lease, err error) {
	err = f.call(ctx, "acquire", func(ctx context.Context) error {
		got, err := f.MemoryStore.Acquire(ctx, project, name, owner, ttl)
		if err == nil {
			l = got
		}
		return err
	})
	return l, err
}

func (f *faulty) Release(ctx context.Context, l store.Lease) error {
	return f.call(ctx, "release", func(ctx context.Context) error { return f.MemoryStore.Release(ctx, l) })
}

func (f *faulty) Renew(ctx context.Context, l store.Lease) error {
	return f.call(ctx, "renew", func(ctx context.Context) error { return f.MemoryStore.Renew(ctx, l) })
}

func noFault(string) kind { return none }

// frame is a frame of a session's transcript, or of a subagent's.
func frame(sub string, entries ...string) []byte {
	if sub != "" {
		sub = "/" + sub
	}
	return fmt.Appendf(nil, `{"type":"transcript_mirror","filePath":"/c/projects/-work/%s%s.jsonl","entries":[%s]}`, session, sub, strings.Join(entries, ","))
}

func load(t *testing.T, s store.Sessions, sub string) (lines []string) {
	t.Helper()
	for e, err := range store.Entries(context.Background(), s, store.Key{Project: "p", Session: session, Sub: sub}) {
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
		if err == nil {
			lines = append(lines, string(e))
		}
	}
	return lines
}

func config(s store.Sessions, journals string) Config {
	return Config{
		Store: s, Project: "p", Owner: "test", TTL: 30 * time.Second, GiveUp: time.Minute, Journals: journals,
		Log:         slog.New(slog.DiscardHandler),
		OnNotStored: func(store.Key, *store.NotStoredError) {}, OnLost: func(error) {},
	}
}

// A store that is slow gets what has come in the meantime at once.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		batches := 0
		s := &faulty{MemoryStore: store.Memory(), fault: noFault, delay: func(op string) {
			if op == "append" {
				batches++
				<-time.After(time.Second)
			}
		}}
		m := New(config(s, t.TempDir()))
		m.Start()
		for n := range 1200 {
			m.Put(frame("", fmt.Sprintf(`{"uuid":"%d"}`, n)))
			if n == 0 {
				<-time.After(gatherFor)
				synctest.Wait() // the first is on its way
			}
		}
		if err := m.Wait(t.Context(), m.Count()); err != nil {
			t.Error(err)
		}
		if batches != 1+3 { // of 500 at most
			t.Errorf("%d batches", batches)
		}
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if got := load(t, s, ""); len(got) != 1200 || got[1199] != `{"uuid":"1199"}` {
			t.Errorf("%d entries are stored", len(got))
		}
	})
}

// A store that ignores its context blocks no caller for long, and the entries
// that it may or may not have are in the journal, which every error names.
func TestDeafStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := &faulty{MemoryStore: store.Memory(), fault: noFault, delay: func(op string) {
			if op == "append" {
				<-release
			}
		}}
		cfg := config(s, t.TempDir())
		told := make(chan *store.NotStoredError, 1)
		cfg.OnNotStored = func(_ store.Key, err *store.NotStoredError) { told <- err }
		m := New(cfg)
		m.Start()
		m.Put(frame("", `{"uuid":"1"}`))
		begin := time.Now()
		err := m.Wait(t.Context(), 1)
		if !errors.Is(err, store.ErrNotStored) || time.Since(begin) != time.Minute {
			t.Errorf("Wait = %v after %v", err, time.Since(begin))
		}
		waited, _ := errors.AsType[*store.NotStoredError](err)
		for who, missing := range map[string]*store.NotStoredError{"Wait": waited, "OnNotStored": <-told} {
			if missing == nil || missing.Journal == "" {
				t.Errorf("%s names no journal: %v", who, missing)
			} else if text, err := os.ReadFile(missing.Journal); err != nil || !strings.Contains(string(text), "uuid") {
				t.Errorf("the journal of %s: %q, %v", who, text, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		begin = time.Now()
		err = m.Close(ctx)
		if took := time.Since(begin); took > 12*time.Second {
			t.Errorf("Close took %v", took)
		}
		close(release)
		synctest.Wait()
		missing, ok := errors.AsType[*store.NotStoredError](err)
		if !ok {
			t.Fatalf("Close = %v", err)
		}
		if n, err := store.ImportJournal(t.Context(), s, missing.Journal, store.Fence{}); n != 1 || err != nil {
			t.Errorf("ImportJournal = %d, %v", n, err)
		}
		if got := load(t, s, ""); len(got) != 1 {
			t.Errorf("stored %q", got)
		}
	})
}

// A lease that another owner has taken ends the mirror: by the renewal if
// no frame comes, and otherwise by the store's refusal. Entries that are not
// stored are kept.
func TestLeaseLost(t *testing.T) {
	for _, says := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			down := true
			s := &faulty{MemoryStore: store.Memory(), fault: func(op string) kind {
				if down && op != "acquire" {
					return before
				}
				return none
			}}
			cfg := config(s, t.TempDir())
			lost := make(chan error, 1)
			cfg.OnLost = func(err error) { lost <- err }
			m := New(cfg)
			if err := m.Acquire(t.Context(), session); err != nil {
				t.Fatal(err)
			}
			m.Start()
			if err := m.Owned(t.Context()); err != nil {
				t.Errorf("a lease that was just acquired is in doubt: %v", err)
			}
			<-time.After(28 * time.Second)
			doubt := make(chan error, 1)
			go func() { doubt <- m.Owned(t.Context()) }()
			<-time.After(32 * time.Second)
			if _, err := s.Acquire(t.Context(), "p", session, "another", time.Minute); err != nil {
				t.Fatal(err)
			}
			s.mu.Lock()
			down = false
			s.mu.Unlock()
			if says {
				m.Put(frame("", `{"uuid":"1"}`))
				if err := m.Wait(t.Context(), 1); !errors.Is(err, store.ErrLeaseLost) {
					t.Errorf("Wait = %v", err)
				}
			}
			if err := <-lost; !errors.Is(err, store.ErrLeaseLost) {
				t.Errorf("lost: %v", err)
			}
			if err := <-doubt; !errors.Is(err, store.ErrLeaseLost) {
				t.Errorf("a lease that could not be renewed: %v", err)
			}
			err := m.Close(t.Context())
			if missing, ok := errors.AsType[*store.NotStoredError](err); ok != says || says && (missing.Journal == "" || !errors.Is(err, store.ErrLeaseLost)) {
				t.Errorf("Close = %v", err)
			}
			if got := load(t, s, ""); len(got) > 0 {
				t.Errorf("stored %q", got)
			}
		})
	}
}

// A session that was deleted does not come back.
func TestDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := store.Memory()
		cfg := config(s, t.TempDir())
		lost := make(chan error, 1)
		cfg.OnLost = func(err error) { lost <- err }
		m := New(cfg)
		m.Start()
		if err := s.Delete(t.Context(), store.Key{Project: "p", Session: session}, store.Fence{}); err != nil {
			t.Fatal(err)
		}
		m.Put(frame("", `{"uuid":"1"}`))
		if err := <-lost; !errors.Is(err, store.ErrDeleted) {
			t.Errorf("lost: %v", err)
		}
		if err := m.Close(t.Context()); !errors.Is(err, store.ErrDeleted) {
			t.Errorf("Close = %v", err)
		}
	})
}

// Frames that cannot be read, and files that are not transcripts, are reported
// and do not block the others.
func TestBadFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := store.Memory()
		cfg := config(s, t.TempDir())
		reported := make(chan string, 10)
		cfg.OnNotStored = func(_ store.Key, err *store.NotStoredError) { reported <- err.Err.Error() }
		m := New(cfg)
		m.Start()
		for _, line := range []string{
			`{"type":"transcript_mirror","filePath":"/c/projects/-work/` + session + `.jsonl","entries":[{"a":}]}`,
			`{"type":"transcript_mirror","filePath":"/etc/passwd","entries":[{}]}`,
			`{"type":"transcript_mirror","filePath":"/c/projects/-work/` + session + `/../../x.jsonl","entries":[{}]}`,
			`{"type":"transcript_mirror","filePath":"/c/projects/-work/notes.jsonl","entries":[{}]}`,
			`{"type":"transcript_mirror","entries":[{}]}`,
			`{"type":"transcript_mirror","type":"user","filePath":"/c/projects/-work/` + session + `.jsonl","entries":[{}]}`,
			`{"type":"transcript_mirror","Type":"user","filePath":"/c/projects/-work/` + session + `.jsonl","entries":[{}]}`,
			`{"type":"transcript_mirror","filePath":"/c/projects/-work/` + session + `/subagents/agent-1.jsonl","entries":[17,"x",{"uuid":"0"},null]}`,
		} {
			m.Put([]byte(line))
		}
		m.Lose(errors.New("line too long"))
		m.Put(frame("subagents/agent-1", `{"uuid":"1"}`))
		if err := m.Wait(t.Context(), m.Count()); err != nil {
			t.Error(err)
		}
		if got, want := load(t, s, "subagents/agent-1"), []string{`{"uuid":"0"}`, `{"uuid":"1"}`}; !slices.Equal(got, want) {
			t.Errorf("stored %q, want %q", got, want)
		}
		if len(reported) != 9 {
			t.Errorf("%d frames were reported", len(reported))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := m.Close(ctx); !errors.Is(err, store.ErrNotStored) {
			t.Errorf("Close = %v", err)
		}
	})
}

// What the quick reader of frames accepts, the other one reads alike.
func FuzzFrame(f *testing.F) {
	f.Add(frame("", `{"uuid":"1"}`, `{"text":"\u2028 \ud83d\ude00 \\"}`))
	f.Add([]byte(`{"type":"transcript_mirror","filePath":null,"entries":[ {} , 1 ,"x"],"more":{"a":[{}]}}`))
	f.Add([]byte(`{"type":"transcript_mirror","Type":"user","entries":[{}]}`))
	f.Add([]byte(`{"entries":[{"a":1,"a":2}],"filePath":"\ud83d"}`))
	f.Add([]byte(`{"entries":[{}],"\u0065ntries":[1]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		path, lines, codes, err := usualFrame(line)
		if err != nil {
			return
		}
		for _, e := range lines {
			if !codes && !bytes.Equal(asInFile(e), e) {
				t.Errorf("%q: it is said that %q has no characters written as numbers", line, e)
			}
		}
		wantPath, want, err := anyFrame(line)
		if err != nil || path != wantPath || !slices.EqualFunc(lines, want, bytes.Equal) {
			t.Errorf("%q: %q and %q, want %q and %q, %v", line, path, lines, wantPath, want, err)
		}
	})
}

// Entries come out of a frame as they are in the file, whichever reader reads it.
func TestFrameAsInFile(t *testing.T) {
	for _, more := range []string{"", `,"\u0061":1`} { // the quick reader leaves such names to the other one
		line := []byte(`{"type":"transcript_mirror","filePath":"/c/projects/-repo/` + session + `.jsonl","entries":[{"a":"\"b\""},{"a":"\u2028"}]` + more + `}`)
		_, entries, err := readFrame(line, "p")
		if err != nil || len(entries) != 2 || string(entries[0]) != `{"a":"\"b\""}` || string(entries[1]) != "{\"a\":\"\u2028\"}" {
			t.Errorf("%s: %q, %v", line, entries, err)
		}
	}
}

func TestAsInFile(t *testing.T) {
	for escaped, want := range map[string]string{
		`{"a":"\u2028 \u2029 \u202a"}`: "{\"a\":\"\u2028 \u2029 \\u202a\"}",
		`{"a":"\\u2028 \\\u2028"}`:     "{\"a\":\"\\\\u2028 \\\\\u2028\"}",
		`{"a":"plain \\"}`:             `{"a":"plain \\"}`,
	} {
		if got := string(asInFile([]byte(escaped))); got != want {
			t.Errorf("%s becomes %s, want %s", escaped, got, want)
		}
	}
}

// While a store is down, entries wait in the journal and not in memory. When it is
// back, it gets all of them, in order.
func TestDownIsBounded(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		down := true
		s := &faulty{MemoryStore: store.Memory()}
		s.fault = func(op string) kind {
			if down && op == "append" {
				return before
			}
			return none
		}
		cfg := config(s, dir)
		cfg.GiveUp = -1
		m := New(cfg)
		m.Start()
		const frames, size = 60, 100 << 10 // six times what may be in memory
		pad := strings.Repeat("x", size)
		var want []string
		for i := range frames {
			want = append(want, fmt.Sprintf(`{"type":"user","uuid":"%d","pad":"%s"}`, i, pad))
			m.Put(frame("", want[i]))
			synctest.Wait()
			m.work.Lock()
			held := m.queue.held()
			m.work.Unlock()
			if held > maxBytes {
				t.Fatalf("%d bytes are in memory after %d frames", held, i+1)
			}
		}
		s.mu.Lock()
		down = false
		s.mu.Unlock()
		if err := m.Wait(t.Context(), m.Count()); err != nil {
			t.Fatal(err)
		}
		if err := m.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := load(t, s, ""); !slices.Equal(got, want) {
			t.Errorf("there are %d entries, want %d as they were", len(got), len(want))
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%v is left", left)
		}
	})
}

// A store that is slow, but takes everything, does not fill the memory either.
func TestSlowIsBounded(t *testing.T) {
	long.Test(t, "mirrors more than may be in memory; TestDownIsBounded is a smaller one")
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{MemoryStore: store.Memory(), fault: noFault}
		s.delay = func(op string) {
			if op == "append" {
				<-time.After(10 * time.Second)
			}
		}
		m := New(config(s, dir))
		m.Start()
		const frames, size = 40, 1 << 20 // of which the store takes four in the meantime
		pad := strings.Repeat("x", size)
		for i := range frames {
			m.Put(frame("", fmt.Sprintf(`{"type":"user","uuid":"%d","pad":"%s"}`, i, pad)))
			<-time.After(time.Second)
			synctest.Wait()
			m.work.Lock()
			held := m.queue.held()
			m.work.Unlock()
			if held > maxHeld+10*size { // what comes during a call
				t.Fatalf("%d bytes are in memory after %d frames", held, i+1)
			}
		}
		if err := m.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := load(t, s, ""); len(got) != frames {
			t.Errorf("there are %d entries, want %d", len(got), frames)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%v is left", left)
		}
	})
}

// A journal that cannot be read back, or that was changed while the store was
// down, is not stored as it is, and nothing is lost silently: the error gives the
// reason.
func TestJournalSpoiled(t *testing.T) {
	tests := map[string]struct {
		spoil func(text string) string
		want  error
		says  string
	}{
		"emptied": {func(string) string { return "" }, store.ErrNotStored, "journal cannot be read"},
		"changed": {func(text string) string {
			return strings.Replace(text, `"uuid":"1"}`+"\n", `"uuid":""}`+"\n\n", 1)
		}, store.ErrDamaged, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) { playSpoiled(t, dir, test.spoil, test.want, test.says) })
		})
	}
}

// playSpoiled takes a store down, spoils the journal, and lets the store work again.
func playSpoiled(t *testing.T, dir string, spoil func(string) string, want error, says string) {
	down := true
	s := &faulty{MemoryStore: store.Memory()}
	s.fault = func(op string) kind {
		if down && op == "append" {
			return before
		}
		return none
	}
	m := New(config(s, dir))
	m.Start()
	for i := range 3 {
		m.Put(frame("", fmt.Sprintf(`{"type":"user","uuid":"%d"}`, i)))
		if i == 0 {
			<-time.After(gatherFor) // the others go to the journal at once
		}
		synctest.Wait()
	}
	files, _ := os.ReadDir(dir)
	if len(files) != 1 {
		t.Fatalf("the journals are %v", files)
	}
	name := dir + "/" + files[0].Name()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(spoil(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	down = false
	s.mu.Unlock()
	if err := m.Wait(t.Context(), m.Count()); !errors.Is(err, want) || !strings.Contains(err.Error(), says) {
		t.Errorf("Wait = %v", err)
	}
	if got := load(t, s, ""); len(got) != 1 {
		t.Errorf("there are %q, want the one that was in memory", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := m.Close(ctx); !errors.Is(err, store.ErrNotStored) {
		t.Errorf("Close = %v", err)
	}
}

// A wait for the store that has no bound ends when the mirror is closed and the store has not taken everything.
func TestWaitEndsWithClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faulty{MemoryStore: store.Memory(), fault: func(op string) kind {
			if op == "append" || op == "Append" {
				return before
			}
			return none
		}}
		cfg := config(f, t.TempDir())
		cfg.GiveUp = -1
		m := New(cfg)
		m.Start()
		m.Put(frame("", `{"uuid":"1"}`))
		waited := make(chan error, 1)
		go func() { waited <- m.Wait(context.Background(), m.Count()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := m.Close(ctx)
		if !errors.Is(err, store.ErrNotStored) {
			t.Errorf("Close = %v", err)
		}
		if err := <-waited; !errors.Is(err, store.ErrNotStored) {
			t.Errorf("Wait = %v", err)
		}
	})
}
