package fleet_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// A description stays with its conversation, from before the first prompt.
func TestDescribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		f := open(t, db, cli, nil)
		want := fleet.Description{Title: "Über Katzen", Labels: map[string]string{"customer": "42"}}
		labels := maps.Clone(want.Labels)
		if err := f.Tenant("acme").Describe(t.Context(), "acme/ada", fleet.Description{Title: want.Title, Labels: labels}); err != nil {
			t.Fatal(err)
		}
		labels["customer"] = "changed later"
		ask(t, f, "acme/ada", "hello")
		closeFleet(t, f)
		f = open(t, db, cli, nil)
		defer closeFleet(t, f)
		for info, err := range f.List(t.Context()) {
			if err != nil || info.Title != want.Title || !maps.Equal(info.Labels, want.Labels) || info.Cost.Turns != 1 {
				t.Errorf("%+v, %v", info, err)
			}
		}
		if err := f.Describe(t.Context(), "acme/ada", fleet.Description{}); err != nil {
			t.Error(err)
		}
		if info, err := f.Get(t.Context(), "acme/ada"); err != nil || info.Title != "" || len(info.Labels) != 0 {
			t.Errorf("%+v, %v", info, err)
		}
	})
}

func TestBadDescriptions(t *testing.T) {
	f := open(t, store.Memory(), newScripted(), nil)
	defer closeFleet(t, f)
	many := make(map[string]string)
	for i := range 17 {
		many[fmt.Sprint(i)] = ""
	}
	for name, d := range map[string]fleet.Description{
		"long":       {Title: strings.Repeat("ü", 201)},
		"two lines":  {Title: "a\nb"},
		"no text":    {Title: "\xff"},
		"many":       {Labels: many},
		"no name":    {Labels: map[string]string{"": "x"}},
		"long name":  {Labels: map[string]string{strings.Repeat("x", 65): ""}},
		"long value": {Labels: map[string]string{"x": strings.Repeat("x", 257)}},
		"odd value":  {Labels: map[string]string{"x": "\x1b[31m"}},
	} {
		if err := f.Describe(t.Context(), "ada", d); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := f.Get(t.Context(), "ada"); !errors.Is(err, fleet.ErrUnknown) {
		t.Errorf("a conversation was made: %v", err)
	}
	if err := f.Describe(t.Context(), "ada", fleet.Description{Title: strings.Repeat("ü", 200)}); err != nil {
		t.Error(err)
	}
}
