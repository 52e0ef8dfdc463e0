package claude_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/wire"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// mainKey is the transcript of the sessions that bubble starts.
var mainKey = store.Key{Project: "tenant-7", Session: "00000000-0000-4000-8000-000000000001"}

var errDown = errors.New("connection refused")

// unsteady is a store in memory that can be taken down.
type unsteady struct {
	*store.MemoryStore
	down atomic.Bool
}

func (u *unsteady) Append(ctx context.Context, k store.Key, b store.Batch) error {
	if u.down.Load() {
		return errDown
	}
	return u.MemoryStore.Append(ctx, k, b)
}

func (u *unsteady) Renew(ctx context.Context, l store.Lease) error {
	if u.down.Load() {
		return errDown
	}
	return u.MemoryStore.Renew(ctx, l)
}

// stored returns the lines of a transcript.
func stored(t *testing.T, s store.Transcripts, k store.Key) (lines []string) {
	t.Helper()
	for e, err := range store.Entries(t.Context(), s, k) {
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
		if err == nil {
			lines = append(lines, string(e))
		}
	}
	return lines
}

// mirrors writes entries to the session's transcript.
func (c *cli) mirrors(entries ...string) {
	c.say(`{"type":"transcript_mirror","filePath":"/home/a/.claude/projects/-work/%s.jsonl","entries":[%s]}`, mainKey.Session, strings.Join(entries, ","))
}

// mirroredTurn plays a turn with three entries, the last of which comes after
// its result.
func (c *cli) mirroredTurn(n int) {
	id := c.prompt()
	if id == "" {
		return
	}
	c.begin(id)
	c.mirrors(entry(n, "user"))
	c.text("answer")
	c.mirrors(entry(n, "assistant"))
	c.result("answer", id)
	c.mirrors(entry(n, "last-prompt"))
}

func entry(n int, typ string) string {
	return fmt.Sprintf(`{"type":%q,"uuid":"%s-%d"}`, typ, typ, n)
}

func turnEntries(turns int) (lines []string) {
	for n := range turns {
		lines = append(lines, entry(n, "user"), entry(n, "assistant"), entry(n, "last-prompt"))
	}
	return lines
}

// storing plays a CLI that has some turns, with a session that is stored.
func storing(t *testing.T, turns int, test func(t *testing.T, u *unsteady, o *claude.Options)) {
	t.Helper()
	bubble(t, func(c *cli) {
		c.greet()
		for n := range turns {
			c.mirroredTurn(n)
		}
		c.idle()
	}, func(t *testing.T, o *claude.Options) {
		u := &unsteady{MemoryStore: store.Memory()}
		o.Store = &claude.StoreOptions{Store: u, Project: mainKey.Project, Owner: "test", Journal: t.TempDir()}
		test(t, u, o)
	})
}

// Everything the CLI writes to its transcript is stored, and none of it is seen
// in the stream.
func TestStore(t *testing.T) {
	storing(t, 2, func(t *testing.T, u *unsteady, o *claude.Options) {
		s := connect(t, o)
		for n := range 2 {
			got, err := harness.Collect(s.Run(t.Context(), "hello"))
			if want := []string{"Init", "Assistant", "Result"}; err != nil || len(got) != len(want) {
				t.Errorf("the stream has %q, %v; want %q", got, err, want)
			}
			if lines := stored(t, u, mainKey); !slices.Equal(lines[:3*n+2], turnEntries(n + 1)[:3*n+2]) {
				t.Errorf("after result %d the store has %q", n, lines)
			}
		}
		if err := s.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		finish(t, s)
		if got, want := stored(t, u, mainKey), turnEntries(2); !slices.Equal(got, want) {
			t.Errorf("stored %q\n want %q", got, want)
		}
		if _, err := u.Acquire(t.Context(), mainKey.Project, mainKey.Session, "next", time.Minute); err != nil {
			t.Errorf("the lease was not given back: %v", err)
		}
	})
}

