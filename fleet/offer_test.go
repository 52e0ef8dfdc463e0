package fleet_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/storefault"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// resting opens a fleet whose conversation "ada" has answered a prompt, and has nothing to do.
func resting(t *testing.T, s store.Fleet, cli claude.Transport, change func(*fleet.Options)) *fleet.Fleet {
	t.Helper()
	f := open(t, s, cli, change)
	ask(t, f, "ada", "one")
	synctest.Wait()
	return f
}

// A prompt for an idle conversation does not overtake one that another process had
// queued before, even if that one was not announced.
func TestOfferOvertakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		f := open(t, db, newScripted(), func(o *fleet.Options) { o.Poll = time.Hour })
		defer closeFleet(t, f)
		other := open(t, db, newScripted(), func(o *fleet.Options) { o.MaxLive, o.Poll = fleet.NoCLIs, time.Hour })
		defer closeFleet(t, other)
		ask(t, f, "ada", "one")
		synctest.Wait()
		send(t, other, "ada", "two")
		if got := ask(t, f, "ada", "three"); got != "heard one, two, three" {
			t.Errorf("answer %q", got)
		}
	})
}

// Whatever goes wrong with the write that accepts a prompt and begins it, Send reports
// that it is accepted, and it is answered once.
func TestOfferWhateverFails(t *testing.T) {
	for fault := storefault.Fail; fault <= storefault.Late; fault++ {
		for failures := 1; failures <= 2; failures++ {
			t.Run(fault.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var armed atomic.Bool
					log := loggedCalls{fault: func(method string, n int) storefault.Kind {
						if armed.Load() && method == "Change" && n <= failures {
							return fault
						}
						return storefault.None
					}}
					f := resting(t, storefault.Wrap(store.Memory(), log.choose), newScripted(), nil)
					defer closeFleet(t, f)
					log.take()
					armed.Store(true)
					for _, text := range []string{"two", "three"} {
						if got := ask(t, f, "ada", text); !strings.HasSuffix(got, text) {
							t.Errorf("answer %q", got)
						}
						<-time.After(5 * time.Minute)
					}
					if got := ask(t, f, "ada", "four"); got != "heard one, two, three, four" {
						t.Errorf("answer %q", got)
					}
				})
			})
		}
	}
}

// tampered is a store in memory whose calls can be tampered with.
type tampered struct {
	*store.MemoryStore

	mu     sync.Mutex
	change func(changes []store.RecordChange, do func() ([]int64, error)) ([]int64, error)
	get    func() error
	late   func() // after the time was read, before it is returned
}

// set replaces the functions from now on; nil: the usual.
func (h *tampered) set(change func([]store.RecordChange, func() ([]int64, error)) ([]int64, error), get func() error, late func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.change, h.get, h.late = change, get, late
}

func (h *tampered) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	h.mu.Lock()
	change := h.change
	h.mu.Unlock()
	do := func() ([]int64, error) { return h.MemoryStore.Change(context.WithoutCancel(ctx), f, c...) } // perhaps after the call
	if change != nil {
		return change(c, do)
	}
	return do()
}

func (h *tampered) View(ctx context.Context, v store.View) ([]store.Record, error) {
	h.mu.Lock()
	get := h.get
	h.mu.Unlock()
	if get != nil {
		if err := get(); err != nil {
			return nil, err
		}
	}
	return h.MemoryStore.View(ctx, v)
}

func (h *tampered) Now(ctx context.Context) (time.Time, error) {
	h.mu.Lock()
	late := h.late
	h.mu.Unlock()
	now, err := h.MemoryStore.Now(ctx)
	if late != nil {
		late()
	}
	return now, err
}

// A caller that stops waiting for Send learns whether the prompt may have been
// accepted, and one that was is answered.
func TestOfferGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &tampered{MemoryStore: store.Memory()}
		f := resting(t, h, newScripted(), nil)
		defer closeFleet(t, f)
		ctx, cancel := context.WithCancel(t.Context())
		written := make(chan struct{})
		h.set(func(changes []store.RecordChange, do func() ([]int64, error)) ([]int64, error) {
			if changes[0].IfEmpty != "" {
				cancel()
				<-written
			}
			return do()
		}, nil, nil)
		_, err := f.Send(ctx, "ada", fleet.Prompt{Text: "two"})
		if !errors.Is(err, context.Canceled) || !isInDoubt(err) {
			t.Errorf("Send: %v", err)
		}
		close(written)
		synctest.Wait()
		if got := ask(t, f, "ada", "three"); got != "heard one, two, three" {
			t.Errorf("answer %q", got)
		}
	})
}

// A prompt that begins at once has begun: Send has returned when an interrupt comes,
// which then means it.
func TestOfferInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		f := resting(t, store.Memory(), cli, nil)
		defer closeFleet(t, f)
		defer cli.pause()()
		id, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "two"})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Interrupt(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if o := outcome(t, f, "ada", id); !o.Interrupted {
			t.Errorf("%+v", o)
		}
	})
}

