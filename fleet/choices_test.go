package fleet_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// A choice that is taken back leaves what the options are now, not those with which
// the CLI was started: a program may keep the first choice in its options.
func TestChoiceTakenBackAsksTheOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var plain atomic.Bool
		f := open(t, store.Memory(), newScripted(), func(o *fleet.Options) {
			usual := o.Session
			o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
				opts, err := usual(ctx, key)
				if opts.Model = "haiku"; !plain.Load() {
					opts.PermissionMode, opts.Model = permission.ModePlan, "opus"
				}
				return opts, err
			}
		})
		defer closeFleet(t, f)
		var got []string
		for range 2 {
			for m, err := range f.Run(t.Context(), "ada", "hello") {
				if err != nil {
					t.Fatal(err)
				}
				if init, ok := m.(*message.Init); ok {
					got = append(got, string(init.PermissionMode)+" "+init.Model)
				}
			}
			plain.Store(true)
			if err := errors.Join(f.SetPermissionMode(t.Context(), "ada", ""), f.SetModel(t.Context(), "ada", "")); err != nil {
				t.Fatal(err)
			}
		}
		if want := []string{"plan opus", "default haiku"}; !slices.Equal(got, want) {
			t.Errorf("it ran as %q, want %q", got, want)
		}
	})
}
