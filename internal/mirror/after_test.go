package mirror

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// A batch whose outcome is unknown is tried again under its id, with the same entries, and
// nothing overtakes it: each line is stored once, in order, whatever the error was.
func TestUnknownOutcomeIsStoredOnce(t *testing.T) {
	for name, why := range map[string]error{"fault": errFault, "invalid": store.ErrInvalid, "deadline": context.DeadlineExceeded} {
		for _, done := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, stored: %v", name, done), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					memory := store.Memory()
					s := &scripted{MemoryStore: memory}
					key := store.Key{Project: "p", Session: session}
					var tried []string
					s.script(func(ctx context.Context, b store.Batch) error {
						tried = append(tried, fmt.Sprintf("%s %d %s", b.ID, len(b.Entries), b.Entries[0]))
						if len(tried) > 3 {
							return nil
						}
						if done {
							if err := memory.Append(ctx, key, b); err != nil {
								t.Error(err)
							}
						}
						return why
					})
					m := New(config(s, t.TempDir()))
					m.Start()
					m.Put(frame("", `{"uuid":"1"}`, `{"uuid":"2"}`))
					m.Hurry()
					synctest.Wait()
					m.Put(frame("", `{"uuid":"3"}`)) // must wait behind the first
					<-time.After(2 * maxPause)
					if err := m.Wait(t.Context(), 2); err != nil {
						t.Fatal(err)
					}
					if len(tried) != 5 || tried[0] != tried[1] || tried[0] != tried[2] || tried[0] != tried[3] || tried[0] == tried[4] {
						t.Errorf("tried %q", tried)
					}
					if got := strings.Join(load(t, s, ""), ""); got != `{"uuid":"1"}{"uuid":"2"}{"uuid":"3"}` {
						t.Errorf("stored %s", got)
					}
					if err := m.Close(t.Context()); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

// A mirror may be closed again, whether it was started or not. From then on what is stored
// is confirmed, and a frame that comes too late is refused at once: it is in the journal
// that the next Close names.
func TestAfterClose(t *testing.T) {
	for _, start := range []bool{true, false} {
		t.Run(fmt.Sprintf("started: %v", start), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := store.Memory()
				m := New(config(s, t.TempDir()))
				want := ""
				if start {
					m.Start()
					m.Put(frame("", `{"uuid":"1"}`))
					want = `{"uuid":"1"}`
				}
				for range 2 {
					if err := m.Close(t.Context()); err != nil {
						t.Errorf("Close = %v", err)
					}
				}
				if err := m.Wait(t.Context(), m.Count()); err != nil {
					t.Errorf("stored before: Wait = %v", err)
				}
				m.Put(frame("", `{"uuid":"late"}`))
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := m.Wait(ctx, m.Count()); err == nil || ctx.Err() != nil {
					t.Errorf("too late: Wait = %v, %v", err, ctx.Err())
				}
				missing, _ := errors.AsType[*store.NotStoredError](m.Close(t.Context()))
				if missing == nil || missing.Journal == "" {
					t.Fatalf("too late: Close = %v", missing)
				}
				if text, err := os.ReadFile(missing.Journal); err != nil || !strings.Contains(string(text), "late") {
					t.Errorf("the journal: %q, %v", text, err)
				}
				if got := strings.Join(load(t, s, ""), ""); got != want {
					t.Errorf("stored %s", got)
				}
			})
		})
	}
}

// Frames that no batch holds yet when the mirror is aborted are in the journal too, and
// Close reports them.
func TestAbortKeepsWhatJustCame(t *testing.T) {
	for _, before := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			m := New(config(store.Memory(), t.TempDir()))
			m.Start()
			if before {
				m.Put(frame("", `{"uuid":"1"}`))
			}
			m.Abort(store.ErrLeaseLost)
			if !before {
				synctest.Wait()
				m.Put(frame("", `{"uuid":"1"}`))
			}
			err := m.Close(t.Context())
			missing, _ := errors.AsType[*store.NotStoredError](err)
			if missing == nil || !errors.Is(err, store.ErrLeaseLost) || missing.Journal == "" {
				t.Fatalf("put before: %v; Close = %v", before, err)
			}
			if text, err := os.ReadFile(missing.Journal); err != nil || !strings.Contains(string(text), `{"uuid":"1"}`) {
				t.Errorf("put before: %v; the journal: %q, %v", before, text, err)
			}
		})
	}
}

// The reason why a store is given up is that of this outage, not of one that is over.
func TestReasonIsOfThisOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{MemoryStore: store.Memory(), append: down}
		m := New(config(s, t.TempDir()))
		m.Start()
		m.Put(frame("", `{"uuid":"1"}`))
		<-time.After(10 * time.Second)
		s.script(nil)
		if err := m.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		s.script(func(ctx context.Context, _ store.Batch) error { <-ctx.Done(); return ctx.Err() })
		m.cfg.GiveUp = callBound / 2 // before the first call has failed
		m.Put(frame("", `{"uuid":"2"}`))
		if err := m.Wait(t.Context(), 2); !errors.Is(err, errTooLong) || errors.Is(err, errFault) {
			t.Errorf("Wait = %v", err)
		}
		s.script(nil)
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Frames that keep coming do not put off the moment when a store that takes nothing is
// given up.
func TestGivenUpWhileFramesCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{MemoryStore: store.Memory(), append: down}
		cfg := config(s, t.TempDir())
		m := New(cfg)
		m.Start()
		begin := time.Now()
		waited := make(chan error, 1)
		m.Put(frame("", `{"uuid":"0"}`))
		go func() { waited <- m.Wait(t.Context(), 1) }()
		for n := range 3 * int(cfg.GiveUp/time.Second) {
			<-time.After(time.Second)
			m.Put(frame("", fmt.Sprintf(`{"uuid":"%d"}`, n+1)))
			if len(waited) > 0 {
				break
			}
		}
		if took := time.Since(begin); took > cfg.GiveUp+2*time.Second {
			t.Errorf("given up after %v", took)
		}
		if err := <-waited; !errors.Is(err, errFault) {
			t.Errorf("Wait = %v", err)
		}
		s.script(nil)
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// The end of one wait does not slow down another: a frame that a caller awaits is stored as
// soon as it comes.
func TestOtherWaitsAreNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(config(store.Memory(), t.TempDir()))
		m.Start()
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- m.Wait(t.Context(), 1) }()
		synctest.Wait()
		go func() { second <- m.Wait(t.Context(), 2) }()
		synctest.Wait()
		for _, waited := range []chan error{first, second} {
			begin := time.Now()
			m.Put(frame("", `{"uuid":"1"}`))
			if err := <-waited; err != nil || time.Since(begin) > 0 {
				t.Errorf("stored after %v, %v", time.Since(begin), err)
			}
			synctest.Wait()
		}
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A journal that cannot be written is part of the error: its reader must not rely on it.
func TestErrorNamesTheJournalsFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := t.TempDir() + "/file"
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		s := &scripted{MemoryStore: store.Memory(), append: down}
		m := New(config(s, path))
		m.Start()
		m.Put(frame("", `{"uuid":"1"}`))
		err := m.Wait(t.Context(), 1)
		missing, _ := errors.AsType[*store.NotStoredError](err)
		if missing == nil || missing.Journal != "" || !errors.Is(err, errFault) || !strings.Contains(err.Error(), path) {
			t.Errorf("Wait = %v", err)
		}
		s.script(nil)
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
