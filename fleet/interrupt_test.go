package fleet_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
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
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/storefault"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// interrupt interrupts the conversation of these tests.
func interrupt(t *testing.T, f *fleet.Fleet) {
	t.Helper()
	if err := f.Interrupt(t.Context(), "ada"); err != nil {
		t.Errorf("interrupted: %v", err)
	}
}

// answeredSoon expects that a prompt has its answer a minute from now.
func answeredSoon(t *testing.T, f *fleet.Fleet, id string) {
	t.Helper()
	<-time.After(time.Minute)
	if o := outcome(t, f, "ada", id); o.Status != fleet.PromptAnswered {
		t.Errorf("a minute later: %+v", o)
	}
}

// A conversation that is interrupted while its CLI starts does not begin with its
// turn as if nothing had happened: it is interrupted at once, and if the start fails, it
// is not tried again. The prompt behind it is answered.
func TestInterruptWhileStarting(t *testing.T) {
	for name, fails := range map[string]bool{"it starts": false, "it does not start": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				model := newScripted()
				release := model.pause()
				cli := &slowStart{Transport: model}
				f := open(t, store.Memory(), cli, nil)
				defer closeFleet(t, f)
				starts := 0
				cli.meanwhile = func() error {
					if starts++; starts > 1 {
						return nil
					}
					if err := f.Interrupt(t.Context(), "ada"); err != nil {
						t.Errorf("interrupted: %v", err)
					}
					if fails {
						return errors.New("it does not start")
					}
					return nil
				}
				first, second := send(t, f, "ada", "hello"), send(t, f, "ada", "more")
				<-time.After(time.Minute)
				release()
				<-time.After(time.Minute)
				if o := outcome(t, f, "ada", first); o.Status != fleet.PromptFailed || !o.Interrupted || (o.Result == nil) != fails {
					t.Errorf("the prompt that was interrupted: %+v", o)
				}
				if o := outcome(t, f, "ada", second); o.Status != fleet.PromptAnswered || o.Interrupted || o.Text == "heard hello, more" == fails {
					t.Errorf("the prompt behind it: %+v", o)
				}
				if starts == 1 == fails {
					t.Errorf("the CLI was started %d times", starts)
				}
			})
		})
	}
}

// A prompt whose attempt has failed is not tried again if its conversation is interrupted
// in the pause before the next one, wherever that is done. The prompt behind it is
// answered.
func TestInterruptBetweenAttempts(t *testing.T) {
	for _, where := range []string{"here", "elsewhere"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cli := &slowStart{Transport: newScripted()}
				client, worker := apart(t, store.Memory(), cli, nil)
				defer closeFleet(t, client)
				defer closeFleet(t, worker)
				f := worker
				if where == "elsewhere" {
					f = client
				}
				var starts atomic.Int64
				cli.meanwhile = func() error {
					if starts.Add(1) == 1 {
						return errors.New("it does not start")
					}
					return nil
				}
				first, second := send(t, f, "ada", "hello"), send(t, f, "ada", "more")
				synctest.Wait()
				if o := outcome(t, f, "ada", first); o.Status != fleet.PromptRunning || starts.Load() != 1 {
					t.Fatalf("the prompt: %+v after %d starts", o, starts.Load())
				}
				if err := f.Interrupt(t.Context(), "ada"); err != nil {
					t.Errorf("interrupted: %v", err)
				}
				if o := outcome(t, f, "ada", first); o.Status != fleet.PromptFailed || !o.Interrupted {
					t.Errorf("the prompt that was interrupted: %+v", o)
				}
				<-time.After(time.Minute)
				if o := outcome(t, f, "ada", second); o.Status != fleet.PromptAnswered || o.Text != "heard more" {
					t.Errorf("the prompt behind it: %+v", o)
				}
			})
		})
	}
}

