package fleet_test

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// isInDoubt reports whether an error of Send means that the prompt may be accepted.
func isInDoubt(err error) bool {
	_, ok := errors.AsType[*fleet.InDoubtError](err)
	return ok
}

// hanging is a store in memory whose changes, and if reads is set whose reads too, do
// not end before their context does.
type hanging struct {
	store.Fleet
	changes, prompts, reads atomic.Bool
}

func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func (h *hanging) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	if h.changes.Load() || h.prompts.Load() && puts(c, "prompt") {
		return nil, hang(ctx)
	}
	return h.Fleet.Change(ctx, f, c...)
}

func (h *hanging) Acquire(ctx context.Context, project, name, owner string, ttl time.Duration) (store.Lease, error) {
	if h.changes.Load() {
		return store.Lease{}, hang(ctx)
	}
	return h.Fleet.Acquire(ctx, project, name, owner, ttl)
}

func (h *hanging) View(ctx context.Context, v store.View) ([]store.Record, error) {
	if h.reads.Load() {
		return nil, hang(ctx)
	}
	return h.Fleet.View(ctx, v)
}

func (h *hanging) Scan(ctx context.Context, in store.Folder, after string) iter.Seq2[store.Record, error] {
	if h.reads.Load() {
		return func(yield func(store.Record, error) bool) { yield(store.Record{}, hang(ctx)) }
	}
	return h.Fleet.Scan(ctx, in, after)
}

// openHanging opens a fleet that runs nothing, with a prompt that waits and a question.
func openHanging(t *testing.T, timeout time.Duration) (h *hanging, f *fleet.Fleet, id, question string) {
	t.Helper()
	h = &hanging{Fleet: store.Memory()}
	f = open(t, h, nil, func(o *fleet.Options) {
		o.Session, o.MaxLive, o.StoreTimeout = nil, fleet.NoCLIs, timeout
	})
	id, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "one"})
	if err != nil {
		t.Fatal(err)
	}
	q, err := approval.NewQuestions(h.Fleet, "p").Ask(t.Context(), approval.Question{Conversation: "ada", Tool: "Bash", ToolUseID: "toolu_1", Input: []byte(`{}`)}, store.Fence{})
	if err != nil {
		t.Fatal(err)
	}
	return h, f, id, q.ID
}

// No call of a fleet hangs with its store: it ends after Options.StoreTimeout, with
// ErrTimeout.
func TestCallsEndWhileTheStoreHangs(t *testing.T) {
	type call = func(ctx context.Context, f *fleet.Fleet, prompt, question string) error
	changes := map[string]call{
		"Send": func(ctx context.Context, f *fleet.Fleet, _, _ string) error {
			_, err := f.Send(ctx, "eve", fleet.Prompt{Text: "two"})
			return err
		},
		"Cancel": func(ctx context.Context, f *fleet.Fleet, prompt, _ string) error { return f.Cancel(ctx, "ada", prompt) },
		"Delete": func(ctx context.Context, f *fleet.Fleet, _, _ string) error { return f.Delete(ctx, "ada") },
		"Decide": func(ctx context.Context, f *fleet.Fleet, _, question string) error {
			_, err := f.Approvals().Decide(ctx, question, approval.Answer{By: "ann", Digest: approval.Digest([]byte(`{}`)), Decision: permission.Allow()})
			return err
		},
		"SetModel": func(ctx context.Context, f *fleet.Fleet, _, _ string) error { return f.SetModel(ctx, "ada", "opus") },
		"Describe": func(ctx context.Context, f *fleet.Fleet, _, _ string) error {
			return f.Describe(ctx, "ada", fleet.Description{Title: "the first"})
		},
		"SetPermissionMode": func(ctx context.Context, f *fleet.Fleet, _, _ string) error {
			return f.SetPermissionMode(ctx, "ada", permission.ModePlan)
		},
	}
	reads := map[string]call{
		"Prompt": func(ctx context.Context, f *fleet.Fleet, prompt, _ string) error {
			_, err := f.Prompt(ctx, "ada", prompt)
			return err
		},
		"Get":       func(ctx context.Context, f *fleet.Fleet, _, _ string) error { _, err := f.Get(ctx, "ada"); return err },
		"Interrupt": func(ctx context.Context, f *fleet.Fleet, _, _ string) error { return f.Interrupt(ctx, "ada") },
		"Retry":     func(ctx context.Context, f *fleet.Fleet, _, _ string) error { return f.Retry(ctx, "ada") },
		"List":      func(ctx context.Context, f *fleet.Fleet, _, _ string) error { return firstError(f.List(ctx)) },
		"List of a tenant": func(ctx context.Context, f *fleet.Fleet, _, _ string) error {
			return firstError(f.Tenant("acme").List(ctx))
		},
		"Fork": func(ctx context.Context, f *fleet.Fleet, _, _ string) error { return f.Fork(ctx, "ada", "eve", "") },
		"questions": func(ctx context.Context, f *fleet.Fleet, _, _ string) error {
			return firstError(f.Approvals().List(ctx, approval.Filter{}))
		},
		"question": func(ctx context.Context, f *fleet.Fleet, _, question string) error {
			_, err := f.Approvals().Get(ctx, question)
			return err
		},
	}
	try := func(name string, do call, timeout, want time.Duration, block func(*hanging)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, f, id, question := openHanging(t, timeout)
				block(h)
				begin := time.Now()
				err := do(t.Context(), f, id, question)
				if took := time.Since(begin); !errors.Is(err, fleet.ErrTimeout) || took != want {
					t.Errorf("%v after %v", err, took)
				}
				h.changes.Store(false)
				h.reads.Store(false)
				closeFleet(t, f)
			})
		})
	}
	for name, do := range changes {
		try(name, do, 0, 10*time.Second, func(h *hanging) { h.changes.Store(true) })
		try(name+" with a timeout", do, time.Second, time.Second, func(h *hanging) { h.changes.Store(true) })
	}
	for name, do := range reads {
		try(name, do, 0, 10*time.Second, func(h *hanging) { h.reads.Store(true) })
	}
}

