package fleet_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// Every method explains what is wrong with a key.
func TestKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, store.Memory(), newScripted(), nil)
		defer closeFleet(t, f)
		ask(t, f, "acme/ada", "hello")
		acme, other := f.Tenant("acme"), f.Tenant("other")
		if got := ask(t, acme, "acme/ada", "again"); got != "heard hello, again" {
			t.Errorf("answer %q", got)
		}
		for name, c := range map[string]struct {
			in   fleet.Conversations
			key  string
			want error
		}{
			"unknown":       {f, "nobody", fleet.ErrUnknown},
			"foreign":       {other, "acme/ada", fleet.ErrForeign},
			"foreign, none": {other, "acme/bob", fleet.ErrForeign},
			"no tenant":     {other, "ada", fleet.ErrForeign},
			"not a key":     {f, "a/b/c", store.ErrInvalid},
			"not a name":    {f, "..", store.ErrInvalid},
		} {
			for method, call := range calls(t.Context(), c.in, c.key) {
				err := call()
				if bad, ok := errors.AsType[*fleet.ConversationError](err); !ok || !errors.Is(err, c.want) || bad.Key != c.key {
					t.Errorf("%s: %s: %v", name, method, err)
				}
			}
		}
		for info, err := range other.List(t.Context()) {
			t.Errorf("%+v, %v", info, err)
		}
		for _, p := range []fleet.Prompt{{}, {ID: "1", Text: "hello"}} {
			if id, err := f.Send(t.Context(), "ada", p); !errors.Is(err, store.ErrInvalid) {
				t.Errorf("%+v: %s, %v", p, id, err)
			}
		}
	})
}

// calls are the methods that take a key; of one that is unknown, without those
// that make the conversation.
func calls(ctx context.Context, f fleet.Conversations, key string) map[string]func() error {
	const id = "00000000-0000-4000-8000-000000000000"
	all := map[string]func() error{
		"Prompt":            func() error { _, err := f.Prompt(ctx, key, id); return err },
		"Wait":              func() error { _, err := f.Wait(ctx, key, id); return err },
		"Cancel":            func() error { return f.Cancel(ctx, key, id) },
		"Interrupt":         func() error { return f.Interrupt(ctx, key) },
		"SetModel":          func() error { return f.SetModel(ctx, key, "opus") },
		"SetPermissionMode": func() error { return f.SetPermissionMode(ctx, key, permission.ModePlan) },
		"Get":               func() error { _, err := f.Get(ctx, key); return err },
		"Delete":            func() error { return f.Delete(ctx, key) },
		"Prewarm":           func() error { return f.Prewarm(ctx, key) },
		"Fork":              func() error { return f.Fork(ctx, key, "acme/copy", "") },
		"Events": func() error {
			for _, err := range f.Events(ctx, key, "") {
				return err
			}
			return nil
		},
	}
	if key != "nobody" {
		all["Send"] = func() error { _, err := f.Send(ctx, key, fleet.Prompt{Text: "x"}); return err }
		all["Describe"] = func() error { return f.Describe(ctx, key, fleet.Description{Title: "x"}) }
		all["Run"] = func() error { _, err := result(f.Run(ctx, key, "x")); return err }
	}
	return all
}

// A tenant sees and decides its own questions only.
func TestTenantInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := gated(t, store.Memory(), newScripted())
		defer closeFleet(t, f)
		send(t, f, "acme/ada", "tool 1")
		q := question(t, f)
		other := f.Tenant("other").Approvals()
		_, err := other.Decide(t.Context(), q.ID, approval.Answer{Decision: permission.Allow(), By: "eve", Digest: q.Digest})
		if !errors.Is(err, fleet.ErrForeign) {
			t.Errorf("decided by another tenant: %v", err)
		}
		for q, err := range other.List(t.Context(), approval.Filter{}) {
			t.Errorf("%+v, %v", q, err)
		}
		for name, read := range map[string]func() (approval.Question, error){
			"Get":         func() (approval.Question, error) { return other.Get(t.Context(), q.ID) },
			"Acknowledge": func() (approval.Question, error) { return other.Acknowledge(t.Context(), q.ID, "ada") },
		} {
			if got, err := read(); !errors.Is(err, fleet.ErrForeign) || got.ID != "" {
				t.Errorf("%s of another tenant: %+v, %v", name, got, err)
			}
		}
		_, err = f.Tenant("acme").Approvals().Decide(t.Context(), q.ID, approval.Answer{Decision: permission.Allow(), By: "ada", Digest: q.Digest})
		if err != nil {
			t.Error(err)
		}
	})
}

