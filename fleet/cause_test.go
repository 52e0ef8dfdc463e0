package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// startFunc is a CLI that the function starts.
type startFunc func(ctx context.Context, l *claude.Launch) (claude.Conn, error)

func (f startFunc) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	return f(ctx, l)
}

// What makes a conversation stuck has a cause that programs can act upon, wherever
// it is shown: in the error, in the conversation and in its prompts.
func TestCauses(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "claude")
	failing := func(err error) startFunc {
		return func(context.Context, *claude.Launch) (claude.Conn, error) { return nil, err }
	}
	for name, c := range map[string]struct {
		options *claude.Options
		err     error
		want    fleet.Cause
	}{
		"not installed":        {options: &claude.Options{CLIPath: nowhere}, want: fleet.CauseCLIMissing},
		"does not start":       {options: &claude.Options{Transport: failing(errors.New("no memory"))}, want: fleet.CauseCLIFailed},
		"ends at once":         {options: &claude.Options{Transport: failing(&claude.StartError{Reason: claude.ErrExited, Output: "disk full"})}, want: fleet.CauseCLIFailed},
		"the store is away":    {options: &claude.Options{Transport: failing(&claude.StartError{Reason: claude.ErrStore})}},
		"no options":           {err: errors.New("no such repository"), want: fleet.CauseOptionsFailed},
		"options it refuses":   {err: fmt.Errorf("read the tenant: %w", &claude.OptionError{Field: "Cwd"}), want: fleet.CauseOptionsFailed},
		"options that are odd": {options: &claude.Options{CLIPath: nowhere, MaxTurns: -1}, want: fleet.CauseOptionRefused},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := open(t, store.Memory(), newScripted(), func(o *fleet.Options) {
					o.Session = func(context.Context, string) (*claude.Options, error) { return c.options, c.err }
				})
				defer closeFleet(t, f)
				_, err := result(f.Run(t.Context(), "ada", "hello"))
				stuck, ok := errors.AsType[*fleet.StuckError](err)
				if !ok || stuck.Cause != c.want {
					t.Fatalf("the watcher gets %#v, want the cause %q", err, c.want)
				}
				if _, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "more"}); !errors.As(err, &stuck) || stuck.Cause != c.want {
					t.Errorf("sent: %v", err)
				}
				if info, err := f.Get(t.Context(), "ada"); err != nil || info.State != fleet.StateStuck || info.Cause != c.want {
					t.Errorf("%+v, %v", info, err)
				}
				if o := outcome(t, f, "ada", stuck.Prompt); o.Status != fleet.PromptStuck || o.Cause != c.want {
					t.Errorf("its ticket: %+v", o)
				}
			})
		})
	}
}

// The cause is gone when the conversation may try again.
func TestCauseMended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli, mended := newScripted(), false
		f := open(t, store.Memory(), cli, func(o *fleet.Options) {
			usual := o.Session
			o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
				o, err := usual(ctx, key)
				if err == nil && !mended {
					o.Transport = startFunc(func(context.Context, *claude.Launch) (claude.Conn, error) {
						return nil, &claude.StartError{Reason: claude.ErrNotFound}
					})
				}
				return o, err
			}
		})
		defer closeFleet(t, f)
		_, err := result(f.Run(t.Context(), "ada", "hello"))
		stuck, ok := errors.AsType[*fleet.StuckError](err)
		if !ok || stuck.Cause != fleet.CauseCLIMissing {
			t.Fatalf("not stuck: %v", err)
		}
		mended = true
		if err := f.Retry(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if o := outcome(t, f, "ada", stuck.Prompt); o.Status != fleet.PromptAnswered || o.Cause != "" {
			t.Errorf("after the retry: %+v", o)
		}
		if info, err := f.Get(t.Context(), "ada"); err != nil || info.Cause != "" {
			t.Errorf("%+v, %v", info, err)
		}
	})
}

// A conversation whose CLI is being started is shown as starting until the CLI runs, or
// until the attempt has failed.
func TestStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli, begin := newScripted(), make(chan error)
		f := open(t, store.Memory(), cli, func(o *fleet.Options) {
			usual := o.Session
			o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
				o, err := usual(ctx, key)
				if err != nil {
					return nil, err
				}
				inner := o.Transport
				o.Transport = startFunc(func(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
					if err := <-begin; err != nil {
						return nil, err
					}
					return inner.Start(ctx, l)
				})
				return o, nil
			}
		})
		defer closeFleet(t, f)
		want := func(state fleet.State) {
			t.Helper()
			synctest.Wait()
			if info, err := f.Get(t.Context(), "ada"); err != nil || info.State != state {
				t.Errorf("the conversation is %q (%v), want %q", info.State, err, state)
			}
		}
		release := cli.pause()
		send(t, f, "ada", "hello")
		want(fleet.StateStarting)
		begin <- errors.New("not now")
		want(fleet.StatePending)
		<-time.After(time.Minute) // it is tried again
		want(fleet.StateStarting)
		begin <- nil
		want(fleet.StateAwake)
		release()
	})
}
