package fleet_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// A choice that is taken back leaves the current options in force, not those with which
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

// A mistyped model that is chosen while the CLI starts, before its names are known, is
// taken back once they are. The mode that was chosen with it holds, and the prompt is
// answered.
func TestMistypedModelWhileStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := &slowStart{Transport: newScripted()}
		f := open(t, store.Memory(), cli, nil)
		defer closeFleet(t, f)
		for _, before := range []string{"", "opus"} { // new, then asleep
			cli.meanwhile = func() error {
				return errors.Join(f.SetPermissionMode(t.Context(), "ada", permission.ModePlan), f.SetModel(t.Context(), "ada", "defualt"))
			}
			var mode permission.Mode
			var model string
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			for m, err := range f.Run(ctx, "ada", "hello") {
				if err != nil {
					t.Fatalf("after the model %q: %v", before, err)
				}
				if init, ok := m.(*message.Init); ok {
					mode, model = init.PermissionMode, init.Model
				}
			}
			cancel()
			info, err := f.Get(t.Context(), "ada")
			if err != nil || info.Model != before || mode != permission.ModePlan || model == "defualt" || before != "" && model != before {
				t.Errorf("it ran as %q %q; chosen is %q, want %q, %v", mode, model, info.Model, before, err)
			}
			<-time.After(5 * time.Minute) // it sleeps
			if err := errors.Join(f.SetPermissionMode(t.Context(), "ada", ""), f.SetModel(t.Context(), "ada", "opus")); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A model whose name is mistyped is refused, and is not kept: neither where the conversation
// has a CLI, which knows the names, nor where it sleeps.
func TestMistypedModelIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, store.Memory(), newScripted(), nil)
		defer closeFleet(t, f)
		chosen := func() string {
			info, err := f.Get(t.Context(), "ada")
			if err != nil {
				t.Fatal(err)
			}
			return info.Model
		}
		ask(t, f, "ada", "hello")
		if err := f.SetModel(t.Context(), "ada", "opus"); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"defualt", "my model", "a\n"} { // awake
			if err := f.SetModel(t.Context(), "ada", name); !errors.Is(err, store.ErrInvalid) || chosen() != "opus" {
				t.Errorf("SetModel(%q) = %v; chosen is %q", name, err, chosen())
			}
		}
		<-time.After(time.Hour)
		if info, err := f.Get(t.Context(), "ada"); err != nil || info.State != fleet.Asleep {
			t.Fatalf("it is %s, %v", info.State, err)
		}
		if err := f.SetModel(t.Context(), "ada", "my model"); !errors.Is(err, store.ErrInvalid) || chosen() != "opus" {
			t.Errorf("SetModel = %v; chosen is %q", err, chosen())
		}
		if got := ask(t, f, "ada", "again"); got != "heard hello, again" {
			t.Errorf("it answers %q", got)
		}
	})
}
