package fleet_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// The id of a key is always the same UUID, and no other key has it.
func TestPromptID(t *testing.T) {
	const same = "6e4ea06a-78a0-8ec9-985e-4156d34ecd2e"
	if got := fleet.PromptID("orders", "42"); got != same {
		t.Errorf("the id of a key is %s: it was %s, and prompts that were sent before would run again", got, same)
	}
	seen := make(map[string][]string)
	for _, parts := range [][]string{
		{"orders", "42"}, {"orders42"}, {"orders", "4", "2"}, {"order", "s42"}, {"42", "orders"}, {"orders/42"}, {"orders\x0242"}, {strings.Repeat("x", 1000)},
	} {
		id := fleet.PromptID(parts...)
		if other, twice := seen[id]; twice || !uuid.Valid(id) || id[14] != '8' {
			t.Errorf("%q: %s, which %q has too", parts, id, other)
		}
		seen[id] = parts
	}
	for _, parts := range [][]string{nil, {""}, {"orders", ""}} {
		if id := fleet.PromptID(parts...); id != "" {
			t.Errorf("%q: %s", parts, id)
		}
	}
}

// A key sent twice is one prompt; without a key, two are two.
func TestPromptIDSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		f := open(t, store.Memory(), cli, nil)
		defer closeFleet(t, f)
		for _, key := range []string{"mail 7", "mail 7", "", ""} {
			id, err := f.Send(t.Context(), "ada", fleet.Prompt{ID: fleet.PromptID(key), Text: "hello"})
			if err != nil {
				t.Fatal(err)
			}
			if ticket, err := f.Wait(t.Context(), "ada", id); err != nil || ticket.Status != fleet.PromptAnswered {
				t.Errorf("%+v, %v", ticket, err)
			}
		}
		if len(cli.calls) != 3 {
			t.Errorf("the model was asked %q", cli.calls)
		}
	})
}

// A key that cannot be used is called a key, with what is wrong and what a key is.
func TestKeyErrors(t *testing.T) {
	f := open(t, store.Memory(), newScripted(), nil)
	defer closeFleet(t, f)
	for key, want := range map[string]string{
		"":                       `conversation "": the key is empty; a key is a name`,
		"Ada Lovelace":           `conversation "Ada Lovelace": the key has a character other than ASCII letters, digits and "-_.@+=:,~"; a key is a name`,
		"acme/":                  "the key is empty",
		"-x":                     "the key does not begin with a letter or digit",
		"a/b/c":                  "the key has more parts than a tenant and a name",
		"a/b/c/d/e/f/g/h/i/j/k":  "the key has more than",
		strings.Repeat("x", 121): "the key is longer than 120 bytes",
	} {
		_, err := f.Send(t.Context(), key, fleet.Prompt{Text: "hello"})
		bad, ok := errors.AsType[*store.KeyError](err)
		if !ok || bad.Part != "key" || bad.Value != key || !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "lease") {
			t.Errorf("%q: %v, want %s", key, err, want)
		}
	}
}
