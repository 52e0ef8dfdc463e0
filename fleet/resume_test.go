package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/restore"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// disk is a configuration directory with one session.
type disk struct {
	dir     string
	session string
}

// newDisk puts a session with the prompts on a disk.
func newDisk(t *testing.T, prompts ...string) *disk {
	t.Helper()
	db := store.Memory()
	f := open(t, db, newScripted(), nil)
	for _, p := range prompts {
		ask(t, f, "ada", p)
	}
	info, err := f.Get(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	closeFleet(t, f)
	d := &disk{t.TempDir(), info.Session}
	root, err := os.OpenRoot(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := (restore.Source{Store: db, Project: "p"}).Copy(t.Context(), root, "-work", d.session); err != nil {
		t.Fatal(err)
	}
	d.write(t, d.session+"/subagents/agent-a.jsonl", `{"type":"user","uuid":"s","isSidechain":true,"agentId":"a","message":{"role":"user","content":"look"}}`+"\n")
	d.write(t, d.session+"/subagents/agent-a.meta.json", `{"agentType":"explorer"}`)
	return d
}

// path is where a file of the session is.
func (d *disk) path(name string) string { return filepath.Join(d.dir, "projects", "-work", name) }

func (d *disk) file() string { return d.path(d.session + ".jsonl") }

func (d *disk) write(t *testing.T, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(d.path(name)), 0o700), os.WriteFile(d.path(name), []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// running marks the session as open in a process.
func (d *disk) running(t *testing.T, pid int) {
	t.Helper()
	d.write(t, fmt.Sprintf("../../sessions/%d.json", pid), fmt.Sprintf(`{"pid":%d,"sessionId":%q,"cwd":"/work"}`, pid, d.session))
}

// all returns the files on the disk with their contents.
func (d *disk) all(t *testing.T) map[string]string {
	t.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		found[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (d *disk) from() fleet.ResumeFrom {
	return fleet.ResumeFrom{Disk: history.Disk(d.dir), Session: d.session}
}

func (d *disk) fork() fleet.ResumeFrom {
	return fleet.ResumeFrom{Disk: history.Disk(d.dir), Session: d.session, Fork: true}
}

// spokenIn returns the texts of the stored events of a conversation.
func spokenIn(t *testing.T, f fleet.Conversations, key string) (texts []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for e, err := range f.Events(ctx, key, "") {
		if err != nil {
			if ctx.Err() == nil {
				t.Fatal(err)
			}
			break
		}
		switch m := e.Message.(type) {
		case *message.User:
			texts = append(texts, m.Text())
		case *message.Assistant:
			texts = append(texts, m.Text())
		}
	}
	return texts
}

// A session on disk continues as a conversation, with its subagents, once. The disk
// is not touched.
func TestResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t, "one", "two")
		before := d.all(t)
		db := store.Memory()
		f := open(t, db, newScripted(), nil)
		defer closeFleet(t, f)
		for range 2 { // the second time, nothing is left to do
			if err := f.Resume(t.Context(), "acme/ada", d.from()); err != nil {
				t.Fatal(err)
			}
		}
		info, err := f.Get(t.Context(), "acme/ada")
		if err != nil || info.Session != d.session || info.State != fleet.StateAsleep || info.Cost.Turns != 0 {
			t.Errorf("%+v, %v", info, err)
		}
		if got, want := spokenIn(t, f, "acme/ada"), []string{"one", "heard one", "two", "heard one, two"}; !slices.Equal(got, want) {
			t.Errorf("its history is %q, want %q", got, want)
		}
		if got := ask(t, f, "acme/ada", "three"); got != "heard one, two, three" {
			t.Errorf("answer %q", got)
		}
		tr, err := history.In(db, "p").Read(t.Context(), d.session)
		if err != nil {
			t.Fatal(err)
		}
		if subs, err := tr.Subagents(t.Context()); err != nil || len(subs) != 1 || subs[0].Type != "explorer" {
			t.Errorf("subagents %+v, %v", subs, err)
		}
		if !maps.Equal(d.all(t), before) {
			t.Error("the disk has changed")
		}

		err = f.Resume(t.Context(), "acme/bob", d.from())
		if held, ok := errors.AsType[*fleet.ResumedError](err); !ok || !errors.Is(err, fleet.ErrResumed) || held.Key != "acme/ada" || !strings.Contains(err.Error(), `"acme/ada"`) {
			t.Errorf("a second conversation: %v", err)
		}
		err = f.Tenant("other").Resume(t.Context(), "other/ada", d.from())
		if held, ok := errors.AsType[*fleet.ResumedError](err); !ok || held.Key != "" || strings.Contains(err.Error(), "acme") {
			t.Errorf("a conversation of another tenant: %v", err)
		}

		plain := newDisk(t, "one")
		if err := f.Resume(t.Context(), "nobodys", plain.from()); err != nil {
			t.Fatal(err)
		}
		err = f.Tenant("other").Resume(t.Context(), "other/ada", plain.from())
		if held, ok := errors.AsType[*fleet.ResumedError](err); !ok || held.Key != "" || strings.Contains(err.Error(), "nobodys") {
			t.Errorf("a conversation without a tenant: %v", err)
		}

		if err := f.Tenant("other").Resume(t.Context(), "acme/new", d.fork()); !errors.Is(err, fleet.ErrForeign) {
			t.Errorf("under a key of another tenant: %v", err)
		}

		if err := f.Delete(t.Context(), "acme/ada"); err != nil {
			t.Fatal(err)
		}
		if err := f.Resume(t.Context(), "acme/ada", d.from()); !errors.Is(err, store.ErrDeleted) {
			t.Errorf("after its conversation was deleted: %v", err)
		}
		if err := f.Resume(t.Context(), "acme/ada", d.fork()); err != nil {
			t.Errorf("a copy after its conversation was deleted: %v", err)
		}
	})
}

// Copies of a session on disk are apart from it and from each other.
func TestResumeFork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t, "one", "two")
		d.running(t, os.Getpid()) // which a copy does not mind
		before := d.all(t)
		db := store.Memory()
		f := open(t, db, newScripted(), nil)
		defer closeFleet(t, f)
		var first string
		tr, err := history.Disk(d.dir).Read(t.Context(), d.session)
		if err != nil {
			t.Fatal(err)
		}
		for m, err := range tr.Messages(t.Context(), history.Page{}) {
			if _, ok := m.Message.(*message.Assistant); ok || err != nil {
				first = m.UUID
				break
			}
		}
		part := d.fork()
		part.UpTo = first
		if err := errors.Join(f.Resume(t.Context(), "all", d.fork()), f.Resume(t.Context(), "some", part)); err != nil {
			t.Fatal(err)
		}
		for key, want := range map[string]string{"all": "heard one, two, more", "some": "heard one, more"} {
			if got := ask(t, f, key, "more"); got != want {
				t.Errorf("%s: %q, want %q", key, got, want)
			}
			if info, err := f.Get(t.Context(), key); err != nil || info.Session == d.session {
				t.Errorf("%s: %+v, %v", key, info, err)
			}
		}
		if !maps.Equal(d.all(t), before) {
			t.Error("the disk has changed")
		}
		stored := len(left(t, db))
		part.UpTo = "00000000-0000-4000-8000-000000000000"
		for name, err := range map[string]error{
			"no such message": f.Resume(t.Context(), "new", part),
			"exists":          f.Resume(t.Context(), "all", d.fork()),
		} {
			if !errors.Is(err, history.ErrNotFound) && !errors.Is(err, fleet.ErrExists) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := len(left(t, db)); n != stored {
			t.Errorf("%d things are stored after the errors, before them %d", n, stored)
		}
		if err := os.RemoveAll(filepath.Join(d.dir, "sessions")); err != nil {
			t.Fatal(err)
		}
		if err := f.Resume(t.Context(), "itself", d.from()); err != nil {
			t.Fatal(err)
		}
		if got := ask(t, f, "itself", "three"); got != "heard one, two, three" {
			t.Errorf("the original: %q", got)
		}
	})
}