// An interrupt is not lost if it comes while the question of a dead process is found:
// before the prompt is marked as waiting, or right after that. Then a decision does not
// make the call.
func TestInterruptFoundQuestion(t *testing.T) {
	for name, after := range map[string]bool{"before it waits": false, "when it waits": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, model := store.Memory(), newScripted()
				m := start(t, db, model, nil)
				id := send(t, m.fleet, "ada", "tool 1")
				q := question(t, m.fleet)
				crash(t, m)
				var in *interceptor
				m = start(t, db, model, func(o *fleet.Options) {
					in = &interceptor{Fleet: o.Store}
					o.Store = in
				})
				defer closeFleet(t, m.fleet)
				waits := false
				interrupt := func(k store.RecordKey, value []byte) error {
					if k.Kind == "prompt" && strings.Contains(string(value), `"question":`) && !waits {
						waits = true
						if err := m.fleet.Interrupt(t.Context(), "ada"); err != nil {
							t.Errorf("interrupted: %v", err)
						}
					}
					return nil
				}
				if after {
					in.set(nil, interrupt)
				} else {
					in.set(interrupt, nil)
				}
				<-time.After(2 * time.Minute)
				if now, err := m.fleet.Approvals().Get(t.Context(), q.ID); err != nil || now.State != approval.StateGone || !waits {
					t.Errorf("the question is %s, %v, was found: %t", now.State, err, waits)
				}
				if _, err := m.fleet.Approvals().Decide(t.Context(), q.ID, approval.Answer{Decision: permission.Allow(), By: "ada", Digest: q.Digest}); !errors.Is(err, approval.ErrGone) {
					t.Errorf("decided: %v", err)
				}
				<-time.After(time.Minute)
				if o := outcome(t, m.fleet, "ada", id); !o.Status.Done() || len(model.tools) != 0 {
					t.Errorf("the prompt: %+v, the tool ran with %q", o, model.tools)
				}
			})
		})
	}
}

// The same in another process: the interrupt is pending where the CLI starts.
func TestInterruptStartingElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := newScripted()
		defer model.pause()()
		cli := &slowStart{Transport: model}
		client, worker := apart(t, store.Memory(), cli, nil)
		defer closeFleet(t, client)
		defer closeFleet(t, worker)
		cli.meanwhile = func() error { return client.Interrupt(t.Context(), "ada") }
		id := send(t, client, "ada", "hello")
		<-time.After(time.Minute)
		if o := outcome(t, client, "ada", id); o.Status != fleet.PromptFailed {
			t.Errorf("the prompt that was interrupted: %+v", o)
		}
	})
}

// scanHook does something when the prompts of a conversation have been read, once.
type scanHook struct {
	*interceptor
	do atomic.Pointer[func()]
}

func (h *scanHook) Scan(ctx context.Context, in store.Folder, after string) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		var all []store.Record
		for r, err := range h.interceptor.Scan(ctx, in, after) {
			if err != nil {
				yield(r, err)
				return
			}
			all = append(all, r)
		}
		if in.Kind == "prompt" && (in.Name != "" || after != "") {
			if do := h.do.Swap(nil); do != nil {
				(*do)()
			}
		}
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// The same if the interrupting process has read the prompt before it waited, and comes
// when it does.
func TestInterruptFoundQuestionLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, model := store.Memory(), newScripted()
		m := start(t, db, model, nil)
		send(t, m.fleet, "ada", "tool 1")
		q := question(t, m.fleet)
		crash(t, m)
		var hook *scanHook
		m = start(t, db, model, func(o *fleet.Options) {
			hook = &scanHook{interceptor: &interceptor{Fleet: o.Store}}
			o.Store = hook
		})
		defer closeFleet(t, m.fleet)
		read, waits, interrupted := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		hook.set(func(k store.RecordKey, value []byte) error {
			if k.Kind == "prompt" && strings.Contains(string(value), `"question":`) {
				hook.set(nil, nil)
				do := func() {
					close(read)
					<-waits
				}
				hook.do.Store(&do)
				go func() { interrupted <- m.fleet.Interrupt(t.Context(), "ada") }()
				<-read
			}
			return nil
		}, nil)
		<-time.After(2 * time.Minute)
		if now, err := m.fleet.Approvals().Get(t.Context(), q.ID); err != nil || now.State != approval.StateOpen {
			t.Fatalf("the question is %s, %v", now.State, err)
		}
		close(waits)
		if err := <-interrupted; err != nil {
			t.Errorf("interrupted: %v", err)
		}
		<-time.After(time.Minute) // the mark is stored, and its conversation may have yet to see it
		if now, err := m.fleet.Approvals().Get(t.Context(), q.ID); err != nil || now.State != approval.StateGone {
			t.Errorf("the question is %s, %v", now.State, err)
		}
	})
}