// While the store is down a strict session holds its result back, and a prompt
// of another goroutine; control works, and nothing is lost or out of order.
func TestStoreDownForAWhile(t *testing.T) {
	for _, flush := range []store.Flush{store.Strict, store.Eventually} {
		t.Run(flush.String(), func(t *testing.T) {
			storing(t, 2, func(t *testing.T, u *unsteady, o *claude.Options) {
				o.Store.Flush = flush
				s := connect(t, o)
				u.down.Store(true)
				begin := time.Now()
				time.AfterFunc(30*time.Second, func() { u.down.Store(false) })
				sent := make(chan time.Duration, 1)
				for m, err := range s.Run(t.Context(), "hello") {
					if err != nil {
						t.Error(err)
					}
					if _, ok := m.(*message.Assistant); ok {
						go func() {
							pass(time.Second)
							if _, err := s.Send(t.Context(), "more"); err != nil {
								t.Error(err)
							}
							sent <- time.Since(begin)
						}()
					}
				}
				took := time.Since(begin)
				if waited := took >= 30*time.Second; waited != (flush == store.Strict) || took > 40*time.Second {
					t.Errorf("the result came after %v", took)
				}
				if took := <-sent; took >= 30*time.Second != (flush == store.Strict) {
					t.Errorf("a prompt was sent after %v", took)
				}
				pass(time.Minute)
				if got, want := stored(t, u, mainKey), turnEntries(2); !slices.Equal(got, want) {
					t.Errorf("stored %q\n want %q", got, want)
				}
				finish(t, s)
				if left, _ := os.ReadDir(o.Store.Journal); len(left) > 0 {
					t.Errorf("%v is left although everything is stored", left)
				}
			})
		})
	}
}

// When the store stays away for longer than GiveUp, the result comes with an
// error that names the journal, and the stream reports it.
func TestStoreGivesUp(t *testing.T) {
	storing(t, 2, func(t *testing.T, u *unsteady, o *claude.Options) {
		o.Store.GiveUp = 10 * time.Second
		s := connect(t, o)
		u.down.Store(true)
		res, err := s.Ask(t.Context(), "hello")
		missing, ok := errors.AsType[*store.NotStoredError](err)
		if res == nil || !ok || !errors.Is(err, errDown) || !errors.Is(err, store.ErrNotStored) {
			t.Fatalf("Ask = %v, %v; want an answer that is not stored", res, err)
		}
		if _, err := os.Stat(missing.Journal); err != nil {
			t.Errorf("the journal: %v", err)
		}
		u.down.Store(false)
		pass(time.Minute)
		var told *message.MirrorError
		for m, err := range s.Run(t.Context(), "again") {
			if err != nil {
				t.Error(err)
			}
			if m, ok := m.(*message.MirrorError); ok {
				told = m
			}
		}
		if told == nil || told.Journal != missing.Journal || told.Key.Session != mainKey.Session || told.Error == "" {
			t.Errorf("the stream says %+v", told)
		}
		finish(t, s)
		if got, want := stored(t, u, mainKey), turnEntries(2); !slices.Equal(got, want) {
			t.Errorf("stored %q\n want %q", got, want)
		}
		if _, err := os.Stat(missing.Journal); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the journal is still there: %v", err)
		}
	})
}

// A session that ends while the store is down leaves a journal, which has
// everything that the store lacks.
func TestStoreDownForGood(t *testing.T) {
	storing(t, 2, func(t *testing.T, u *unsteady, o *claude.Options) {
		o.Store.Flush = store.Eventually
		o.Timeouts.Flush = 3 * time.Second
		s := connect(t, o)
		if _, err := s.Ask(t.Context(), "hello"); err != nil {
			t.Error(err)
		}
		pass(time.Second)
		u.down.Store(true)
		if _, err := s.Ask(t.Context(), "hello"); err != nil {
			t.Error(err)
		}
		begin := time.Now()
		err := s.Close()
		if took := time.Since(begin); took < 3*time.Second || took > 5*time.Second {
			t.Errorf("Close took %v", took)
		}
		missing, ok := errors.AsType[*store.NotStoredError](err)
		if !ok || !errors.Is(s.Wait(), store.ErrNotStored) || s.State() != claude.StateFailed {
			t.Fatalf("Close = %v, Wait = %v, %v", err, s.Wait(), s.State())
		}
		if !strings.Contains(err.Error(), missing.Journal) {
			t.Errorf("%q does not name %s", err, missing.Journal)
		}
		u.down.Store(false)
		for range 2 { // a second time it changes nothing
			if n, err := store.ImportJournal(t.Context(), u, missing.Journal, store.Fence{}); err != nil || n != 3 {
				t.Errorf("ImportJournal = %d, %v", n, err)
			}
			if got, want := stored(t, u, mainKey), turnEntries(2); !slices.Equal(got, want) {
				t.Errorf("stored %q\n want %q", got, want)
			}
		}
	})
}