// Several who send at once to an idle conversation are all answered, and each in the
// order in which it sent.
func TestOffersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, store.Memory(), newScripted(), nil)
		defer closeFleet(t, f)
		ask(t, f, "ada", "begin")
		const senders, each = 4, 5
		done := make(chan struct{})
		for i := range senders {
			go func() {
				defer func() { done <- struct{}{} }()
				for j := range each {
					if _, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: string(rune('a'+i)) + string(rune('0'+j))}); err != nil {
						t.Error(err)
					}
				}
			}()
		}
		for range senders {
			<-done
		}
		all := strings.Split(strings.TrimPrefix(ask(t, f, "ada", "end"), "heard "), ", ")
		if len(all) != senders*each+2 {
			t.Fatalf("heard %q", all)
		}
		for i := range senders {
			own := slices.DeleteFunc(slices.Clone(all[1:len(all)-1]), func(text string) bool { return text[0] != byte('a'+i) })
			if !slices.IsSorted(own) || len(own) != each {
				t.Errorf("heard %q", own)
			}
		}
	})
}

// The CLI gets the content that was accepted, whatever the caller does with its buffer
// once Send has returned.
func TestOfferContentIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		sent := make(chan struct{})
		var wait atomic.Bool
		cli := newScripted()
		f := open(t, db, cli, func(o *fleet.Options) {
			o.Trace = &fleet.PromptTrace{Running: func(ctx context.Context, p fleet.TracePrompt) (context.Context, func(fleet.TraceOutcome) map[string]string) {
				if wait.Load() {
					<-sent
				}
				return ctx, nil
			}}
		})
		defer closeFleet(t, f)
		ask(t, f, "ada", "one")
		synctest.Wait()
		wait.Store(true)
		content := message.Content{message.Text("two")}
		id, err := f.Send(t.Context(), "ada", fleet.Prompt{Content: content})
		if err != nil {
			t.Fatal(err)
		}
		content[0] = message.Text("something else") // the buffer is used again
		close(sent)
		synctest.Wait()
		if o := outcome(t, f, "ada", id); o.Text != "heard one, two" {
			t.Errorf("answer %q", o.Text)
		}
	})
}

// A prompt that may have been written is reported as such, even if the store fails when
// Send then wants to queue it.
func TestOfferMaybeAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &tampered{MemoryStore: store.Memory()}
		f := resting(t, h, newScripted(), nil)
		defer closeFleet(t, f)
		var down atomic.Bool
		h.set(func(changes []store.RecordChange, do func() ([]int64, error)) ([]int64, error) {
			next, err := do()
			if changes[0].IfEmpty != "" {
				down.Store(true)
				return nil, storefault.ErrFault // its reply is lost
			}
			return next, err
		}, func() error {
			if down.Load() {
				return storefault.ErrFault
			}
			return nil
		}, nil)
		_, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "two"})
		down.Store(false)
		h.set(nil, nil, nil)
		<-time.After(time.Minute)
		got := ask(t, f, "ada", "three")
		if err != nil && !isInDoubt(err) && strings.Contains(got, "two") {
			t.Errorf("Send said %q, which means that the prompt is not accepted; but %q", err, got)
		}
	})
}

// A prompt that the store refuses, or whose write fails, does not end the CLI of its
// conversation, with all that works there in the background.
func TestOfferRefusedKeepsCLI(t *testing.T) {
	for name, try := range map[string]func(*testing.T, *fleet.Fleet, *tampered){
		"too large": func(t *testing.T, f *fleet.Fleet, _ *tampered) {
			if _, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: strings.Repeat("x", store.MaxRecord)}); !errors.Is(err, store.ErrInvalid) {
				t.Error(err)
			}
		},
		"one write fails": func(t *testing.T, f *fleet.Fleet, h *tampered) {
			failed := false
			h.set(func(changes []store.RecordChange, do func() ([]int64, error)) ([]int64, error) {
				if changes[0].IfEmpty != "" && !failed {
					failed = true
					return nil, storefault.ErrFault
				}
				return do()
			}, nil, nil)
			if _, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "two"}); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &tampered{MemoryStore: store.Memory()}
				cli := newScripted()
				f := resting(t, h, cli, nil)
				defer closeFleet(t, f)
				before := cli.started()
				try(t, f, h)
				<-time.After(5 * time.Second)
				ask(t, f, "ada", "three")
				if after := cli.started(); after != before {
					t.Errorf("%d CLIs were begun, then %d", before, after)
				}
			})
		})
	}
}

