package natsfleet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/store"
)

// keeper has a transcript in the stream, and perhaps an archive.
type keeper struct {
	*natsfleet.Store
	t       *testing.T
	archive *watched
	said    []string // what the transcript must have
}

func newKeeper(t *testing.T, url, dir string, set ...func(*natsfleet.Options)) *keeper {
	t.Helper()
	k := &keeper{t: t}
	o := natsfleet.Options{URL: url, Logger: quiet()}
	for _, set := range set {
		set(&o)
	}
	if dir != "" {
		k.archive = newWatched(dir, nil)
		k.archive.silent = true
		o.Archive = k.archive
	}
	var err error
	if k.Store, err = natsfleet.OpenStore(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	return k
}

// session takes the lease, as soon as it is free, and releases it when do is done.
func (k *keeper) session(do func(store.Fence)) {
	k.t.Helper()
	for {
		l, err := k.Acquire(k.t.Context(), "p", "conversation", "me", time.Minute)
		if held, ok := errors.AsType[*store.HeldError](err); ok {
			<-time.After(held.For)
			continue
		}
		if err != nil {
			k.t.Fatal(err)
		}
		do(l.Fence)
		if err := k.Release(k.t.Context(), l); err != nil {
			k.t.Fatal(err)
		}
		return
	}
}

// say appends batches of two lines, one of them without a uuid.
func (k *keeper) say(key store.Key, f store.Fence, n int) (last store.Batch) {
	k.t.Helper()
	for range n {
		id := newID()
		lines := []string{fmt.Sprintf(`{"uuid":%q}`, id), fmt.Sprintf(`{"title":%q}`, id)}
		last = store.Batch{ID: id, Fence: f, Entries: []store.Entry{store.Entry(lines[0]), store.Entry(lines[1])}}
		if err := k.Append(k.t.Context(), key, last); err != nil {
			k.t.Fatal(err)
		}
		k.said = append(k.said, lines...)
	}
	return last
}

func load(ctx context.Context, s store.Transcripts, key store.Key) (lines []string, err error) {
	for e, err := range store.Entries(ctx, s, key) {
		if err != nil {
			return lines, err
		}
		lines = append(lines, string(e))
	}
	return lines, nil
}

// wants wants the transcript to be what was said.
func (k *keeper) wants(when string) {
	k.t.Helper()
	got, err := load(k.t.Context(), k, chainKey)
	if err != nil || !slices.Equal(got, k.said) {
		k.t.Fatalf("%s: %d lines, %v; want %d\n%s", when, len(got), err, len(k.said), strings.Join(got, "\n"))
	}
}

// messages counts those of a transcript in the stream.
func (k *keeper) messages() (n int) {
	k.t.Helper()
	all, err := k.Everything(k.t.Context(), "t", "p")
	if err != nil {
		k.t.Fatal(err)
	}
	for _, m := range all {
		if strings.Contains(m.Subject, chainKey.Session+".-.") {
			n++
		}
	}
	return n
}

// move archives everything, and wants so many sessions to have been moved.
func (k *keeper) move(want int) {
	k.t.Helper()
	if n, err := k.Archive(k.t.Context(), "p", time.Now().Add(time.Hour)); err != nil || n != want {
		k.t.Fatalf("Archive = %d, %v; want %d", n, err, want)
	}
}

// A transcript of many messages is compacted when its lease is released. Its
// entries stay the same.
func TestCompaction(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	k := newKeeper(t, c.URL(), "")
	var last store.Batch
	k.session(func(f store.Fence) { k.say(chainKey, f, 10) })
	if n := k.messages(); n != 10 {
		t.Errorf("a short transcript is in %d messages", n)
	}
	k.session(func(f store.Fence) {
		last = k.say(chainKey, f, 10)
		k.said = append(k.said, `{"pad":"`+strings.Repeat("x", 1500<<10)+`"}`) // more than a message holds
		if err := k.Append(t.Context(), chainKey, store.Batch{Fence: f, Entries: []store.Entry{store.Entry(k.said[len(k.said)-1])}}); err != nil {
			t.Fatal(err)
		}
		k.say(chainKey, f, 25)
	})
	k.wants("written anew")
	if n := k.messages(); n != 3 {
		t.Errorf("it is in %d messages; want 3: two for 1.5 MB, and one to end them", n)
	}
	k.session(func(f store.Fence) {
		last.Fence = f
		if err := k.Append(t.Context(), chainKey, last); err != nil { // it is known
			t.Fatal(err)
		}
		k.say(chainKey, f, 3)
	})
	k.wants("after more was said")
	for s, err := range k.List(t.Context(), "p") {
		if err != nil || s.Session != chainKey.Session {
			t.Errorf("List: %+v, %v", s, err)
		}
	}
}

// Compaction and archiving keep the time of the last entry as the time of
// modification.
func TestModifiedStays(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	k := newKeeper(t, c.URL(), t.TempDir())
	modified := func() (at time.Time) {
		for s, err := range k.List(t.Context(), "p") {
			if err != nil {
				t.Fatal(err)
			}
			at = s.Modified
		}
		return at
	}
	var before time.Time
	k.session(func(f store.Fence) {
		k.say(chainKey, f, 20)
		before = modified()
	})
	if after := modified(); before.IsZero() || !after.Equal(before) || k.messages() != 2 {
		t.Errorf("modified %v, written anew %v", before, after)
	}
	k.move(1)
	if after := modified(); !after.Equal(before) || k.messages() != 2 {
		t.Errorf("modified %v, archived %v", before, after)
	}
}

// A cold conversation is moved to the archive, and continues as if it was not.
func TestArchive(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	dir := t.TempDir()
	k := newKeeper(t, c.URL(), dir)
	sub := chainKey
	sub.Sub = "subagents/agent-1"
	var last store.Batch
	for round := range 3 {
		k.session(func(f store.Fence) {
			if round > 0 {
				last.Fence = f
				if err := k.Append(t.Context(), chainKey, last); err != nil { // it is known
					t.Fatal(err)
				}
			}
			said := k.said
			k.say(sub, f, 2)
			k.said = said
			last = k.say(chainKey, f, 4)
		})
		k.wants("before")
		k.move(1)
		k.wants("archived")
		k.move(0)
	}
	if n := k.messages(); n != 2 {
		t.Errorf("%d messages are left in the stream; want 2", n)
	}
	if lines, err := load(t.Context(), k, sub); err != nil || len(lines) != 12 {
		t.Errorf("the subagent: %d lines, %v", len(lines), err)
	}
	if got, err := load(t.Context(), store.Files(dir), chainKey); err != nil || !slices.Equal(got, k.said) {
		t.Errorf("the archive has %d lines, %v", len(got), err)
	}
	without := newKeeper(t, c.URL(), "")
	if _, err := load(t.Context(), without, chainKey); !errors.Is(err, natsfleet.ErrOtherTranscripts) {
		t.Errorf("a process that does not know the archive loads: %v", err)
	}
	for _, key := range []store.Key{chainKey, sub} {
		if err := without.Delete(t.Context(), key, store.Fence{}); !errors.Is(err, natsfleet.ErrOtherTranscripts) {
			t.Errorf("a process that does not know the archive deletes %s: %v", key, err)
		}
	}
	behind, l := openLossy(t, c.URL())
	l.denyNext()
	if err := behind.Delete(t.Context(), chainKey, store.Fence{}); !errors.Is(err, natsfleet.ErrOtherTranscripts) {
		t.Errorf("a process that does not know the archive, and asks a replica that is behind, deletes: %v", err)
	}
	l.check(t)
	if _, err := without.Archive(t.Context(), "p", time.Now()); err == nil || !strings.Contains(err.Error(), "Options.Archive is missing") {
		t.Errorf("a process that does not know the archive archives: %v", err)
	}
	k.session(func(f store.Fence) {
		if err := k.Delete(t.Context(), chainKey, f); err != nil {
			t.Fatal(err)
		}
	})
	for name, s := range map[string]store.Transcripts{"stream": k, "archive": store.Files(dir)} {
		for _, key := range []store.Key{chainKey, sub} {
			if lines, err := load(t.Context(), s, key); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("deleted, the %s has %d lines of %s, %v", name, len(lines), key, err)
			}
		}
	}
}

