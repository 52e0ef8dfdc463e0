package fleet

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/lease"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// A process that was suspended while it asked what would change restores nothing when
// its lease has expired, even if the loss was not noticed yet.
func TestRewindIsFenced(t *testing.T) {
	for name, want := range map[string]struct {
		pause    time.Duration
		requests int
	}{"sure": {0, 2}, "in doubt": {time.Minute, 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cli, prompt := claudetest.New(claudetest.Say("hello")), uuid.New()
				s, err := claude.Connect(t.Context(), &claude.Options{
					Transport: cli, FileCheckpointing: true, Env: []string{"HOME=" + t.TempDir()}, Logger: slog.New(slog.DiscardHandler),
				})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				for _, err := range s.RunMessage(t.Context(), &message.User{Header: message.Header{UUID: prompt}, Content: message.Content{message.Text("hello")}}) {
					if err != nil {
						t.Fatal(err)
					}
				}
				held, err := lease.Acquire(t.Context(), store.Memory(), "p", "n", "ada", 30*time.Second)
				if err != nil {
					t.Fatal(err)
				}
				w := newWaking(newHouse(context.Background(), Options{}), &conversation{key: "ada"}, &owned{Held: held, lost: make(chan struct{})}, nil)
				w.session = s
				<-time.After(want.pause)
				_, err = w.restoreFiles(t.Context(), &RewindTo{Prompt: prompt})
				if lost := want.pause > 0; errors.Is(err, store.ErrLeaseLost) != lost || err != nil && !lost {
					t.Errorf("restored: %v", err)
				}
				if n := len(cli.Recording().Requests("rewind_files")); n != want.requests {
					t.Errorf("%d requests", n)
				}
			})
		})
	}
}
