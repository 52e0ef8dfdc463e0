package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// A conversation that is interrupted while its CLI starts does not begin with its
// turn as if nothing had happened: it is interrupted at once, even if the start fails
// and another one is needed. The prompt behind it is answered.
func TestInterruptWhileStarting(t *testing.T) {
	for name, failures := range map[string]int{"at once": 0, "at the second start": 1} {
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
					if failures > 0 {
						return errors.New("it does not start")
					}
					return nil
				}
				first, second := send(t, f, "ada", "hello"), send(t, f, "ada", "more")
				<-time.After(time.Minute)
				release()
				<-time.After(time.Minute)
				if o := outcome(t, f, "ada", first); o.Status != fleet.Failed || o.Result == nil || !o.Result.Interrupted() {
					t.Errorf("the prompt that was interrupted: %+v", o)
				}
				if o := outcome(t, f, "ada", second); o.Status != fleet.Answered {
					t.Errorf("the prompt behind it: %+v", o)
				}
				if starts != failures+1 {
					t.Errorf("the CLI was started %d times", starts)
				}
			})
		})
	}
}

// The same in another process: the word is left where the CLI starts.
func TestInterruptStartingElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := newScripted()
		defer model.pause()()
		cli := &slowStart{Transport: model}
		client, worker := apart(t, &notifying{MemoryStore: store.Memory()}, cli, nil)
		defer closeFleet(t, client)
		defer closeFleet(t, worker)
		cli.meanwhile = func() error { return client.Interrupt(t.Context(), "ada") }
		id := send(t, client, "ada", "hello")
		<-time.After(time.Minute)
		if o := outcome(t, client, "ada", id); o.Status != fleet.Failed {
			t.Errorf("the prompt that was interrupted: %+v", o)
		}
	})
}

// An empty mode or model is that of the options, at once, even when the CLI runs
// and wherever it does. It is not taken for one that the CLI has chosen.
func TestChosenNoMore(t *testing.T) {
	for _, where := range []string{"here", "elsewhere"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, worker := apart(t, &notifying{MemoryStore: store.Memory()}, newScripted(), func(o *fleet.Options) {
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

// Word that was left for an attempt does not outlive the attempts: who lets a stuck
// prompt try again wants its answer.
func TestInterruptNotKeptWhenStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := newScripted()
		release := model.pause() // else the turn ends before it is interrupted
		cli := &slowStart{Transport: model}
		f := open(t, store.Memory(), cli, nil)
		defer closeFleet(t, f)
		cli.meanwhile = func() error {
			if err := f.Interrupt(t.Context(), "ada"); err != nil {
				t.Errorf("interrupted: %v", err)
			}
			return errors.New("it does not start")
		}
		id := send(t, f, "ada", "hello")
		<-time.After(time.Hour)
		if info, err := f.Get(t.Context(), "ada"); err != nil || info.State != fleet.Stuck {
			t.Fatalf("%+v, %v", info, err)
		}
		cli.meanwhile = func() error { return nil }
		if err := f.Retry(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		release()
		<-time.After(time.Minute)
		if o := outcome(t, f, "ada", id); o.Status != fleet.Answered {
			t.Errorf("the prompt that was tried again: %+v", o)
		}
	})
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
		_, err := result(f.Run(t.Context(), "ada", "tool 1"))
		if _, ok := errors.AsType[*fleet.DeferredError](err); !ok {
			t.Fatalf("not deferred: %v", err)
		}
		<-time.After(5 * time.Minute)
		decide(t, f, question(t, f), permission.Allow())
		<-time.After(time.Minute)
		if !ran.Load() || stopped.Load() {
			t.Fatalf("the call ran: %v, and has ended: %v", ran.Load(), stopped.Load())
		}
		if err := f.Interrupt(t.Context(), "ada"); err != nil {
			t.Errorf("interrupted: %v", err)
		}
		<-time.After(time.Second)
		if !stopped.Load() {
			t.Error("the call still runs")
		}
	})
}