// Resume does not hang with the store either.
func TestResumeEndsWhileTheStoreHangs(t *testing.T) {
	for name, block := range map[string]func(*hanging){
		"reads":   func(h *hanging) { h.reads.Store(true) },
		"changes": func(h *hanging) { h.changes.Store(true) },
	} {
		for how, from := range map[string]func(*disk) fleet.ResumeFrom{"whole": (*disk).from, "fork": (*disk).fork} {
			t.Run(name+", "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h, f, _, _ := openHanging(t, 0)
					defer closeFleet(t, f)
					d := newDisk(t, "hello")
					block(h)
					begin := time.Now()
					err := f.Resume(t.Context(), "bob", from(d))
					if took := time.Since(begin); !errors.Is(err, fleet.ErrTimeout) || took > 30*time.Second {
						t.Errorf("%v after %v", err, took)
					}
					h.reads.Store(false)
					h.changes.Store(false)
				})
			})
		}
	}
}

// firstError is the error with which a loop ends.
func firstError[T any](all iter.Seq2[T, error]) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// slowly is a store that takes a while for each record of a scan.
type slowly struct {
	store.Fleet
	each time.Duration
}

func (s *slowly) Scan(ctx context.Context, in store.Folder, after string) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for r, err := range s.Fleet.Scan(ctx, in, after) {
			select {
			case <-time.After(s.each):
			case <-ctx.Done():
				yield(store.Record{}, ctx.Err())
				return
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// A list that takes longer than the store may take for one thing is not cut off, neither
// because there is much to read nor because its reader is slow.
func TestLongList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		f := open(t, &slowly{db, 3 * time.Second}, nil, func(o *fleet.Options) {
			o.Session, o.MaxLive, o.StoreTimeout, o.Poll = nil, fleet.NoCLIs, 10*time.Second, time.Hour
		})
		defer closeFleet(t, f)
		for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
			send(t, f, key, "hello")
		}
		n := 0
		for _, err := range f.List(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			n++
			<-time.After(time.Minute)
		}
		if n != 6 {
			t.Errorf("%d conversations", n)
		}
		// Nor because it has little of what there is to read.
		questions := approval.NewQuestions(db, "p")
		for _, tool := range []string{"a", "b", "c", "d", "e", "f"} {
			if _, err := questions.Ask(t.Context(), approval.Question{Conversation: "a", Tool: "Bash", ToolUseID: tool, Input: []byte(`{}`)}, store.Fence{}); err != nil {
				t.Fatal(err)
			}
		}
		for q, err := range f.Approvals().List(t.Context(), approval.Filter{States: []approval.State{approval.StateGone}}) {
			t.Errorf("%+v, %v", q, err)
		}
	})
}

