package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// machine is the real CLI with a home and a working directory of its own. Its
// model repeats the marks of all prompts of the conversation, and makes a call
// when a prompt asks for it.
func machine(t *testing.T) *real {
	t.Helper()
	realcli.Needs(t, "2.1.325", "sessions in a store")
	mark := regexp.MustCompile(`mark-[a-z]+-\d`)
	return startReal(t, claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		if n := len(c.ToolResults); n > 0 {
			return claudetest.Say("It says: " + c.ToolResults[n-1].Text)
		}
		var said []string
		for _, m := range c.Messages {
			if m.Role == "user" {
				said = append(said, mark.FindAllString(m.Text, -1)...)
			}
		}
		switch {
		case strings.Contains(c.Prompt, "make a note and rest"):
			return bash("echo one >> log; sleep 60")
		case strings.Contains(c.Prompt, "make a note"):
			return bash("echo one >> log")
		}
		return claudetest.Say(strings.Join(said, " "))
	}))
}

// fleet opens a fleet on this machine.
func (r *real) fleet(t *testing.T, db store.Fleet, o fleet.Options) *fleet.Fleet {
	t.Helper()
	o.Store, o.Project, o.Journal, o.Logger = db, "p", cmp.Or(o.Journal, t.TempDir()), harness.Logger(t)
	o.Session = func(context.Context, string) (*claude.Options, error) {
		opts := *r.opts
		return &opts, nil
	}
	f, err := fleet.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func closeFleet(t *testing.T, f *fleet.Fleet) {
	t.Helper()
	if err := f.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// lastText reads to the end and returns the text of the result.
func lastText(stream func(func(message.Message, error) bool)) (text string, err error) {
	for msg, e := range stream {
		if res, ok := msg.(*message.Result); ok {
			text = res.Text
		}
		err = e
	}
	return text, err
}

// Three conversations share one CLI. Each sleeps while another is awake, and
// wakes with all that was said in it.
func TestRealFleet(t *testing.T) {
	t.Parallel()
	f := machine(t).fleet(t, store.Files(t.TempDir()), fleet.Options{MaxLive: 1})
	defer closeFleet(t, f)
	for round := range 2 {
		for _, name := range []string{"ada", "bob", "eve"} {
			text, err := lastText(f.Run(t.Context(), "acme/"+name, fmt.Sprintf("mark-%s-%d", name, round)))
			want := fmt.Sprintf("mark-%s-0", name)
			if round == 1 {
				want += fmt.Sprintf(" mark-%s-1", name)
			}
			if err != nil || text != want {
				t.Errorf("%s: %q, %v, want %q", name, text, err, want)
			}
		}
	}
}

// An undecided call waits without a CLI. A fleet on another machine makes it,
// once, with the input that was decided, and answers the prompt.
func TestRealFleetApproval(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decision  permission.Decision
		log, says string
		outcome   approval.Outcome
	}{
		"changed": {permission.AllowWith(json.RawMessage(`{"command":"echo two >> log","description":"note it"}`)), "two\n", "It says:", approval.OutcomeRan},
		"denied":  {permission.Deny("not today"), "", "not today", approval.OutcomeDenied},
	} {
		t.Run(name, func(t *testing.T) {
			db := store.Files(t.TempDir())
			gate := &approval.Options{Patience: 100 * time.Millisecond}
			first := machine(t)
			f := first.fleet(t, db, fleet.Options{Gate: gate})
			_, err := lastText(f.Run(t.Context(), "ada", "make a note"))
			waits, ok := errors.AsType[*fleet.DeferredError](err)
			if !ok {
				t.Fatalf("not deferred: %v", err)
			}
			closeFleet(t, f)

			second := machine(t)
			f = second.fleet(t, db, fleet.Options{Gate: gate})
			defer closeFleet(t, f)
			q, err := f.Approvals().Get(t.Context(), waits.Question)
			if err != nil || q.State != approval.StateOpen {
				t.Fatalf("the question: %+v, %v", q, err)
			}
			if _, err := f.Approvals().Decide(t.Context(), q.ID, approval.Answer{Decision: c.decision, By: "ada", Digest: q.Digest}); err != nil {
				t.Fatal(err)
			}
			text, err := lastText(f.RunPrompt(t.Context(), "ada", fleet.Prompt{ID: waits.Prompt, Text: "make a note"}))
			if err != nil || !strings.Contains(text, c.says) {
				t.Errorf("the answer: %q, %v", text, err)
			}
			if first.noted() != "" || second.noted() != c.log {
				t.Errorf("the tool wrote %q, then %q", first.noted(), second.noted())
			}
			if q, err := f.Approvals().Get(t.Context(), q.ID); err != nil || q.State != approval.StateSettled || q.Outcome != c.outcome {
				t.Errorf("the question is %s %s, %v", q.State, q.Outcome, err)
			}
		})
	}
}

// killed starts a fleet in another process, lets it run a prompt, and kills it
// when it has come as far as wanted. More variables of [playFleet] may follow.
func (r *real) killed(t *testing.T, dir, prompt string, patience time.Duration, far func(host *os.Process), more ...string) {
	t.Helper()
	host := exec.Command(os.Args[0])
	host.Env = append(os.Environ(), "CLAUDE_TEST_ROLE=fleet", "HOST_CLI="+r.opts.CLIPath, "HOST_DIR="+r.dir,
		"HOST_ENV="+strings.Join(r.opts.Env, "\x1f"), "HOST_STORE="+dir, "HOST_JOURNAL="+t.TempDir(),
		"HOST_PROMPT="+prompt, "HOST_PATIENCE="+patience.String(), leak.Mark(),
		"TMPDIR="+t.TempDir()) // what a program leaves that is killed goes with the test
	host.Env = append(host.Env, more...)
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := host.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = host.Wait() // it was killed
		free(t, store.Files(dir), "p", "fleet/c/ada")
		eventually(t, "the CLI outlives its program", func() bool { return len(leak.MarkedBy(r.mark)) == 0 })
	}()
	far(host.Process)
}