// What cannot be resumed is refused, and no conversation is made.
func TestResumeRefused(t *testing.T) {
	const nobody = "00000000-0000-4000-8000-000000000000"
	for name, c := range map[string]struct {
		prepare func(t *testing.T, d *disk, f *fleet.Fleet, db store.Fleet)
		from    func(*fleet.ResumeFrom)
		key     string
		want    error
	}{
		"not an id":     {from: func(r *fleet.ResumeFrom) { r.Session = "../x" }, want: history.ErrInvalidID},
		"unknown":       {from: func(r *fleet.ResumeFrom) { r.Session = nobody }, want: history.ErrNotFound},
		"no disk":       {from: func(r *fleet.ResumeFrom) { r.Disk = nil }, want: store.ErrInvalid},
		"in a store":    {from: func(r *fleet.ResumeFrom) { r.Disk = history.In(store.Memory(), "p") }, want: store.ErrInvalid},
		"up to, whole":  {from: func(r *fleet.ResumeFrom) { r.UpTo = nobody }, want: store.ErrInvalid},
		"no such place": {from: func(r *fleet.ResumeFrom) { r.Disk = history.Disk("/none") }, want: history.ErrNotFound},
		"not a key":     {key: "a/b/c", want: store.ErrInvalid},
		"key exists":    {key: "bob", prepare: func(t *testing.T, _ *disk, f *fleet.Fleet, _ store.Fleet) { ask(t, f, "bob", "hello") }, want: fleet.ErrExists},
		"empty":         {prepare: func(t *testing.T, d *disk, _ *fleet.Fleet, _ store.Fleet) { d.write(t, d.session+".jsonl", "\n") }, want: history.ErrEmpty},
		"only a title": {prepare: func(t *testing.T, d *disk, _ *fleet.Fleet, _ store.Fleet) {
			d.write(t, d.session+".jsonl", fmt.Sprintf(`{"type":"custom-title","customTitle":"Late","sessionId":%q}`+"\n", d.session))
		}, want: history.ErrEmpty},
		"with a gap": {prepare: func(t *testing.T, d *disk, _ *fleet.Fleet, _ store.Fleet) {
			lines := strings.SplitAfter(d.all(t)[d.file()], "\n")
			gap := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, `"role":"assistant"`) })
			d.write(t, d.session+".jsonl", strings.Join(slices.Delete(lines, gap, gap+1), ""))
		}, want: store.ErrDamaged},
		"open": {prepare: func(t *testing.T, d *disk, _ *fleet.Fleet, _ store.Fleet) { d.running(t, os.Getpid()) }, want: fleet.ErrSessionOpen},
		"leased": {prepare: func(t *testing.T, d *disk, _ *fleet.Fleet, db store.Fleet) {
			if _, err := db.Acquire(t.Context(), "p", d.session, "somebody", time.Hour); err != nil {
				t.Fatal(err)
			}
		}, want: store.ErrLeased},
		"another in the store": {prepare: func(t *testing.T, d *disk, _ *fleet.Fleet, db store.Fleet) {
			other := store.Batch{ID: uuid.New(), Entries: []store.Entry{store.Entry(`{"type":"mode","mode":"x"}`)}}
			if err := db.Append(t.Context(), store.Key{Project: "p", Session: d.session}, other); err != nil {
				t.Fatal(err)
			}
		}, want: store.ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, db := newDisk(t, "one", "two"), store.Memory()
				f := open(t, db, newScripted(), nil)
				defer closeFleet(t, f)
				if c.prepare != nil {
					c.prepare(t, d, f, db)
				}
				from, key, stored := d.from(), "ada", len(left(t, db))
				if c.from != nil {
					c.from(&from)
				}
				if c.key != "" {
					key = c.key
				}
				err := f.Resume(t.Context(), key, from)
				if bad, ok := errors.AsType[*fleet.ConversationError](err); !ok || bad.Key != key || !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
				if n := len(left(t, db)); n != stored {
					t.Errorf("%q is stored", left(t, db))
				}
			})
		})
	}
}

