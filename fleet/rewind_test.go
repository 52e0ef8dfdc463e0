package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// editing is a CLI whose prompts are names of files that it edits.
func editing() *claudetest.CLI {
	return claudetest.NewCLI(&claudetest.Script{
		Model: func(c *claudetest.ModelCall) claudetest.Reply {
			if len(c.ToolResults) > 0 {
				return claudetest.Say("done")
			}
			input, _ := json.Marshal(map[string]string{"file_path": c.Prompt})
			return claudetest.UseTool("Edit", json.RawMessage(input))
		},
		Tools: map[string]host.RunFunc{"Edit": func(context.Context, json.RawMessage) (host.ToolOutput, error) { return host.TextOutput("edited"), nil }},
	})
}

// checkpointed opens a fleet whose CLIs keep checkpoints.
func checkpointed(t *testing.T, db store.Fleet, cli claude.Transport, change func(*fleet.Options)) *fleet.Fleet {
	home := t.TempDir()
	return open(t, db, cli, func(o *fleet.Options) {
		usual := o.Session
		o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
			opts, err := usual(ctx, key)
			opts.FileCheckpointing, opts.Env, opts.AllowedTools = true, []string{"HOME=" + home}, []string{"Edit"}
			return opts, err
		}
		if change != nil {
			change(o)
		}
	})
}

func edit(t *testing.T, f *fleet.Fleet, key, path string) (prompt string) {
	t.Helper()
	prompt = uuid.New()
	for _, err := range f.RunPrompt(t.Context(), key, fleet.Prompt{ID: prompt, Text: path}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return prompt
}

// A rewind returns which files it restores, whether the conversation is awake or
// asleep, and leaves it as it was.
func TestRewind(t *testing.T) {
	for name, rest := range map[string]time.Duration{"awake": 0, "asleep": 5 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cli := editing()
				f := checkpointed(t, store.Memory(), cli, nil)
				defer closeFleet(t, f)
				first, second := edit(t, f, "ada", "/repo/a"), edit(t, f, "ada", "/repo/b")
				<-time.After(rest)
				id := uuid.New()
				for range 2 { // the same request again is done once
					got, err := f.Rewind(t.Context(), "ada", fleet.RewindTo{ID: id, Prompt: first})
					if err != nil || !got.CanRewind || !slices.Equal(got.FilesChanged, []string{"/repo/a", "/repo/b"}) {
						t.Errorf("%+v, %v", got, err)
					}
				}
				if n := len(cli.Recording().Requests("rewind_files")); n != 2 { // a dry run first, which shows what changes
					t.Errorf("%d requests", n)
				}
				got, err := f.Rewind(t.Context(), "ada", fleet.RewindTo{Prompt: second, DryRun: true})
				if err != nil || !slices.Equal(got.FilesChanged, []string{"/repo/b"}) {
					t.Errorf("%+v, %v", got, err)
				}
				if n := len(cli.Recording().Requests("rewind_files")); n != 3 {
					t.Errorf("%d requests after a dry run", n)
				}
				if got, err := f.Rewind(t.Context(), "ada", fleet.RewindTo{Prompt: uuid.New()}); err != nil || got.CanRewind || got.Error == "" {
					t.Errorf("to a prompt that was never sent: %+v, %v", got, err)
				}
				info, err := f.Get(t.Context(), "ada")
				if err != nil || info.Queued != 0 || info.Cost.Turns != 2 {
					t.Errorf("%+v, %v", info, err)
				}
			})
		})
	}
}

// A rewind that is impossible fails and leaves nothing behind.
func TestRewindFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		f := open(t, db, cli, nil)
		defer closeFleet(t, f)
		if _, err := f.Rewind(t.Context(), "nobody", fleet.RewindTo{Prompt: uuid.New()}); !errors.Is(err, fleet.ErrUnknown) {
			t.Errorf("of nobody: %v", err)
		}
		if _, err := f.Rewind(t.Context(), "ada", fleet.RewindTo{Prompt: "first"}); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("to a prompt without an id: %v", err)
		}
		if _, err := f.Tenant("acme").Rewind(t.Context(), "ada", fleet.RewindTo{Prompt: uuid.New()}); !errors.Is(err, fleet.ErrForeign) {
			t.Errorf("of another tenant: %v", err)
		}
		ask(t, f, "ada", "hello")
		_, err := f.Rewind(t.Context(), "ada", fleet.RewindTo{Prompt: uuid.New()})
		failed, ok := errors.AsType[*fleet.FailedError](err)
		if !ok || failed.Ticket.Error == "" {
			t.Errorf("without checkpoints: %v", err)
		}

		// The caller has gone, so the rewind must not happen later.
		cli.mu.Lock()
		cli.hold = make(chan struct{})
		cli.mu.Unlock()
		send(t, f, "ada", "hello again")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := f.Rewind(ctx, "ada", fleet.RewindTo{Prompt: uuid.New()}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("behind a turn without end: %v", err)
		}
		if info, err := f.Get(t.Context(), "ada"); err != nil || info.Queued != 1 {
			t.Errorf("%+v, %v", info, err)
		}
		if info, err := f.Get(t.Context(), "ada"); err != nil || info.State == fleet.StateStuck {
			t.Errorf("%+v, %v", info, err)
		}
		close(cli.hold)
	})
}

// A process that runs no conversations asks one that does to restore the files, if there
// is one.
func TestRewindElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), editing()
		f := checkpointed(t, db, cli, nil)
		prompt := edit(t, f, "ada", "/repo/a")
		closeFleet(t, f)
		client := open(t, db, nil, func(o *fleet.Options) { o.MaxLive, o.Session = fleet.NoCLIs, nil })
		defer closeFleet(t, client)
		type outcome struct {
			files []string
			err   error
		}
		done := make(chan outcome, 1)
		go func() { // by a process that runs nothing itself
			got, err := client.Rewind(t.Context(), "ada", fleet.RewindTo{Prompt: prompt})
			done <- outcome{got.FilesChanged, err}
		}()
		synctest.Wait()
		f = checkpointed(t, db, cli, nil)
		defer closeFleet(t, f)
		if got := <-done; got.err != nil || !slices.Equal(got.files, []string{"/repo/a"}) {
			t.Errorf("%+v", got)
		}
	})
}
