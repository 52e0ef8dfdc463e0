package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/storefault"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// rewindIgnorer is a CLI that never reads requests to restore files, except dry runs.
type rewindIgnorer struct{ *scripted }

func (d rewindIgnorer) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	conn, err := d.scripted.Start(ctx, l)
	return rewindIgnoringConn{conn}, err
}

type rewindIgnoringConn struct{ claude.Conn }

func (c rewindIgnoringConn) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(`"rewind_files"`)) && !bytes.Contains(line, []byte(`"dry_run"`)) {
		return len(line), nil
	}
	return c.Conn.Write(line)
}

// A CLI that does not answer whether it has restored files may do so later. It has
// ended before the rewind has failed, so nothing changes under a later prompt.
func TestRewindWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := &scripted{CLI: editing()}
		f := checkpointed(t, store.Memory(), rewindIgnorer{cli}, nil)
		defer closeFleet(t, f)
		prompt := edit(t, f, "ada", "/repo/a")
		_, err := f.Rewind(t.Context(), "ada", fleet.RewindTo{Prompt: prompt})
		if _, ok := errors.AsType[*fleet.FailedError](err); !ok {
			t.Errorf("not failed: %v", err)
		}
		if live, _ := cli.counts(); live != 0 {
			t.Errorf("%d CLIs may still restore files", live)
		}
		edit(t, f, "ada", "/repo/b")
	})
}

// A store that cannot be read for a moment is not an empty conversation: the rewind is
// done when the store is back, or fails with the reason.
func TestRewindWhileStoreFails(t *testing.T) {
	for name, outage := range map[string]int32{"for a moment": 1, "forever": 1000} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var failures atomic.Int32
				db := storefault.Wrap(store.Memory(), func(c storefault.Call) storefault.Kind {
					if c.Method == "Load" && failures.Add(-1) >= 0 {
						return storefault.Fail
					}
					return storefault.None
				})
				f := checkpointed(t, db, editing(), nil)
				defer closeFleet(t, f)
				prompt := edit(t, f, "ada", "/repo/a")
				failures.Store(outage)
				got, err := f.Rewind(t.Context(), "ada", fleet.RewindTo{Prompt: prompt})
				if outage == 1 && (err != nil || !got.CanRewind) {
					t.Errorf("%+v, %v", got, err)
				}
				failed, ok := errors.AsType[*fleet.FailedError](err)
				if outage > 1 && (!ok || !strings.Contains(failed.Ticket.Error, storefault.ErrFault.Error())) {
					t.Errorf("%+v, %v", got, err)
				}
			})
		})
	}
}

// losing is a store that accepts prompts and always reports a failure.
type losing struct{ store.Fleet }

func (l losing) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	next, err := l.Fleet.Change(ctx, f, c...)
	if puts(c, "prompt") {
		return nil, storefault.ErrFault
	}
	return next, err
}

// A rewind that may or may not have been accepted is taken back: it must not happen
// when its caller has gone.
func TestRewindMaybeAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), editing()
		f := checkpointed(t, db, cli, nil)
		prompt, id := edit(t, f, "ada", "/repo/a"), uuid.New()
		closeFleet(t, f)
		client := open(t, losing{db}, nil, func(o *fleet.Options) { o.MaxLive, o.Session = fleet.NoCLIs, nil })
		defer closeFleet(t, client)
		if _, err := client.Rewind(t.Context(), "ada", fleet.RewindTo{ID: id, Prompt: prompt}); !errors.Is(err, storefault.ErrFault) {
			t.Errorf("accepted: %v", err)
		}
		if o := outcome(t, client, "ada", id); o.Status != fleet.PromptCancelled {
			t.Errorf("%+v", o)
		}
		f = checkpointed(t, db, cli, nil)
		defer closeFleet(t, f)
		<-time.After(5 * time.Minute)
		if n := len(cli.Recording().Requests("rewind_files")); n != 0 {
			t.Errorf("%d requests", n)
		}
	})
}

// Agents in the background, and turns that the CLI begins when they end, change
// files. A rewind waits for them, and is refused if they take too long.
func TestRewindBesideAgents(t *testing.T) {
	for name, c := range map[string]struct {
		work time.Duration
		can  bool
	}{"soon done": {20 * time.Second, true}, "at work": {10 * time.Minute, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cli := claudetest.New(
					claudetest.Delegate("general-purpose", "Count the files.", claudetest.Say("Three.").After(c.work)),
					claudetest.Say("An agent counts them."),
					claudetest.Say("There are three."),
				)
				f := checkpointed(t, store.Memory(), cli, nil)
				defer closeFleet(t, f)
				prompt, begin := edit(t, f, "ada", "count"), time.Now()
				got, err := f.Rewind(t.Context(), "ada", fleet.RewindTo{Prompt: prompt})
				if err != nil || got.CanRewind != c.can || (got.Error == "") != c.can {
					t.Errorf("%+v, %v", got, err)
				}
				if took := time.Since(begin); c.can && took < c.work || took > time.Minute {
					t.Errorf("it took %v", took)
				}
				if n := len(cli.Recording().Requests("rewind_files")); (n > 0) != c.can {
					t.Errorf("%d requests", n)
				}
				if !c.can {
					if got, err := f.Rewind(t.Context(), "ada", fleet.RewindTo{Prompt: prompt, DryRun: true}); err != nil || !got.CanRewind {
						t.Errorf("a dry run: %+v, %v", got, err)
					}
					return
				}
				<-time.After(time.Second)
				if info, err := f.Get(t.Context(), "ada"); err != nil || info.Unprompted.Turns != 1 {
					t.Errorf("%+v, %v", info, err)
				}
			})
		})
	}
}