// A process that has ended has nothing open.
func TestResumeAfterProcess(t *testing.T) {
	d := newDisk(t, "one")
	ended := exec.Command(os.Args[0], "-test.run=^$")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	d.running(t, ended.Process.Pid)
	f := open(t, store.Memory(), newScripted(), nil)
	defer closeFleet(t, f)
	if err := f.Resume(t.Context(), "ada", d.from()); err != nil {
		t.Error(err)
	}
}

// busyDisk is a store during whose first write to a transcript something happens.
type busyDisk struct {
	*store.MemoryStore
	meanwhile func()
}

func (b *busyDisk) Append(ctx context.Context, k store.Key, batch store.Batch) error {
	if do := b.meanwhile; do != nil {
		b.meanwhile = nil
		do()
	}
	return b.MemoryStore.Append(ctx, k, batch)
}

// A session that a CLI writes to while it is copied is open there. When the CLI has
// ended, the rest is copied too.
func TestResumeWhileWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t, "one", "two")
		db := &busyDisk{MemoryStore: store.Memory(), meanwhile: func() {
			f, err := os.OpenFile(d.file(), os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString(`{"type":"custom-title","customTitle":"Late","sessionId":"` + d.session + "\"}\n")
				err = errors.Join(err, f.Close())
			}
			if err != nil {
				t.Error(err)
			}
		}}
		f := open(t, db, newScripted(), nil)
		defer closeFleet(t, f)
		resumeTwice(t, f, d)
		if info, err := history.In(db, "p").Info(t.Context(), d.session); err != nil || info.Title != "Late" {
			t.Errorf("%+v, %v", info, err)
		}
		if got := ask(t, f, "ada", "three"); got != "heard one, two, three" {
			t.Errorf("answer %q", got)
		}
	})
}