// notedPrompt is the id of the prompt of a fleet that is killed.
const notedPrompt = "00000000-0000-4000-8000-00000000f1ee"

// playFleet runs one prompt in a fleet until it is killed. With HOST_GATED, only calls that
// fit this rule need a person; with HOST_STALLS, the store hangs at lines with this text;
// with HOST_OWN, there is a tool that kills the program; with HOST_PICTURE, this file comes
// with the prompt, and files have checkpoints.
func playFleet() {
	patience, _ := time.ParseDuration(os.Getenv("HOST_PATIENCE"))
	o := fleet.Options{
		Store: store.Files(os.Getenv("HOST_STORE")), Project: "p", Journal: os.Getenv("HOST_JOURNAL"), TTL: 10 * time.Second, // see free
		Session: func(context.Context, string) (*claude.Options, error) {
			own := claude.MCPServers{}
			if os.Getenv("HOST_OWN") != "" {
				own["own"] = noteTool(os.Getenv("HOST_DIR"), killSelf)
			}
			return &claude.Options{
				MCPServers: own,
				CLIPath:    os.Getenv("HOST_CLI"), Cwd: os.Getenv("HOST_DIR"),
				Env:            append(strings.Split(os.Getenv("HOST_ENV"), "\x1f"), fmt.Sprintf("FLEET_PID=%d", os.Getpid())),
				PermissionMode: permission.ModeBypassPermissions, AllowBypassPermissions: true,
				FileCheckpointing: os.Getenv("HOST_PICTURE") != "",
			}, nil
		},
	}
	if patience > 0 {
		o.Gate = &approval.Options{Patience: patience}
		if rule := os.Getenv("HOST_GATED"); rule != "" {
			o.Gate.Needs = approval.NeedsRules(rule)
		}
	}
	if text := os.Getenv("HOST_STALLS"); text != "" {
		o.Store = &stalled{o.Store, []byte(text)}
	}
	f, err := fleet.Open(context.Background(), o)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	prompt := fleet.Prompt{ID: notedPrompt, Text: os.Getenv("HOST_PROMPT")}
	if path := os.Getenv("HOST_PICTURE"); path != "" {
		picture, err := os.ReadFile(path)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		prompt.Content, prompt.Text = message.Content{message.Image("image/png", picture), message.Text(prompt.Text)}, ""
	}
	for range f.RunPrompt(context.Background(), "ada", prompt) {
	}
	select {} // it is killed
}

// killSelf kills this program as the system would.
func killSelf() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill() // there is no one to report it to
	}
	select {}
}