// A transcript that is being written, that was written without a lease, or that is
// not cold, stays where it is.
func TestNotArchived(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	k := newKeeper(t, c.URL(), t.TempDir())
	k.session(func(f store.Fence) {
		k.say(chainKey, f, 2)
		k.move(0)
	})
	if n, err := k.Archive(t.Context(), "p", time.Now().Add(-time.Hour)); err != nil || n != 0 {
		t.Errorf("what is not cold: %d, %v", n, err)
	}
	k.archive.on("before Acquire", func() { k.say(chainKey, store.Fence{}, 1) })
	k.move(0) // it was cold when it was found, and is used again
	k.wants("used again")
	k.say(store.Key{Project: "q", Session: newID()}, store.Fence{}, 2)
	if n, err := k.Archive(t.Context(), "q", time.Now().Add(time.Hour)); err != nil || n != 0 {
		t.Errorf("what was written without a lease: %d, %v", n, err)
	}
}

// What was added to a transcript while it was archived stays in the stream.
func TestRewriteCompares(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	k := newKeeper(t, c.URL(), t.TempDir())
	k.session(func(f store.Fence) { k.say(chainKey, f, 2) })
	k.archive.on("after Append", func() { k.say(chainKey, store.Fence{}, 1) })
	if n, err := k.Archive(t.Context(), "p", time.Now().Add(time.Hour)); err == nil || n != 0 {
		t.Errorf("Archive = %d, %v", n, err)
	}
	k.wants("afterwards")
}