// resumeTwice resumes a session that is written to during the first copy: that is
// refused, and leaves no conversation.
func resumeTwice(t *testing.T, f *fleet.Fleet, d *disk) {
	t.Helper()
	err := f.Resume(t.Context(), "ada", d.from())
	if open, ok := errors.AsType[*fleet.SessionOpenError](err); !ok || open.PID != 0 {
		t.Errorf("while it is written: %v", err)
	}
	if _, err := f.Get(t.Context(), "ada"); !errors.Is(err, fleet.ErrUnknown) {
		t.Errorf("there is a conversation: %v", err)
	}
	if err := f.Resume(t.Context(), "ada", d.from()); err != nil {
		t.Fatal(err)
	}
}

// What subagents write while their session is copied is not lost: not what one adds,
// not one that begins, and not what is noted about one.
func TestResumeWhileSubagentsWrite(t *testing.T) {
	const line = `{"type":"assistant","uuid":"s2","parentUuid":"s","isSidechain":true,"agentId":"a","message":{"role":"assistant","content":[{"type":"text","text":"found"}]}}` + "\n"
	for name, c := range map[string]struct {
		write func(t *testing.T, d *disk)
		sub   string
		want  int // entries of the subagent
	}{
		"more of one": {func(t *testing.T, d *disk) {
			d.write(t, d.session+"/subagents/agent-a.jsonl", d.all(t)[d.path(d.session+"/subagents/agent-a.jsonl")]+line)
		}, "agent-a", 3},
		"another": {func(t *testing.T, d *disk) {
			d.write(t, d.session+"/subagents/agent-b.jsonl", `{"type":"user","uuid":"t","isSidechain":true,"agentId":"b","message":{"role":"user","content":"look"}}`+"\n")
		}, "agent-b", 1},
		"a note": {func(t *testing.T, d *disk) {
			d.write(t, d.session+"/subagents/agent-a.meta.json", `{"agentType":"explorer","finished":true}`)
		}, "agent-a", 3}, // the last note counts
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDisk(t, "one", "two")
				db := &afterAppend{MemoryStore: store.Memory(), do: func() { c.write(t, d) }}
				f := open(t, db, newScripted(), nil)
				defer closeFleet(t, f)
				resumeTwice(t, f, d)
				n := 0
				for _, err := range store.Entries(t.Context(), db, store.Key{Project: "p", Session: d.session, Sub: "subagents/" + c.sub}) {
					if err != nil {
						t.Fatal(err)
					}
					n++
				}
				if n != c.want {
					t.Errorf("%d entries of the subagent, want %d", n, c.want)
				}
			})
		})
	}
}