// An empty mode or model is that of the options, at once, even when the CLI runs
// and wherever it does. It is not taken for one that the CLI has chosen.
func TestChosenNoMore(t *testing.T) {
	for _, where := range []string{"here", "elsewhere"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, worker := apart(t, store.Memory(), newScripted(), func(o *fleet.Options) {
					usual := o.Session
					o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
						opts, err := usual(ctx, key)
						opts.PermissionMode, opts.Model = permission.ModeAcceptEdits, "haiku"
						return opts, err
					}
				})
				defer closeFleet(t, client)
				defer closeFleet(t, worker)
				f := worker
				if where == "elsewhere" {
					f = client
				}
				var got []string
				run := func() {
					for m, err := range worker.Run(t.Context(), "ada", "hello") {
						if err != nil {
							t.Fatal(err)
						}
						if init, ok := m.(*message.Init); ok {
							got = append(got, string(init.PermissionMode)+" "+init.Model)
						}
					}
				}
				choose := func(mode permission.Mode, model string) {
					if err := errors.Join(f.SetPermissionMode(t.Context(), "ada", mode), f.SetModel(t.Context(), "ada", model)); err != nil {
						t.Fatal(err)
					}
				}
				run()
				choose(permission.ModePlan, "opus")
				run()
				choose("", "")
				run()
				if want := []string{"acceptEdits haiku", "plan opus", "acceptEdits haiku"}; !slices.Equal(got, want) {
					t.Errorf("it ran as %q, want %q", got, want)
				}
				if info, err := f.Get(t.Context(), "ada"); err != nil || info.Mode != "" || info.Model != "" {
					t.Errorf("chosen are %q and %q, %v", info.Mode, info.Model, err)
				}
			})
		})
	}
}

// Interrupting a conversation ends its deferred call, which the CLI makes when it
// continues.
func TestInterruptDeferredCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran, stopped atomic.Bool
		cli := new(scripted)
		cli.CLI = claudetest.NewCLI(&claudetest.Script{
			Model: cli.reply,
			Tools: map[string]host.RunFunc{"Bash": func(ctx context.Context, _ json.RawMessage) (host.ToolOutput, error) {
				ran.Store(true)
				<-ctx.Done()
				stopped.Store(true)
				return host.ToolOutput{}, ctx.Err()
			}},
		})
		f := gated(t, store.Memory(), cli)
		defer closeFleet(t, f)
		deferredBy(t, f, "ada", "tool 1")
		<-time.After(5 * time.Minute)
		decide(t, f, question(t, f), permission.Allow())
		<-time.After(time.Minute)
		if !ran.Load() || stopped.Load() {
			t.Fatalf("the call ran: %v, and has ended: %v", ran.Load(), stopped.Load())
		}
		interrupt(t, f)
		<-time.After(time.Second)
		if !stopped.Load() {
			t.Error("the call still runs")
		}
	})
}

// twoTurns starts a turn that waits for its model, with a prompt behind it. next ends the
// first turn and returns when the model is asked about the second prompt; end lets that
// one be answered.
func twoTurns(t *testing.T, f *fleet.Fleet, model *scripted) (first, second string, next, end func()) {
	t.Helper()
	one, two := make(chan struct{}), make(chan struct{})
	hold := func(c chan struct{}) {
		model.mu.Lock()
		defer model.mu.Unlock()
		model.hold = c
	}
	hold(one)
	first, second = send(t, f, "ada", "first"), send(t, f, "ada", "second")
	next = func() {
		hold(two)
		close(one)
		synctest.Wait()
	}
	return first, second, next, func() { close(two) }
}

// An interrupt is meant for the turn that runs when it is called. If the store takes so
// long that the next turn has begun, that one is not interrupted.
func TestInterruptTooLate(t *testing.T) {
	for name, c := range map[string]struct{ elsewhere, underWay bool }{
		"here":                           {},
		"elsewhere":                      {elsewhere: true},
		"elsewhere, on the way to there": {elsewhere: true, underWay: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				model, db := newScripted(), &readHook{Fleet: unwatched{store.Memory()}} // or the mark arrives first
				r := newRadio()
				worker := open(t, db, model, func(o *fleet.Options) { o.Bus = r })
				defer closeFleet(t, worker)
				f := worker
				var next func()
				if c.elsewhere {
					f = open(t, db, nil, func(o *fleet.Options) {
						withoutCLIs(o)
						o.Bus = handle{Bus: r, before: func(string) {
							if c.underWay {
								next()
							}
						}}
					})
					defer closeFleet(t, f)
				}
				first, second, ends, end := twoTurns(t, worker, model)
				next = ends
				if !c.underWay {
					db.do.Store(&next)
				}
				interrupt(t, f)
				<-time.After(time.Minute)
				end()
				answeredSoon(t, f, first)
				answeredSoon(t, f, second)
			})
		})
	}
}