// A session has one owner. The second learns at once who that is, and nothing
// is started.
func TestStoreLeased(t *testing.T) {
	storing(t, 1, func(t *testing.T, u *unsteady, o *claude.Options) {
		if _, err := u.Acquire(t.Context(), mainKey.Project, mainKey.Session, "machine-3", time.Minute); err != nil {
			t.Fatal(err)
		}
		o.Transport = unstarted{t}
		begin := time.Now()
		_, err := claude.Connect(t.Context(), o)
		held, ok := errors.AsType[*store.HeldError](err)
		if !ok || held.Owner != "machine-3" || !errors.Is(err, store.ErrLeased) || !errors.Is(err, claude.ErrStore) {
			t.Errorf("Connect = %v", err)
		}
		if took := time.Since(begin); took > 0 {
			t.Errorf("it took %v", took)
		}
	})
}

// A session that has lost its lease stores nothing more and ends at once.
func TestStoreLeaseLost(t *testing.T) {
	storing(t, 2, func(t *testing.T, u *unsteady, o *claude.Options) {
		o.Store.GiveUp = claude.NoTimeout
		s := connect(t, o)
		if _, err := s.Ask(t.Context(), "hello"); err != nil {
			t.Error(err)
		}
		u.down.Store(true) // the owner stands still
		pass(time.Minute)
		if _, err := u.Acquire(t.Context(), mainKey.Project, mainKey.Session, "machine-3", time.Minute); err != nil {
			t.Fatal(err)
		}
		before := stored(t, u, mainKey)
		u.down.Store(false)
		if _, err := s.Ask(t.Context(), "hello"); !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("Ask = %v", err)
		}
		if err := s.Wait(); !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("Wait = %v", err)
		}
		if after := stored(t, u, mainKey); !slices.Equal(before, after) {
			t.Errorf("stored %q after the lease was lost", after[len(before):])
		}
	})
}

// No tool begins while the ownership of the session is in doubt.
func TestStoreFence(t *testing.T) {
	var answer wire.Frame
	bubble(t, func(c *cli) {
		c.greet()
		<-time.After(29 * time.Second)
		c.say(`{"type":"control_request","request_id":"u-1","request":{"subtype":"hook_callback","callback_id":"fence","tool_use_id":"c","input":{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{}}}}`)
		answer, _ = c.hear()
		c.idle()
	}, func(t *testing.T, o *claude.Options) {
		u := &unsteady{MemoryStore: store.Memory()}
		o.Store = &claude.StoreOptions{Store: u, Project: mainKey.Project, Journal: t.TempDir()}
		s := connect(t, o)
		u.down.Store(true)
		pass(40 * time.Second)
		if answer.Type != "" {
			t.Errorf("answered %s although the lease was not renewed", answer.Line)
		}
		u.down.Store(false)
		pass(10 * time.Second)
		if !strings.Contains(string(answer.Line), `"success"`) || strings.Contains(string(answer.Line), "deny") {
			t.Errorf("answered %s", answer.Line)
		}
		finish(t, s)
	})
}