// afterAppend is a store after whose first write to the transcript of a subagent
// something happens.
type afterAppend struct {
	*store.MemoryStore
	do func()
}

func (a *afterAppend) Append(ctx context.Context, k store.Key, batch store.Batch) error {
	err := a.MemoryStore.Append(ctx, k, batch)
	if do := a.do; do != nil && k.Sub != "" {
		a.do = nil
		do()
	}
	return err
}

// A CLI that opens the session while it is copied is seen, even if it writes nothing.
func TestResumeOpenedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t, "one", "two")
		db := &busyDisk{MemoryStore: store.Memory(), meanwhile: func() { d.running(t, os.Getpid()) }}
		f := open(t, db, newScripted(), nil)
		defer closeFleet(t, f)
		err := f.Resume(t.Context(), "ada", d.from())
		if open, ok := errors.AsType[*fleet.SessionOpenError](err); !ok || open.PID != os.Getpid() {
			t.Errorf("resumed while a CLI has it open: %v", err)
		}
		if _, err := f.Get(t.Context(), "ada"); !errors.Is(err, fleet.ErrUnknown) {
			t.Errorf("there is a conversation: %v", err)
		}
	})
}

// Of several callers that resume a session at once, one gets it, and the others get an
// error.
func TestResumeAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, db := newDisk(t, "one"), store.Memory()
		f := open(t, db, newScripted(), nil)
		defer closeFleet(t, f)
		var all sync.WaitGroup
		errs := make([]error, 8)
		for n := range errs {
			all.Go(func() { errs[n] = f.Resume(t.Context(), fmt.Sprint("key", n), d.from()) })
		}
		all.Wait()
		won := 0
		for _, err := range errs {
			switch {
			case err == nil:
				won++
			case !errors.Is(err, store.ErrLeased) && !errors.Is(err, fleet.ErrResumed):
				t.Error(err)
			}
		}
		if won != 1 {
			t.Errorf("%d have the session", won)
		}
	})
}

// stopped is the store of a process that stands still in the middle of a copy, and renews
// no lease meanwhile.
type stopped struct {
	store.Fleet
	still atomic.Bool
	once  sync.Once
	do    func()
}

func (s *stopped) Append(ctx context.Context, k store.Key, batch store.Batch) error {
	s.once.Do(func() {
		s.still.Store(true)
		s.do()
		s.still.Store(false)
	})
	return s.Fleet.Append(ctx, k, batch)
}

func (s *stopped) Renew(ctx context.Context, l store.Lease) error {
	if s.still.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Fleet.Renew(ctx, l)
}

// A process that stands still while it copies a session, for longer than its lease,
// makes no second conversation of a session that another one has resumed in the
// meantime.
func TestResumeStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, db := newDisk(t, "one"), store.Memory()
		other := open(t, db, newScripted(), nil)
		defer closeFleet(t, other)
		still := &stopped{Fleet: db}
		still.do = func() {
			<-time.After(10 * time.Minute)
			if err := other.Resume(t.Context(), "bob", d.from()); err != nil {
				t.Errorf("another process: %v", err)
			}
		}
		f := open(t, still, newScripted(), nil)
		defer closeFleet(t, f)
		if err := f.Resume(t.Context(), "ada", d.from()); !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("the first: %v", err)
		}
		for info, err := range other.List(t.Context()) {
			if err != nil || info.Key != "bob" {
				t.Errorf("%q has session %s, %v", info.Key, info.Session, err)
			}
		}
	})
}