// startsSecond is a CLI that does not start the first time, and counts how often it was to.
func startsSecond(model claude.Transport) (*slowStart, *int) {
	cli, starts := &slowStart{Transport: model}, new(int)
	cli.meanwhile = func() error {
		if *starts++; *starts == 1 {
			return errors.New("it does not start")
		}
		return nil
	}
	return cli, starts
}

// An interrupt between two attempts of a prompt means that prompt. If the store takes
// so long that the next attempt has answered it, the prompt behind it is not
// interrupted.
func TestInterruptBetweenAttemptsTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model, db := newScripted(), &readHook{Fleet: store.Memory()}
		cli, starts := startsSecond(model)
		f := open(t, db, cli, nil)
		defer closeFleet(t, f)
		first, second, next, end := twoTurns(t, f, model)
		synctest.Wait()
		slow := func() {
			<-time.After(time.Minute)
			next()
			if o := outcome(t, f, "ada", first); o.Status != fleet.PromptAnswered || *starts != 2 {
				t.Errorf("the first prompt: %+v after %d starts", o, *starts)
			}
		}
		db.do.Store(&slow)
		interrupt(t, f)
		if db.do.Load() != nil {
			t.Error("the store was not asked; this test shows nothing")
		}
		<-time.After(time.Minute)
		end()
		answeredSoon(t, f, second)
	})
}

// A prompt that is tried again while the store is asked is the one that was meant.
func TestInterruptNextAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model, db := newScripted(), &readHook{Fleet: store.Memory()}
		cli, starts := startsSecond(model)
		f := open(t, db, cli, nil)
		defer closeFleet(t, f)
		first, second, next, end := twoTurns(t, f, model)
		synctest.Wait()
		slow := func() { <-time.After(time.Minute) }
		db.do.Store(&slow)
		interrupt(t, f)
		<-time.After(time.Minute)
		if o := outcome(t, f, "ada", first); !o.Interrupted || *starts != 2 {
			t.Errorf("the prompt that was interrupted: %+v after %d starts", o, *starts)
		}
		next()
		end()
		answeredSoon(t, f, second)
	})
}

// An interrupt between two turns does not stop the next one, which begins while the
// store is asked.
func TestInterruptBetweenTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model, db := newScripted(), &readHook{Fleet: store.Memory()}
		f := open(t, db, model, nil)
		defer closeFleet(t, f)
		ask(t, f, "ada", "first")
		synctest.Wait() // and its CLI is idle
		release := model.pause()
		var second string
		begin := func() { second = send(t, f, "ada", "second") }
		db.do.Store(&begin)
		interrupt(t, f)
		<-time.After(time.Minute)
		release()
		answeredSoon(t, f, second)
	})
}

// A deferred call that was allowed is not made if its conversation is interrupted while
// the CLI starts for it.
func TestInterruptBeforeDeferredCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := newScripted()
		cli := &slowStart{Transport: model, meanwhile: func() error { return nil }}
		f := gated(t, store.Memory(), cli)
		defer closeFleet(t, f)
		waits := deferredBy(t, f, "ada", "tool 1")
		<-time.After(5 * time.Minute)
		cli.meanwhile = func() error { return f.Interrupt(t.Context(), "ada") }
		q := question(t, f)
		release := model.pause() // else the turn ends before it is interrupted
		decide(t, f, q, permission.Allow())
		<-time.After(time.Minute)
		release()
		if o := outcome(t, f, "ada", waits.Prompt); o.Status != fleet.PromptFailed || o.Result == nil || !o.Result.Interrupted() || len(model.tools) != 0 {
			t.Errorf("the prompt: %+v, the tool ran with %q", o, model.tools)
		}
		if q, err := f.Approvals().Get(t.Context(), q.ID); err != nil || q.State != approval.StateGone || q.Outcome != approval.OutcomeWithdrawn {
			t.Errorf("the question is %s %s, %v", q.State, q.Outcome, err)
		}
		cli.meanwhile = func() error { return nil }
		if got := ask(t, f, "ada", "more"); !strings.HasSuffix(got, "more") {
			t.Errorf("answer %q", got)
		}
	})
}