// free lets the lease of a program end that is dead or suspended: its time is up. So a
// lease can be long enough for a busy machine, and no test waits for one.
func free(t *testing.T, db *store.FileStore, project, name string) {
	t.Helper()
	for token := range int64(1000) { // the store counts them from 1
		if err := db.Release(t.Context(), store.Lease{Fence: store.Fence{Project: project, Name: name, Token: token + 1}}); err != nil {
			t.Fatal(err)
		}
		l, err := db.Acquire(t.Context(), project, name, "a test", time.Minute)
		if errors.Is(err, store.ErrLeased) {
			continue
		}
		if err == nil {
			err = db.Release(t.Context(), l)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("the lease of %s was given out too often", name)
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !holds(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal(what)
		}
	}
}

// A program that is killed leaves everything that it had accepted. The next
// one, on another machine, ends the prompt under its own id, and runs nothing a
// second time.
func TestRealFleetKilled(t *testing.T) {
	t.Parallel()
	need.Signals.Test(t)
	t.Run("while a tool runs", func(t *testing.T) {
		dir, first := t.TempDir(), machine(t)
		first.killed(t, dir, "make a note and rest", 0, func(*os.Process) {
			stored(t, store.Files(dir), "p", "echo one >> log; sleep 60")
			eventually(t, "the tool did not run", func() bool { return first.noted() != "" })
		})
		second, text, err := takeOver(t, dir, "make a note and rest", nil)
		if err != nil || !strings.Contains(text, "It says:") {
			t.Errorf("the answer: %q, %v", text, err)
		}
		if first.noted() != "one\n" || second.noted() != "" {
			t.Errorf("the tool wrote %q, then %q", first.noted(), second.noted())
		}
		t.Logf("the model was told: %s", text)
	})
	t.Run("while a person is asked", func(t *testing.T) {
		dir, first := t.TempDir(), machine(t)
		inbox := &approvals{first, approval.NewQuestions(store.Files(dir), "p")}
		var q approval.Question
		first.killed(t, dir, "make a note", time.Minute, func(*os.Process) {
			q = inbox.asked(t)
			stored(t, store.Files(dir), "p", q.ToolUseID)
		})
		inbox.decide(t, q, permission.Allow())
		second, text, err := takeOver(t, dir, "make a note", &approval.Options{Patience: 100 * time.Millisecond})
		if err != nil || !strings.Contains(text, "It says:") {
			t.Errorf("the answer: %q, %v", text, err)
		}
		if first.noted() != "" || second.noted() != "one\n" {
			t.Errorf("the tool wrote %q, then %q", first.noted(), second.noted())
		}
		if q := inbox.question(t, q.ID); q.State != approval.StateSettled || q.Outcome != approval.OutcomeRan {
			t.Errorf("the question is %s %s", q.State, q.Outcome)
		}
	})
	t.Run("after the answer", func(t *testing.T) {
		dir, first := t.TempDir(), machine(t)
		first.killed(t, dir, "mark-ada-0", 0, func(*os.Process) { stored(t, store.Files(dir), "p", `"end_turn"`) })
		second, text, err := takeOver(t, dir, "mark-ada-0", nil)
		if err != nil || text != "mark-ada-0" || len(second.calls()) != 0 {
			t.Errorf("the answer: %q, %v; the model was called %d times more", text, err, len(second.calls()))
		}
	})
}

// takeOver opens a fleet on another machine and follows the prompt to its end.
func takeOver(t *testing.T, dir, prompt string, gate *approval.Options) (r *real, text string, err error) {
	t.Helper()
	r = machine(t)
	r.opts.PermissionMode, r.opts.AllowBypassPermissions = permission.ModeBypassPermissions, true
	f := r.fleet(t, store.Files(dir), fleet.Options{Gate: gate})
	defer closeFleet(t, f)
	if _, err := lastText(f.RunPrompt(t.Context(), "ada", fleet.Prompt{ID: notedPrompt, Text: prompt})); err != nil {
		return r, "", err
	}
	ticket, err := f.Prompt(t.Context(), "ada", notedPrompt)
	if err == nil && ticket.Status != fleet.PromptAnswered {
		err = fmt.Errorf("the prompt is %s", ticket.Status)
	}
	return r, ticket.Text, err
}

// noted returns what the tool has written.
func (r *real) noted() string {
	text, err := os.ReadFile(filepath.Join(r.dir, "log"))
	if err != nil && !os.IsNotExist(err) {
		return err.Error()
	}
	return string(text)
}