// A resume that a crash cuts off, in whichever call of the store, leaves no
// conversation or a whole one. It can be repeated, and everything is there once.
func TestResumeCutOff(t *testing.T) {
	for n := 1; ; n++ {
		done := false
		synctest.Test(t, func(t *testing.T) {
			d, db, cli := newDisk(t, "one", "two"), store.Memory(), newScripted()
			m := start(t, db, cli, nil)
			done = cutOff(t, m, n, func(ctx context.Context) error { return m.fleet.Resume(ctx, "ada", d.from()) })
			m = start(t, db, cli, nil)
			defer closeFleet(t, m.fleet)
			want := []string{"one", "heard one", "two", "heard one, two"}
			_, err := m.fleet.Get(t.Context(), "ada")
			if err == nil {
				if got := spokenIn(t, m.fleet, "ada"); !slices.Equal(got, want) {
					t.Errorf("cut off at call %d: its history is %q", n, got)
				}
			} else if !errors.Is(err, fleet.ErrUnknown) {
				t.Errorf("cut off at call %d: %v", n, err)
			}
			<-time.After(time.Minute) // the lease of the dead
			if err := m.fleet.Resume(t.Context(), "ada", d.from()); err != nil {
				t.Fatalf("cut off at call %d, again: %v", n, err)
			}
			if got := spokenIn(t, m.fleet, "ada"); !slices.Equal(got, want) {
				t.Errorf("cut off at call %d, again: its history is %q", n, got)
			}
			if got := ask(t, m.fleet, "ada", "three"); got != "heard one, two, three" {
				t.Errorf("cut off at call %d: answer %q", n, got)
			}
		})
		if done || t.Failed() {
			if n < 5 {
				t.Errorf("only %d calls were cut off", n)
			}
			return
		}
	}
}

// A copy that a crash cuts off, in whichever call of the store, leaves nothing or a
// whole conversation, once a fleet has been open for a while. It can be made again.
func TestForkCutOff(t *testing.T) {
	for name, fork := range map[string]func(ctx context.Context, f *fleet.Fleet, d *disk) error{
		"from disk":           func(ctx context.Context, f *fleet.Fleet, d *disk) error { return f.Resume(ctx, "copy", d.fork()) },
		"of a conversation":   func(ctx context.Context, f *fleet.Fleet, _ *disk) error { return f.Fork(ctx, "ada", "copy", "") },
		"of an earlier point": func(ctx context.Context, f *fleet.Fleet, d *disk) error { return forkFirst(ctx, f, d) },
	} {
		for n := 1; ; n += long.Pick(4, 1) {
			done := false
			synctest.Test(t, func(t *testing.T) {
				d, db, cli := newDisk(t, "one", "two"), store.Memory(), newScripted()
				m := start(t, db, cli, nil)
				if err := m.fleet.Resume(t.Context(), "ada", d.from()); err != nil {
					t.Fatal(err)
				}
				before := left(t, db)
				done = cutOff(t, m, n, func(ctx context.Context) error { return fork(ctx, m.fleet, d) })
				m = start(t, db, cli, nil)
				defer closeFleet(t, m.fleet)
				<-time.After(20 * time.Minute)
				info, err := m.fleet.Get(t.Context(), "copy")
				want := slices.Clone(before)
				if err == nil {
					want = append(want, "conversation c/copy", "session "+info.Session)
				} else if !errors.Is(err, fleet.ErrUnknown) {
					t.Errorf("%s, cut off at call %d: %v", name, n, err)
				}
				got := left(t, db)
				slices.Sort(want)
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("%s, cut off at call %d: the store has %q, want %q", name, n, got, want)
				}
				if info.Key == "" {
					if err := fork(t.Context(), m.fleet, d); err != nil {
						t.Fatalf("%s, cut off at call %d, again: %v", name, n, err)
					}
				}
				if got := ask(t, m.fleet, "copy", "three"); !strings.HasPrefix(got, "heard one, ") || !strings.HasSuffix(got, "three") {
					t.Errorf("%s, cut off at call %d: answer %q", name, n, got)
				}
			})
			if done || t.Failed() {
				if n < 5 {
					t.Errorf("%s: only %d calls were cut off", name, n)
				}
				break
			}
		}
	}
}

// forkFirst copies a conversation up to the first answer.
func forkFirst(ctx context.Context, f *fleet.Fleet, d *disk) error {
	tr, err := history.Disk(d.dir).Read(ctx, d.session)
	if err != nil {
		return err
	}
	for m, err := range tr.Messages(ctx, history.Page{}) {
		if _, ok := m.Message.(*message.Assistant); ok || err != nil {
			return f.Fork(ctx, "ada", "copy", m.UUID)
		}
	}
	return errors.New("nothing was answered")
}