// A Send whose write hangs returns an error with the id of the prompt, even when it has
// made the id. Sent again with it, the prompt is accepted once, whether or not the first
// write has come through.
func TestSendInDoubt(t *testing.T) {
	for _, given := range []string{"", "7b1d5c8e-6a3f-4e0b-9c55-0d2f8f1e2a11"} {
		synctest.Test(t, func(t *testing.T) {
			h, f, _, _ := openHanging(t, 0)
			defer closeFleet(t, f)
			h.prompts.Store(true)
			begin := time.Now()
			_, err := f.Send(t.Context(), "ada", fleet.Prompt{ID: given, Text: "two"})
			doubt, ok := errors.AsType[*fleet.InDoubtError](err)
			if took := time.Since(begin); !ok || !errors.Is(err, fleet.ErrTimeout) || doubt.Key != "ada" || took != 10*time.Second {
				t.Fatalf("%v after %v", err, took)
			}
			if given != "" && doubt.Prompt != given {
				t.Errorf("the error is about prompt %s, not %s", doubt.Prompt, given)
			}
			h.prompts.Store(false)
			for range 2 {
				if id, err := f.Send(t.Context(), "ada", fleet.Prompt{ID: doubt.Prompt, Text: "two"}); err != nil || id != doubt.Prompt {
					t.Errorf("sent again: %s, %v", id, err)
				}
			}
			if info, err := f.Get(t.Context(), "ada"); err != nil || info.Queued != 2 {
				t.Errorf("%d prompts wait, want 2 (%v)", info.Queued, err)
			}
		})
	}
}

// A prompt that is sent again while the store hangs stays in doubt: nothing is known
// about the first attempt. One that was never sent before is not accepted.
func TestSendAgainWhileTheStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, f, id, _ := openHanging(t, 0)
		defer closeFleet(t, f)
		h.reads.Store(true)
		if _, err := f.Send(t.Context(), "ada", fleet.Prompt{ID: id, Text: "one"}); !isInDoubt(err) {
			t.Errorf("sent again: %v", err)
		}
		if _, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "two"}); isInDoubt(err) || !errors.Is(err, fleet.ErrTimeout) {
			t.Errorf("a new prompt: %v", err)
		}
		h.reads.Store(false)
	})
}

// The end of the caller's own context is not the store's fault.
func TestOwnContextEndsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, f, id, _ := openHanging(t, 0)
		defer closeFleet(t, f)
		h.reads.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := f.Prompt(ctx, "ada", id); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, fleet.ErrTimeout) {
			t.Errorf("Prompt: %v", err)
		}
		h.reads.Store(false)
	})
}

// A prompt that waits until another of its conversation is written gives up when its own
// time is over, and can be sent again then.
func TestSendWaitsForAnotherNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hanging{Fleet: store.Memory()}
		f := open(t, h, newScripted(), nil)
		defer closeFleet(t, f)
		ask(t, f, "ada", "hello")
		<-time.After(time.Hour) // it sleeps
		h.prompts.Store(true)
		slow, end := context.WithCancel(t.Context())
		first := make(chan error, 1)
		go func() {
			_, err := f.Send(slow, "ada", fleet.Prompt{Text: "slow"})
			first <- err
		}()
		synctest.Wait()
		begin := time.Now()
		short, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		const id = "7b1d5c8e-6a3f-4e0b-9c55-0d2f8f1e2a12"
		_, err := f.Send(short, "ada", fleet.Prompt{ID: id, Text: "short"})
		if !errors.Is(err, context.DeadlineExceeded) || !isInDoubt(err) || time.Since(begin) != 3*time.Second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		h.prompts.Store(false)
		end()
		if err := <-first; !isInDoubt(err) {
			t.Errorf("the first prompt: %v", err)
		}
		if _, err := f.Send(t.Context(), "ada", fleet.Prompt{ID: id, Text: "short"}); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if o := outcome(t, f, "ada", id); o.Status != fleet.PromptAnswered {
			t.Errorf("sent again: %+v", o)
		}
	})
}