// notAsking is a CLI whose hooks are not heard: the turn is over before it asks about a call.
type notAsking struct {
	claude.Conn
	lines *bufio.Reader
	rest  []byte
}

func (c *notAsking) Read(b []byte) (int, error) {
	for len(c.rest) == 0 {
		line, err := c.lines.ReadBytes('\n')
		if !bytes.Contains(line, []byte(`"hook_callback"`)) {
			c.rest = line
		}
		if err != nil && len(c.rest) == 0 {
			return 0, err
		}
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// transportFunc is a function that starts CLIs.
type transportFunc func(context.Context, *claude.Launch) (claude.Conn, error)

func (f transportFunc) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	return f(ctx, l)
}

// The question about a deferred call goes with its turn, even if the store fails when the
// conversation is interrupted, while the CLI starts: at once if the CLI does not start, and
// at the end of the turn if the turn ends before the CLI asks.
func TestQuestionOfInterruptedDeferredCall(t *testing.T) {
	for name, starts := range map[string]bool{"the CLI starts": true, "the CLI does not start": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				model, db := newScripted(), &interceptor{Fleet: store.Memory()}
				var start func(claude.Conn) (claude.Conn, error) // nil: as usual
				f := gated(t, db, transportFunc(func(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
					conn, err := model.Start(ctx, l)
					if err == nil && start != nil {
						return start(conn)
					}
					return conn, err
				}))
				defer closeFleet(t, f)
				waits := deferredBy(t, f, "ada", "tool 1")
				<-time.After(5 * time.Minute)
				q := question(t, f)
				state := func() approval.State {
					now, err := f.Approvals().Get(t.Context(), q.ID)
					if err != nil {
						t.Error(err)
					}
					return now.State
				}
				attempts := 0
				start = func(conn claude.Conn) (claude.Conn, error) {
					if attempts++; attempts == 1 {
						db.set(func(k store.RecordKey, _ []byte) error {
							if k.Kind == approval.Kind {
								return storefault.ErrFault
							}
							return nil
						}, nil)
						if err := f.Interrupt(t.Context(), "ada"); !errors.Is(err, storefault.ErrFault) {
							t.Errorf("interrupted: %v", err)
						}
						db.set(nil, nil)
						if !starts {
							return nil, errors.Join(errors.New("it does not start"), conn.Stop())
						}
					}
					return &notAsking{Conn: conn, lines: bufio.NewReader(conn)}, nil
				}
				decide(t, f, q, permission.Allow())
				<-time.After(time.Minute)
				if o := outcome(t, f, "ada", waits.Prompt); o.Status != fleet.PromptFailed || !o.Interrupted || (o.Result != nil) != starts || len(model.tools) != 0 {
					t.Errorf("the prompt: %+v, the tool ran with %q", o, model.tools)
				}
				if now := state(); now != approval.StateGone || attempts != 1 {
					t.Errorf("the question is %s after %d starts", now, attempts)
				}
			})
		})
	}
}

// A turn that is interrupted in the moment in which its call is deferred does not wait
// for a person.
func TestInterruptWhileDeferring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model, db := newScripted(), &interceptor{Fleet: store.Memory()}
		f := gated(t, db, model)
		defer closeFleet(t, f)
		var once sync.Once
		db.set(func(k store.RecordKey, value []byte) error {
			if k.Kind == "prompt" && strings.Contains(string(value), `"question":`) {
				once.Do(func() {
					interrupt(t, f)
				})
			}
			return nil
		}, nil)
		_, err := result(f.Run(t.Context(), "ada", "tool 1"))
		if failed, ok := errors.AsType[*fleet.FailedError](err); !ok || !failed.Ticket.Interrupted || len(model.tools) != 0 {
			t.Errorf("the turn ended with %v, the tool ran with %q", err, model.tools)
		}
	})
}

