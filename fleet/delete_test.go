package fleet_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/storefault"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// left returns everything that a store has of a conversation: its records but for the
// stubs of its questions, and its transcripts.
func left(t *testing.T, db store.Fleet) (names []string) {
	t.Helper()
	for _, kind := range []string{"conversation", "prompt", "outcome", "deletion", "copying", "rules", "calls"} {
		for r, err := range db.Scan(t.Context(), store.Folder{Project: "p", Kind: kind}, "") {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, kind+" "+r.Key.Name)
		}
	}
	for s, err := range db.List(t.Context(), "p") {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, "session "+s.Session)
	}
	return names
}

// Delete leaves nothing behind, whatever the conversation is doing. Then the key
// can be used again.
func TestDelete(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, f *fleet.Fleet, cli *scripted){
		"asleep": func(t *testing.T, f *fleet.Fleet, _ *scripted) {
			ask(t, f, "ada", "hello")
			<-time.After(5 * time.Minute)
		},
		"idle": func(t *testing.T, f *fleet.Fleet, _ *scripted) { ask(t, f, "ada", "hello") },
		"running, with others behind": func(t *testing.T, f *fleet.Fleet, cli *scripted) {
			cli.hold = make(chan struct{})
			for range 3 {
				send(t, f, "ada", "hello")
			}
		},
		"asking": func(t *testing.T, f *fleet.Fleet, _ *scripted) { send(t, f, "ada", "tool 1") },
		"deferred": func(t *testing.T, f *fleet.Fleet, _ *scripted) {
			send(t, f, "ada", "tool 1")
			<-time.After(5 * time.Minute)
		},
		"with a rule": func(t *testing.T, f *fleet.Fleet, _ *scripted) {
			send(t, f, "ada", "tool 1")
			q := question(t, f)
			_, err := f.Approvals().Decide(t.Context(), q.ID, approval.Answer{Decision: permission.Allow(), By: "ada", Digest: q.Digest, Always: []string{"Bash(make 1)"}})
			if err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, cli := store.Memory(), newScripted()
				f := gated(t, db, cli)
				defer closeFleet(t, f)
				prepare(t, f, cli)
				var watched error
				go func() {
					for _, err := range f.Events(t.Context(), "ada", "") {
						watched = err
					}
				}()
				synctest.Wait()
				if err := f.Delete(t.Context(), "ada"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if live, _ := cli.counts(); live != 0 {
					t.Errorf("%d CLIs run", live)
				}
				if got := left(t, db); len(got) > 0 {
					t.Errorf("left are %q", got)
				}
				if !errors.Is(watched, fleet.ErrUnknown) && !errors.Is(watched, fleet.ErrDeleted) {
					t.Errorf("a reader gets %v", watched)
				}
				for q, err := range f.Approvals().List(t.Context(), approval.Filter{}) {
					if err != nil || string(q.Input) != "null" || q.Answer != nil {
						t.Errorf("left is %+v, %v", q, err)
					}
					_, err = f.Approvals().Decide(t.Context(), q.ID, approval.Answer{Decision: permission.Allow(), By: "ada", Digest: q.Digest})
					if q.Outcome == approval.OutcomeDeleted && !errors.Is(err, approval.ErrGone) {
						t.Errorf("decided late: %v", err)
					}
				}
				for method, call := range calls(t.Context(), f, "ada") {
					if method == "Send" || method == "Run" || method == "Describe" { // they make it
						continue
					}
					if err := call(); !errors.Is(err, fleet.ErrUnknown) {
						t.Errorf("%s: %v", method, err)
					}
				}
				if cli.hold != nil {
					close(cli.hold)
					cli.hold = nil
				}
				if got := ask(t, f, "ada", "again"); got != "heard again" {
					t.Errorf("answer %q", got)
				}
			})
		})
	}
}

// The watchers of a prompt learn that its conversation was deleted.
func TestDeleteCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		cli.hold = make(chan struct{})
		f := open(t, store.Memory(), cli, nil)
		defer closeFleet(t, f)
		var errs [2]error
		for n := range errs {
			go func() { _, errs[n] = result(f.Run(t.Context(), "ada", "hello")) }()
			synctest.Wait()
		}
		if err := f.Delete(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for n, err := range errs {
			if failed, ok := errors.AsType[*fleet.FailedError](err); !ok || failed.Ticket.Status != fleet.PromptCancelled {
				t.Errorf("prompt %d: %v", n, err)
			}
		}
	})
}

// A deletion that fails before it has begun to remove anything has only interrupted the
// turn, which continues.
func TestDeleteFails(t *testing.T) {
	untouched := 0
	for n, more := 1, true; more && n < 60 && !t.Failed(); n++ {
		synctest.Test(t, func(t *testing.T) {
			r := newFaultRig(t)
			release := r.cli.pause()
			r.must(1, "ada", "hello") // one prompt: another would be looked at in any case
			r.fault.set(n, storefault.Fail)
			err := r.f.Delete(t.Context(), "ada")
			more = !r.fault.pending()
			r.fault.set(0, 0)
			release()
			<-time.After(time.Minute)
			if info, gone := r.f.Get(t.Context(), "ada"); err == nil || gone != nil {
				return // a deletion that has begun is finished by the next fleet, see TestDeleteCutOff
			} else if info.Queued != 0 {
				t.Errorf("call %d: %d prompts wait in a conversation that is %s", n, info.Queued, info.State)
			}
			if o := outcome(t, r.f, "ada", promptID(1)); o.Status != fleet.PromptAnswered {
				t.Errorf("call %d: %+v", n, o)
			}
			untouched++
			closeFleet(t, r.f)
		})
	}
	if untouched < 2 {
		t.Errorf("%d deletions have failed in time", untouched)
	}
}