// forgetful is a store that acknowledges a batch but stores only a part of it.
type forgetful struct{ *store.FileStore }

func (f forgetful) Append(ctx context.Context, k store.Key, b store.Batch) error {
	b.Entries = b.Entries[:len(b.Entries)-1]
	return f.FileStore.Append(ctx, k, b)
}

// Nothing leaves the stream before the archive has given it back.
func TestArchiveLosesEntries(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	k := newKeeper(t, c.URL(), "", func(o *natsfleet.Options) { o.Archive = forgetful{store.Files(t.TempDir())} })
	k.session(func(f store.Fence) { k.say(chainKey, f, 2) })
	if n, err := k.Archive(t.Context(), "p", time.Now().Add(time.Hour)); !errors.Is(err, store.ErrDamaged) || n != 0 {
		t.Errorf("Archive = %d, %v", n, err)
	}
	k.wants("afterwards")
}

// Some of the messages of a compacted transcript are not a transcript.
func TestAssembleHalf(t *testing.T) {
	t.Parallel()
	batch, first, second := map[string]string{"Id": "a"}, map[string]string{"Rewritten": "1/2"}, map[string]string{"Rewritten": "2/2"}
	if err := natsfleet.Assemble(batch, first); err == nil || !strings.Contains(err.Error(), "behind the others") {
		t.Errorf("half of it: %v", err)
	}
	if err := natsfleet.Assemble(batch, first, second, batch); err != nil {
		t.Errorf("all of it: %v", err)
	}
}

// Foreign messages in a transcript do not prevent its compaction.
func TestForeignTranscript(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	k := newKeeper(t, c.URL(), "")
	k.session(func(f store.Fence) {
		k.say(chainKey, f, 20)
		newStranger(t, c.URL()).store("claude.t.p."+chainKey.Session+".-.e", nil, []byte("nonsense"))
	})
	k.wants("written anew")
	if n := k.messages(); n != 2 {
		t.Errorf("it is in %d messages; want 2", n)
	}
}

