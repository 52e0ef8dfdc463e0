package fleet_test

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// Every method of a tenant that takes a key refuses those of others, whatever it is about,
// and changes nothing. The methods are those of the interface, so that a new one is checked
// as well.
func TestTenantMatrix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		f := gated(t, db, newScripted())
		defer closeFleet(t, f)
		ask(t, f, "acme/ada", "hello")
		ask(t, f, "ada", "hello")
		send(t, f, "acme/ada", "tool 1")
		<-time.After(2 * time.Minute)
		before := everyRecord(t, db)
		methods := reflect.TypeFor[fleet.Conversations]()
		without := map[string]bool{"List": true, "Outcomes": true, "Approvals": true}
		for tenant, keys := range map[string][]string{
			"other":    {"acme/ada", "acme/none", "ada", "none", "other", "other2/ada", "acme"},
			"acm":      {"acme/ada", "acm"},
			"":         {"ada", "acme/ada", "/ada", ""},
			"acme/ada": {"acme/ada", "ada"},
		} {
			for _, key := range keys {
				for i := range methods.NumMethod() {
					m := methods.Method(i)
					if without[m.Name] || !m.IsExported() {
						continue
					}
					err := callWith(t.Context(), reflect.ValueOf(f.Tenant(tenant)).MethodByName(m.Name), key)
					if at, ok := errors.AsType[*fleet.ConversationError](err); !ok || !errors.Is(err, fleet.ErrForeign) || at.Key != key {
						t.Errorf("%s of %q as tenant %q: %v", m.Name, key, tenant, err)
					}
				}
			}
		}
		if err := f.Tenant("acme").Fork(t.Context(), "acme/ada", "other/ada", ""); !errors.Is(err, fleet.ErrForeign) {
			t.Errorf("a fork to another tenant: %v", err)
		}
		if after := everyRecord(t, db); !slices.Equal(before, after) {
			t.Errorf("the store has changed from\n%q\nto\n%q", before, after)
		}
	})
}

// callWith calls a method with a key, and returns its error, or the first one of its loop.
func callWith(ctx context.Context, method reflect.Value, key string) error {
	in := []reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(key)}
	for i := 2; i < method.Type().NumIn(); i++ {
		in = append(in, reflect.Zero(method.Type().In(i)))
	}
	out := method.Call(in)
	last := out[len(out)-1]
	if last.Kind() == reflect.Func {
		for _, err := range last.Seq2() {
			err, _ := err.Interface().(error)
			return err
		}
		return nil
	}
	err, _ := last.Interface().(error)
	return err
}

// everyRecord returns what the store has of the kinds that people can change.
func everyRecord(t *testing.T, db store.Fleet) (all []string) {
	t.Helper()
	for _, kind := range []string{"conversation", "prompt", "outcome", "question", "calls", "deletion"} {
		all = append(all, allRecords(t, db, kind)...)
	}
	return all
}

// A tenant sees all of its own and nothing of others, in every loop.
func TestTenantSeesItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := gated(t, store.Memory(), newScripted())
		defer closeFleet(t, f)
		keys := []string{"acme/a", "acme/b", "acme2/a", "other/a", "acme"}
		for _, key := range keys {
			ask(t, f, key, "hello")
		}
		for n, key := range keys {
			send(t, f, key, "tool "+string(rune('1'+n)))
		}
		<-time.After(5 * time.Minute)
		for tenant, want := range map[string][]string{"acme": {"acme/a", "acme/b"}, "acme2": {"acme2/a"}, "": nil, "nobody": nil} {
			c := f.Tenant(tenant)
			listed := keysOf(t, c.List(t.Context()), func(i fleet.ConversationInfo) string { return i.Key })
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			ended := keysOf(t, c.Outcomes(ctx, ""), func(o fleet.PromptOutcome) string { return o.Key })
			cancel()
			if tenant == "" {
				tenant = "\x00" // the inbox of no tenant is that of conversations without one
			}
			asked := keysOf(t, c.Approvals().List(t.Context(), approval.Filter{}), func(q approval.Question) string { return q.Conversation })
			ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
			watched := keysOf(t, c.Approvals().Watch(ctx, approval.Filter{}), func(q approval.Question) string { return q.Conversation })
			cancel()
			if !slices.Equal(listed, want) || !slices.Equal(ended, want) {
				t.Errorf("%q lists %q, and has the outcomes of %q, want %q", tenant, listed, ended, want)
			}
			if tenant != "\x00" && (!slices.Equal(asked, want) || !slices.Equal(watched, want)) {
				t.Errorf("%q is asked about %q and watches %q, want %q", tenant, asked, watched, want)
			}
		}
		// A loop may be left in the middle.
		left := 0
		for range f.Tenant("acme").Approvals().List(t.Context(), approval.Filter{}) {
			left++
			break
		}
		if left != 1 {
			t.Errorf("the loop was left after %d questions", left)
		}
		for q, err := range f.Approvals().List(t.Context(), approval.Filter{}) {
			if err != nil {
				t.Fatal(err)
			}
			decide(t, f, q, permission.Deny("no"))
		}
	})
}

// keysOf returns the conversations that a loop names, sorted. The end of a context is its
// end.
func keysOf[T any](t *testing.T, all iter.Seq2[T, error], key func(T) string) (keys []string) {
	t.Helper()
	for v, err := range all {
		if errors.Is(err, context.DeadlineExceeded) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key(v))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// While a conversation is being deleted, every method returns ErrDeleted; when it is
// done, all that do not make it return ErrUnknown.
func TestDeletedMatrix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		m := start(t, db, newScripted(), nil)
		ask(t, m.fleet, "ada", "hello")
		<-time.After(5 * time.Minute)
		m.mu.Lock()
		m.failing = func(method string) bool { return method == "Delete" }
		m.mu.Unlock()
		if err := m.fleet.Delete(t.Context(), "ada"); err == nil {
			t.Fatal("deleted, although the store has failed")
		}
		makes := map[string]bool{"Send": true, "Describe": true, "Run": true, "Resume": true}
		methods := reflect.TypeFor[fleet.Conversations]()
		try := func(want error, but map[string]bool) {
			for i := range methods.NumMethod() {
				if !methods.Method(i).IsExported() {
					continue
				}
				name := methods.Method(i).Name
				switch name {
				case "List", "Outcomes", "Approvals", "Delete", "Rewind", "Resume":
					continue
				case "Send", "Run":
					if but == nil {
						if _, err := m.fleet.Send(t.Context(), "ada", fleet.Prompt{Text: "x"}); !errors.Is(err, want) {
							t.Errorf("Send: %v, want %v", err, want)
						}
					}
					continue
				}
				if but[name] {
					continue
				}
				err := callWith(t.Context(), reflect.ValueOf(m.fleet).MethodByName(name), "ada")
				if !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", name, err, want)
				}
			}
			for info, err := range m.fleet.List(t.Context()) {
				t.Errorf("listed: %+v, %v", info, err)
			}
		}
		try(fleet.ErrDeleted, nil)
		m.mu.Lock()
		m.failing = nil
		m.mu.Unlock()
		if err := m.fleet.Delete(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		try(fleet.ErrUnknown, makes)
		if got := ask(t, m.fleet, "ada", "new"); got != "heard new" {
			t.Errorf("a new one under the key has %q", got)
		}
		closeFleet(t, m.fleet)
	})
}