// A conversation that another process runs is left alone.
func TestDeleteElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		cli.hold = make(chan struct{})
		f := open(t, db, cli, nil)
		id := send(t, f, "ada", "hello")
		other := open(t, db, newScripted(), nil)
		if err := other.Delete(t.Context(), "ada"); !errors.Is(err, fleet.ErrElsewhere) {
			t.Errorf("deleted: %v", err)
		}
		close(cli.hold)
		<-time.After(time.Minute)
		if o := outcome(t, f, "ada", id); o.Status != fleet.PromptAnswered {
			t.Errorf("%+v", o)
		}
		closeFleet(t, other)
		closeFleet(t, f)
	})
}

// A deletion that a crash cuts off, in whichever call of the store, is finished
// by the next fleet, or was not begun.
func TestDeleteCutOff(t *testing.T) {
	for n := 1; ; n++ {
		done := false
		synctest.Test(t, func(t *testing.T) {
			db, cli := store.Memory(), newScripted()
			m := start(t, db, cli, nil)
			send(t, m.fleet, "ada", "tool 1")
			<-time.After(5 * time.Minute)
			send(t, m.fleet, "ada", "behind")
			done = cutOff(t, m, n, func(ctx context.Context) error { return m.fleet.Delete(ctx, "ada") })
			m = start(t, db, cli, nil)
			defer closeFleet(t, m.fleet)
			<-time.After(5 * time.Minute)
			got := left(t, db)
			_, err := m.fleet.Get(t.Context(), "ada")
			switch {
			case errors.Is(err, fleet.ErrUnknown) && len(got) == 0:
			case err == nil && !slices.Contains(got, "deletion c/ada"):
				if q := question(t, m.fleet); string(q.Input) == "null" {
					t.Errorf("cut off at %d: half of it is there: %q", n, got)
				}
			default:
				t.Errorf("cut off at call %d: %v, left are %q", n, err, got)
			}
		})
		if done || t.Failed() {
			return
		}
	}
}

// A fork knows what was said up to its message, and is apart from then on.
func TestFork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		f := open(t, db, newScripted(), nil)
		defer closeFleet(t, f)
		ask(t, f, "acme/ada", "one")
		if err := errors.Join(f.SetModel(t.Context(), "acme/ada", "opus"), f.SetPermissionMode(t.Context(), "acme/ada", permission.ModePlan)); err != nil {
			t.Fatal(err)
		}
		var first string
		for e, err := range f.Events(t.Context(), "acme/ada", "") {
			if err != nil {
				t.Fatal(err)
			}
			if a, ok := e.Message.(*message.Assistant); ok {
				first = a.UUID
				break
			}
		}
		ask(t, f, "acme/ada", "two")
		acme := f.Tenant("acme")
		if err := errors.Join(acme.Fork(t.Context(), "acme/ada", "acme/all", ""), acme.Fork(t.Context(), "acme/ada", "acme/some", first)); err != nil {
			t.Fatal(err)
		}
		for key, want := range map[string]string{"acme/ada": "heard one, two, three", "acme/all": "heard one, two, three", "acme/some": "heard one, three"} {
			if got := ask(t, f, key, "three"); got != want {
				t.Errorf("%s: %q, want %q", key, got, want)
			}
		}
		if info, err := f.Get(t.Context(), "acme/some"); err != nil || info.Model != "opus" || info.Mode != permission.ModePlan || info.Cost.Turns != 1 {
			t.Errorf("%+v, %v", info, err)
		}
		before := len(left(t, db))
		for name, c := range map[string]struct {
			key, to, upTo string
			want          error
		}{
			"exists":          {"acme/ada", "acme/some", "", fleet.ErrExists},
			"itself":          {"acme/ada", "acme/ada", "", fleet.ErrExists},
			"unknown":         {"acme/bob", "acme/new", "", fleet.ErrUnknown},
			"another tenant":  {"acme/ada", "other/new", "", fleet.ErrForeign},
			"no such message": {"acme/ada", "acme/new", "00000000-0000-4000-8000-000000000000", history.ErrNotFound},
			"not a key":       {"acme/ada", "acme/new/x", "", store.ErrInvalid},
		} {
			if err := acme.Fork(t.Context(), c.key, c.to, c.upTo); !errors.Is(err, c.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if after := len(left(t, db)); after != before {
			t.Errorf("%d things are stored, before the errors it were %d", after, before)
		}
	})
}

// A fork has neither the question that the original waits for nor its call.
func TestForkDeferred(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		f := gated(t, store.Memory(), cli)
		defer closeFleet(t, f)
		if err := f.Fork(t.Context(), "nobody", "copy", ""); !errors.Is(err, fleet.ErrUnknown) {
			t.Errorf("forked: %v", err)
		}
		ask(t, f, "ada", "hello")
		send(t, f, "ada", "tool 1")
		<-time.After(5 * time.Minute)
		if err := f.Fork(t.Context(), "ada", "copy", ""); err != nil {
			t.Fatal(err)
		}
		if got := ask(t, f, "copy", "and"); got != "heard hello, tool 1, and" && got != "heard hello, and" {
			t.Errorf("answer %q", got)
		}
		decide(t, f, question(t, f), permission.Allow())
		<-time.After(time.Minute)
		if len(cli.tools) != 1 {
			t.Errorf("the tool ran %q", cli.tools)
		}
	})
}
