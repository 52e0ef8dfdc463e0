package fleet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
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
		if info, err := f.Get(t.Context(), "ada"); err != nil || info.State != fleet.StateAsleep {
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

// Two mistyped models that are chosen at once leave the one before them, although each finds
// the other when it is taken back.
func TestTwoMistypedModels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &interceptor{Fleet: store.Memory()}
		f := open(t, s, newScripted(), nil)
		defer closeFleet(t, f)
		ask(t, f, "ada", "hello")
		if err := f.SetModel(t.Context(), "ada", "opus"); err != nil {
			t.Fatal(err)
		}
		writes, chosen, over, ended := 0, make(chan struct{}), make(chan struct{}), make(chan error, 1)
		s.set(func(k store.RecordKey, _ []byte) error {
			if k.Kind != "conversation" {
				return nil
			}
			switch writes++; writes {
			case 2: // the first is being taken back
				go func() { ended <- f.SetModel(t.Context(), "ada", "defautl") }()
				<-chosen
			case 4: // and the second, when the first is
				close(chosen)
				<-over
			}
			return nil
		}, nil)
		if err := f.SetModel(t.Context(), "ada", "defualt"); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("the first: %v", err)
		}
		close(over)
		if err := <-ended; !errors.Is(err, store.ErrInvalid) {
			t.Errorf("the second: %v", err)
		}
		s.set(nil, nil)
		if info, err := f.Get(t.Context(), "ada"); err != nil || info.Model != "opus" {
			t.Errorf("chosen is %q, %v", info.Model, err)
		}
	})
}

// choosing is a CLI that meets another choice while it hears about the first.
type choosing struct {
	claude.Transport
	choose func() // before the CLI reads that a model is set
}

func (c *choosing) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	conn, err := c.Transport.Start(ctx, l)
	return &choosingConn{Conn: conn, choose: c.choose}, err
}

type choosingConn struct {
	claude.Conn
	once   sync.Once
	choose func()
}

func (c *choosingConn) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(`"set_model"`)) {
		c.once.Do(c.choose)
	}
	return c.Conn.Write(line)
}

// chooseElsewhere chooses a model as another process does, which finds no session.
func chooseElsewhere(t *testing.T, db *store.MemoryStore, model string) {
	t.Helper()
	r, err := store.Get(t.Context(), db, store.RecordKey{Project: "p", Kind: "conversation", Name: "c/ada"})
	var rec map[string]any
	if err == nil {
		err = json.Unmarshal(r.Value, &rec)
	}
	if err != nil {
		t.Fatal(err)
	}
	rec["model"] = model
	value, err := json.Marshal(rec)
	if err == nil {
		_, err = store.Put(t.Context(), db, r.Key, value, r.Revision, store.Fence{})
	}
	if err != nil {
		t.Error(err)
	}
}

// A model that is chosen while the CLI is told about one that was chosen before, or while
// that one is taken back because the CLI refuses it, is in force.
func TestChosenWhileCatchingUp(t *testing.T) {
	for _, first := range []string{"opus", "defualt"} {
		t.Run(first, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := store.Memory()
				s := &interceptor{Fleet: db}
				cli := &choosing{Transport: newScripted(), choose: func() { chooseElsewhere(t, db, "haiku") }}
				slow := &slowStart{Transport: cli}
				f := open(t, s, slow, nil)
				defer closeFleet(t, f)
				slow.meanwhile = func() error {
					err := f.SetModel(t.Context(), "ada", first)
					if first == "defualt" {
						s.set(func(k store.RecordKey, _ []byte) error {
							if k.Kind == "conversation" { // it is being taken back
								s.set(nil, nil)
								chooseElsewhere(t, db, "haiku")
							}
							return nil
						}, nil)
					}
					return err
				}
				model := ""
				for m, err := range f.Run(t.Context(), "ada", "hello") {
					if err != nil {
						t.Fatal(err)
					}
					if init, ok := m.(*message.Init); ok {
						model = init.Model
					}
				}
				if info, err := f.Get(t.Context(), "ada"); err != nil || info.Model != "haiku" || model != "haiku" {
					t.Errorf("it ran as %q, and %q is chosen, %v", model, info.Model, err)
				}
			})
		})
	}
}
