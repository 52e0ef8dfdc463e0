package natsfleet_test

import (
	"context"
	"errors"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/store"
)

// A server that lacks what the process knows of does not count, and a fleet then reads
// one record after another.
func TestViewFromServerBehind(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	s := openStore(t, c.URL())
	key := store.RecordKey{Project: "p", Kind: "k", Name: "a"}
	if _, err := s.PutRecord(t.Context(), key, []byte("1"), 0, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	if all, err := s.ViewRecords(t.Context(), []store.RecordKey{key}, nil); err != nil || len(all) != 1 {
		t.Fatalf("ViewRecords = %+v, %v", all, err)
	}
	s.Knows(1 << 40)
	if all, err := s.ViewRecords(t.Context(), []store.RecordKey{key}, nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a server that is behind answers %+v, %v; want ErrUnsupported", all, err)
	}
	cli := claudetest.NewCLI(&claudetest.Script{Model: func(*claudetest.ModelCall) claudetest.Reply { return claudetest.Say("yes") }})
	f, err := fleet.Open(t.Context(), fleet.Options{Store: s, Project: "p", Logger: quiet(), Journal: t.TempDir(), Session: func(context.Context, string) (*claude.Options, error) {
		return &claude.Options{Transport: cli, Cwd: "/work", Env: []string{"HOME=/home/a"}, Logger: quiet()}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, f)
	for range 3 {
		if got, err := answer(t.Context(), f, "ada", "hello"); err != nil || got != "yes" {
			t.Fatalf("the answer is %q, %v", got, err)
		}
	}
}