// What the archive has and the stream does not know is not touched.
func TestArchiveDiffers(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	dir := t.TempDir()
	k := newKeeper(t, c.URL(), dir)
	k.session(func(f store.Fence) { k.say(chainKey, f, 2) })
	if err := store.Files(dir).Append(t.Context(), chainKey, store.Batch{Entries: []store.Entry{store.Entry(`{"other":1}`)}}); err != nil {
		t.Fatal(err)
	}
	if n, err := k.Archive(t.Context(), "p", time.Now().Add(time.Hour)); !errors.Is(err, store.ErrDamaged) || n != 0 {
		t.Errorf("Archive = %d, %v", n, err)
	}
	k.wants("with other entries in the archive")
}

// An archiver that is suspended, and resumes when the conversation has another
// owner, writes neither to the archive nor to the stream. Nothing is lost or
// doubled.
func TestPausedArchiver(t *testing.T) {
	t.Parallel()
	short := func(o *natsfleet.Options) { o.ArchiveTTL(chainTTL) }
	for _, when := range []string{"before Append", "after Append", "before Load", "before Load again"} {
		t.Run(when, func(t *testing.T) {
			c := natstest.Start(t, natstest.Options{})
			dir := t.TempDir()
			a, b := newKeeper(t, c.URL(), dir, short), newKeeper(t, c.URL(), dir, short)
			b.session(func(f store.Fence) { b.say(chainKey, f, 3) })
			asleep, wake := make(chan struct{}), make(chan struct{})
			sleep := func() { close(asleep); <-wake }
			if call, twice := strings.CutSuffix(when, " again"); twice {
				a.archive.on(call, func() { a.archive.on(call, sleep) })
			} else {
				a.archive.on(when, sleep)
			}
			result := make(chan error, 1)
			go func() {
				_, err := a.Archive(t.Context(), "p", time.Now().Add(time.Hour))
				result <- err
			}()
			<-asleep
			b.session(func(f store.Fence) {
				b.say(chainKey, f, 3)
				close(wake)
				if err := <-result; !errors.Is(err, store.ErrLeaseLost) {
					t.Errorf("the archiver, who woke up late: %v; want %v", err, store.ErrLeaseLost)
				}
				b.say(chainKey, f, 3)
			})
			if want := map[string]int64{"before Append": 1}[when]; a.archive.refused.Load() > want {
				t.Errorf("the archive has refused %d batches; want at most %d", a.archive.refused.Load(), want)
			}
			b.wants("afterwards")
			b.move(1)
			b.wants("archived")
			if got, err := load(t.Context(), store.Files(dir), chainKey); err != nil || !slices.Equal(got, b.said) {
				t.Errorf("the archive has %d lines, %v", len(got), err)
			}
		})
	}
}

// A reader of a transcript that is appended to, compacted and archived sees a
// beginning of it, and never less than before.
func TestReadWhileMoved(t *testing.T) {
	t.Parallel()
	often := func(o *natsfleet.Options) { o.CompactAt(3) }
	c := natstest.Start(t, natstest.Options{})
	dir := t.TempDir()
	k := newKeeper(t, c.URL(), dir, often)
	k.session(func(f store.Fence) { k.say(chainKey, f, 1) })
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	seen := make([][]string, 2)
	for i := range seen {
		reader := newKeeper(t, c.URL(), dir, often)
		wg.Go(func() {
			for ctx.Err() == nil {
				got, err := load(t.Context(), reader, chainKey)
				if err != nil || len(got) < len(seen[i]) || !slices.Equal(got[:len(seen[i])], seen[i]) {
					t.Errorf("%d lines, %v; before there were %d", len(got), err, len(seen[i]))
					return
				}
				seen[i] = got
			}
		})
	}
	for round := range 30 {
		k.session(func(f store.Fence) { k.say(chainKey, f, 1+round%5) })
		if round%3 == 0 {
			k.move(1)
		}
	}
	cancel()
	wg.Wait()
	k.wants("at the end")
	for _, got := range seen {
		if !slices.Equal(got, k.said[:len(got)]) {
			t.Errorf("a reader has seen something else")
		}
	}
}