// That is so even if the store fails in that moment.
func TestInterruptWhileDeferringFails(t *testing.T) {
	for _, kind := range []string{"prompt", approval.Kind} {
		synctest.Test(t, func(t *testing.T) {
			model, db := newScripted(), &interceptor{Fleet: store.Memory()}
			f := gated(t, db, model)
			defer closeFleet(t, f)
			var once sync.Once
			interrupted, failed := false, false
			db.set(func(k store.RecordKey, value []byte) error {
				if !interrupted && k.Kind == "prompt" && strings.Contains(string(value), `"question":`) {
					once.Do(func() {
						interrupt(t, f)
						interrupted = true
					})
				}
				if interrupted && !failed && k.Kind == kind {
					failed = true
					return storefault.ErrFault
				}
				return nil
			}, nil)
			id := send(t, f, "ada", "tool 1")
			<-time.After(time.Hour)
			if o := outcome(t, f, "ada", id); !failed || !o.Status.Done() || len(model.tools) != 0 {
				t.Errorf("the store fails with a %s: %+v, the tool ran with %q", kind, o, model.tools)
			}
			for q, err := range f.Approvals().List(t.Context(), approval.Filter{States: approval.Waiting()}) {
				t.Errorf("the store fails with a %s: the question is %s, %v", kind, q.State, err)
			}
		})
	}
}

// A CLI begins by itself with a prompt that was to steer a turn and came too late for
// it. An interrupt of the first turn while its outcome is stored does not stop the
// second.
func TestInterruptBeforeSteeredTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model, db := newSteerable(), &interceptor{Fleet: store.Memory()}
		f := open(t, db, model, model.allow)
		defer closeFleet(t, f)
		one, two := make(chan struct{}), make(chan struct{})
		model.set(nil, one)
		first := send(t, f, "ada", "first")
		synctest.Wait()
		second := steer(t, f, "second")
		interrupted := false
		db.set(func(k store.RecordKey, _ []byte) error {
			if k.Kind == "outcome" && !interrupted {
				interrupted = true
				<-time.After(time.Second) // the CLI begins
				interrupt(t, f)
			}
			return nil
		}, nil)
		model.set(nil, two)
		close(one)
		<-time.After(time.Minute)
		close(two)
		<-time.After(time.Minute)
		for _, id := range []string{first, second} {
			if o := outcome(t, f, "ada", id); o.Status != fleet.PromptAnswered || o.PartOf != "" {
				t.Errorf("%s: %+v", id, o)
			}
		}
		if !interrupted {
			t.Error("it was not interrupted; this test shows nothing")
		}
	})
}

// lateResult is a CLI whose results, and what comes behind them, are late.
type lateResult struct {
	claude.Conn
	lines *bufio.Reader
	rest  []byte
	until <-chan struct{}
}

func (c *lateResult) Read(b []byte) (int, error) {
	if len(c.rest) == 0 {
		line, err := c.lines.ReadBytes('\n')
		if bytes.Contains(line, []byte(`"type":"result"`)) {
			<-c.until
		}
		if c.rest = line; err != nil && len(line) == 0 {
			return 0, err
		}
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// A turn that was interrupted is not given prompts that would steer it. The CLI would
// begin with one by itself, and a user who interrupts the turn again, which they still
// see, would stop that prompt.
func TestInterruptedTurnIsNotSteered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model, arrives := newSteerable(), make(chan struct{})
		f := open(t, store.Memory(), transportFunc(func(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
			conn, err := model.Start(ctx, l)
			if err != nil {
				return nil, err
			}
			return &lateResult{Conn: conn, lines: bufio.NewReader(conn), until: arrives}, nil
		}), model.allow)
		defer closeFleet(t, f)
		one, two := make(chan struct{}), make(chan struct{})
		model.set(nil, one)
		first := send(t, f, "ada", "first")
		synctest.Wait()
		interrupt(t, f)
		model.set(nil, two)
		second := steer(t, f, "second")
		again := make(chan error, 1)
		go func() { again <- f.Interrupt(t.Context(), "ada") }()
		synctest.Wait()
		close(arrives)
		if err := <-again; err != nil {
			t.Errorf("interrupted again: %v", err)
		}
		<-time.After(time.Minute)
		close(two)
		<-time.After(time.Minute)
		if o := outcome(t, f, "ada", first); !o.Interrupted {
			t.Errorf("the prompt that was interrupted: %+v", o)
		}
		if o := outcome(t, f, "ada", second); o.Status != fleet.PromptAnswered || o.PartOf != "" {
			t.Errorf("the prompt behind it: %+v", o)
		}
	})
}
