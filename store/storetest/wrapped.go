package storetest

import (
	"context"
	"testing"

	"github.com/claude-agent-go/claude/store"
)

// RunWrapped tests a store within two stores that wrap it, against the whole contract: one
// encrypts what was said, and one renames projects. Both embed the store and override what
// they change, so a store that has a second way to anything fails here.
func RunWrapped(t *testing.T, target Target) {
	t.Run("encrypted", func(t *testing.T) {
		within := target.within(newSealed, func(s store.Fleet) store.Fleet { return s.(sealed).Fleet }, func(k store.Key) store.Key { return k })
		within.NoSummaries = false
		Run(t, within)
	})
	t.Run("renamed", func(t *testing.T) {
		wrap := func(s store.Fleet) store.Fleet { return renamed{s} }
		Run(t, target.within(wrap, func(s store.Fleet) store.Fleet { return s.(renamed).Fleet }, renamed{}.key))
	})
}

// within is the target with each store wrapped. key is the key of a transcript in the
// wrapped store. Owners in other processes are left out: they would not be wrapped.
func (target Target) within(wrap, unwrap func(store.Fleet) store.Fleet, key func(store.Key) store.Key) Target {
	within := Target{
		Open:        func(t *testing.T) store.Fleet { return wrap(target.Open(t)) },
		NoSummaries: target.NoSummaries,
	}
	if target.Again != nil {
		within.Again = func(t *testing.T, s store.Fleet) store.Fleet { return wrap(target.Again(t, unwrap(s))) }
	}
	if target.Layout != nil {
		within.Layout = func(t *testing.T, s store.Fleet, version string) { target.Layout(t, unwrap(s), version) }
	}
	if target.Compact != nil {
		within.Compact = func(ctx context.Context, s store.Fleet, k store.Key) error {
			return target.Compact(ctx, unwrap(s), key(k))
		}
	}
	return within
}