// A watcher that does not read, or leaves, delays no other.
func TestLagging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, store.Memory(), newScripted(), nil)
		defer closeFleet(t, f)
		ctx, cancel := context.WithCancel(t.Context())
		for range f.Run(ctx, "ada", "hello") {
			<-time.After(5 * time.Minute) // the turn ends meanwhile
			break
		}
		cancel()
		if info, err := f.Get(t.Context(), "ada"); err != nil || info.Queued != 0 || info.Cost.Turns != 1 {
			t.Errorf("the prompt of one who left: %+v, %v", info, err)
		}
	})
}

// The model and the mode that were chosen are those of the next start.
func TestChosen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		m := start(t, db, cli, nil)
		defer func() { closeFleet(t, m.fleet) }()
		ask(t, m.fleet, "ada", "hello")
		if err := errors.Join(m.fleet.SetModel(t.Context(), "ada", "opus"), m.fleet.SetPermissionMode(t.Context(), "ada", permission.ModePlan)); err != nil {
			t.Fatal(err)
		}
		closeFleet(t, m.fleet)
		m = start(t, db, cli, nil)
		ask(t, m.fleet, "ada", "again")
		for _, want := range []string{"opus", "plan"} {
			if !m.hasArg(want) {
				t.Errorf("the CLI was started with %q, without %s", m.args, want)
			}
		}
	})
}

// slowStart is a CLI during whose start something happens.
type slowStart struct {
	claude.Transport
	meanwhile func() error
}

func (s *slowStart) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	if err := s.meanwhile(); err != nil {
		return nil, err
	}
	return s.Transport.Start(ctx, l)
}

// A choice that is made while a CLI starts is in force before it is sent a prompt, in a
// new conversation as in one that sleeps.
func TestChosenWhileStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := &slowStart{Transport: newScripted()}
		f := open(t, store.Memory(), cli, func(o *fleet.Options) {
			usual := o.Session
			o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
				opts, err := usual(ctx, key)
				opts.PermissionMode, opts.Model = permission.ModeAcceptEdits, "haiku"
				return opts, err
			}
		})
		defer closeFleet(t, f)
		type choice struct {
			mode  permission.Mode
			model string
		}
		for _, c := range []struct{ chosen, want choice }{
			{choice{permission.ModePlan, "opus"}, choice{permission.ModePlan, "opus"}},
			{choice{permission.ModeDefault, "sonnet"}, choice{permission.ModeDefault, "sonnet"}},
			{choice{}, choice{permission.ModeAcceptEdits, "haiku"}}, // those of the options
		} {
			cli.meanwhile = func() error {
				return errors.Join(f.SetPermissionMode(t.Context(), "ada", c.chosen.mode), f.SetModel(t.Context(), "ada", c.chosen.model))
			}
			var got choice
			for m, err := range f.Run(t.Context(), "ada", "hello") {
				if err != nil {
					t.Fatal(err)
				}
				if init, ok := m.(*message.Init); ok {
					got = choice{init.PermissionMode, init.Model}
				}
			}
			if got != c.want {
				t.Errorf("it runs with %+v, want %+v", got, c.want)
			}
			<-time.After(5 * time.Minute) // it sleeps
		}
	})
}

// A prompt with an id is accepted once.
func TestSendAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		f := open(t, store.Memory(), cli, nil)
		defer closeFleet(t, f)
		p := fleet.Prompt{ID: "00000000-0000-4000-8000-000000000007", Text: "hello"}
		for range 2 {
			for range 2 {
				if _, err := f.Send(t.Context(), "ada", p); err != nil {
					t.Fatal(err)
				}
			}
			<-time.After(time.Minute)
		}
		if len(cli.calls) != 1 {
			t.Errorf("the model was asked %q", cli.calls)
		}
		for _, bad := range []fleet.Prompt{{}, {ID: "x", Text: "hello"}} {
			if _, err := f.Send(t.Context(), "ada", bad); err == nil {
				t.Errorf("%+v was accepted", bad)
			}
		}
	})
}