// A prompt that was accepted elsewhere before Send was called is not overtaken if the
// write of the offer fails, even if this process knows the time of the store late.
func TestOfferFailedOvertakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		h := &tampered{MemoryStore: db}
		f := open(t, h, newScripted(), func(o *fleet.Options) { o.Poll = time.Hour })
		defer closeFleet(t, f)
		other := open(t, db, newScripted(), func(o *fleet.Options) { o.MaxLive, o.Poll = fleet.NoCLIs, time.Hour })
		defer closeFleet(t, other)
		ask(t, f, "ada", "zero")
		<-time.After(20 * time.Second)
		h.set(nil, nil, func() { <-time.After(2 * time.Second) }) // a slow answer
		ask(t, f, "ada", "one")
		h.set(nil, nil, nil)
		synctest.Wait()
		<-time.After(time.Second)
		send(t, other, "ada", "two") // accepted, and not announced here
		h.set(func(changes []store.RecordChange, do func() ([]int64, error)) ([]int64, error) {
			if changes[0].IfEmpty != "" {
				return nil, storefault.ErrFault
			}
			return do()
		}, nil, nil)
		if _, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "three"}); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if got := ask(t, f, "ada", "four"); got != "heard zero, one, two, three, four" {
			t.Errorf("answer %q", got)
		}
	})
}

// A caller that stops waiting races with the writer: the prompt is not shared.
func TestOfferGivenUpRace(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			h := &tampered{MemoryStore: store.Memory()}
			f := resting(t, h, newScripted(), nil)
			defer closeFleet(t, f)
			ctx, cancel := context.WithCancel(t.Context())
			h.set(func(changes []store.RecordChange, do func() ([]int64, error)) ([]int64, error) {
				if changes[0].IfEmpty != "" {
					cancel()
				}
				return do()
			}, nil, nil)
			_, _ = f.Send(ctx, "ada", fleet.Prompt{Text: "two"})
			synctest.Wait()
		})
	}
}

// silent is a store that can be watched, and announces no change.
type silent struct{ *tampered }

func (s silent) Watch(ctx context.Context, _ string) iter.Seq2[store.Changed, error] {
	return func(yield func(store.Changed, error) bool) {
		if yield(store.Changed{}, nil) {
			<-ctx.Done()
		}
	}
}

// A prompt that was written although the store reported an error runs, even if its
// sender does not wait for an answer, and no process polls the store.
func TestOfferWrittenUnseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &tampered{MemoryStore: store.Memory()}
		cli := newScripted()
		f := resting(t, silent{h}, cli, func(o *fleet.Options) { o.Poll, o.IdleAfter = time.Hour, time.Hour })
		defer closeFleet(t, f)
		ctx, cancel := context.WithCancel(t.Context())
		h.set(func(changes []store.RecordChange, do func() ([]int64, error)) ([]int64, error) {
			next, err := do()
			if changes[0].IfEmpty != "" {
				cancel()
				synctest.Wait() // Send has returned
				return nil, storefault.ErrFault
			}
			return next, err
		}, nil, nil)
		if _, err := f.Send(ctx, "ada", fleet.Prompt{Text: "two"}); !errors.Is(err, context.Canceled) {
			t.Errorf("Send: %v", err)
		}
		<-time.After(time.Minute)
		cli.mu.Lock()
		defer cli.mu.Unlock()
		if want := []string{"one", "two"}; !slices.Equal(cli.calls, want) {
			t.Errorf("the CLI was asked %q, want %q", cli.calls, want)
		}
	})
}

// A prompt that is written long after the store has reported an error is not overtaken by
// one that is sent after another process has found it and calls it accepted.
func TestOfferWrittenLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		h := &tampered{MemoryStore: db}
		cli := newScripted()
		f := resting(t, silent{h}, cli, func(o *fleet.Options) { o.Poll, o.IdleAfter = time.Hour, time.Hour })
		defer closeFleet(t, f)
		other := open(t, db, newScripted(), func(o *fleet.Options) { o.MaxLive, o.Poll = fleet.NoCLIs, time.Hour })
		defer closeFleet(t, other)
		ctx, cancel := context.WithCancel(t.Context())
		var late func() ([]int64, error)
		var name string
		h.set(func(changes []store.RecordChange, do func() ([]int64, error)) ([]int64, error) {
			if changes[0].IfEmpty == "" || late != nil {
				return do()
			}
			late, name = do, changes[0].Key.Name
			cancel()
			synctest.Wait() // Send has returned
			return nil, storefault.ErrFault
		}, nil, nil)
		if _, err := f.Send(ctx, "ada", fleet.Prompt{Text: "two"}); !errors.Is(err, context.Canceled) {
			t.Fatalf("Send: %v", err)
		}
		<-time.After(time.Minute) // its owner has looked, and has not found it
		if _, err := late(); err != nil {
			t.Fatal(err)
		}
		_, id, _ := strings.Cut(name, "-")
		if _, err := other.Send(t.Context(), "ada", fleet.Prompt{ID: id, Text: "two"}); err != nil { // as the error has advised
			t.Fatal(err)
		}
		if got := ask(t, f, "ada", "three"); got != "heard one, two, three" {
			t.Errorf("answer %q", got)
		}
	})
}