// Frames that pile up behind a waiting result do not end the session: the
// reader is not to blame.
func TestStoreBarrierIsNotSlowness(t *testing.T) {
	const n = 200
	bubble(t, func(c *cli) {
		c.greet()
		id := c.prompt()
		c.begin(id)
		c.mirrors(entry(0, "user"))
		c.result("answer", id)
		<-time.After(time.Second)
		for range n {
			c.text(strings.Repeat("x", 1000))
		}
		c.idle()
	}, func(t *testing.T, o *claude.Options) {
		u := &unsteady{MemoryStore: store.Memory()}
		u.down.Store(true)
		time.AfterFunc(30*time.Second, func() { u.down.Store(false) })
		o.Store = &claude.StoreOptions{Store: u, Project: mainKey.Project, Journal: t.TempDir()}
		o.Limits.Unread = 20_000
		s := connect(t, o)
		if _, err := s.Ask(t.Context(), "hello"); err != nil {
			t.Error(err)
		}
		count := 0
		for m, err := range s.Messages(t.Context()) {
			if _, ok := m.(*message.Assistant); !ok || err != nil {
				t.Fatalf("%v, %v", m, err)
			}
			if count++; count == n {
				break
			}
		}
		finish(t, s)
	})
}

// A reader that leaves while a result waits leaves the result to the next.
func TestStoreBarrierLeft(t *testing.T) {
	storing(t, 1, func(t *testing.T, u *unsteady, o *claude.Options) {
		s := connect(t, o)
		u.down.Store(true)
		if _, err := s.Send(t.Context(), "hello"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // in a bubble
		defer cancel()
		got, err := harness.Collect(s.Messages(ctx))
		if len(got) != 2 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%q, %v", got, err)
		}
		u.down.Store(false)
		for m, err := range s.Messages(t.Context()) {
			if _, ok := m.(*message.Result); !ok || err != nil {
				t.Errorf("then %v, %v", m, err)
			}
			break
		}
		finish(t, s)
	})
}

// Abort ends a session at once, with its cause, and stores nothing more.
func TestAbort(t *testing.T) {
	storing(t, 1, func(t *testing.T, u *unsteady, o *claude.Options) {
		o.Store.Flush = store.Eventually
		s := connect(t, o)
		u.down.Store(true)
		if _, err := s.Ask(t.Context(), "hello"); err != nil {
			t.Error(err)
		}
		enough := errors.New("enough")
		begin := time.Now()
		s.Abort(enough)
		err := s.Wait()
		if missing, ok := errors.AsType[*store.NotStoredError](err); !errors.Is(err, enough) || !ok || missing.Journal == "" {
			t.Errorf("Wait = %v", err)
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("it took %v", took)
		}
		if _, err := s.Send(t.Context(), "more"); !errors.Is(err, enough) {
			t.Errorf("Send = %v", err)
		}
		u.down.Store(false)
		pass(time.Minute)
		if got := stored(t, u, mainKey); len(got) > 0 {
			t.Errorf("stored %q", got)
		}
	})
}

func TestStoreOptionsAreChecked(t *testing.T) {
	mem := store.Memory()
	for want, o := range map[string]claude.Options{
		"Store.Store: is missing": {Store: &claude.StoreOptions{Project: "p"}},
		"Store.Project":           {Store: &claude.StoreOptions{Store: mem, Project: "../x"}},
		"Store.Flush":             {Store: &claude.StoreOptions{Store: mem, Project: "p", Flush: 7}},
		"Store.TTL":               {Store: &claude.StoreOptions{Store: mem, Project: "p", TTL: time.Millisecond}}, // real time: it is refused
		"Store.GiveUp":            {Store: &claude.StoreOptions{Store: mem, Project: "p", GiveUp: -2}},
		"Store.Fence: is for":     {Store: &claude.StoreOptions{Store: mem, Project: "p", Fence: store.Fence{Project: "q", Name: "n", Token: 1}}},
		"Store.Fence":             {Store: &claude.StoreOptions{Store: mem, Project: "p", Fence: store.Fence{Project: "p", Name: "../n", Token: 1}}},
		"NoPersistence":           {NoPersistence: true, Store: &claude.StoreOptions{Store: mem, Project: "p"}},
	} {
		o.Transport = unstarted{t}
		_, err := claude.Connect(t.Context(), &o)
		if _, ok := errors.AsType[*claude.OptionError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want an error about %s", err, want)
		}
	}
}
