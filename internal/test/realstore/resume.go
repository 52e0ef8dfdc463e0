package realstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/store"
)

// first is the first version that the check was seen to hold for.
const first = "2.1.325"

// Resume shows that a session whose CLI was killed in mid-turn continues from its
// store, under another home and working directory. The model hears all of it
// again, byte for byte; subagents, the compaction and the name are there; and
// nothing is left. The name is that of the store.
func Resume(t *testing.T, name string, s store.Sessions) {
	t.Helper()
	realcli.Needs(t, first, "a store")
	err := resume(t, realcli.Tested(), s)
	if err != nil {
		t.Error(err)
	}
	if os.Getenv(versionsVariable) != "" {
		record(t, name, s, err)
	}
}

// resume is Resume with one version of the CLI. The error describes what does not
// hold.
func resume(t *testing.T, version string, s store.Sessions) error {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	m := newMachine(t, version, script(), s)
	id, err := m.interrupted(s)
	if err != nil {
		return err
	}
	before := Said(t, m.lastCall())
	m.move()
	m.opts.Resume = id
	if err := m.carryOn(id, tmp, before); err != nil {
		return err
	}
	// And once more, by another way in, with what the second process said.
	m.move()
	m.opts.Resume, m.opts.Continue = "", true
	if res, err := claude.Ask(t.Context(), "the end", m.opts); err != nil || res.SessionID != id {
		return fmt.Errorf("continued: %+v, %w", res, err)
	}
	if last := strings.Join(Said(t, m.lastCall()), "\n"); !strings.Contains(last, "carry on") || !strings.Contains(last, "be killed") {
		return fmt.Errorf("the model heard:\n%s", last)
	}
	return nil
}

// script is a model that delegates once, and once calls a tool that never ends.
func script() *claudetest.Model {
	var agent, once sync.Once // the compaction repeats every prompt
	return claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		reply := claudetest.Say("noted: <b>\u2028 & \"quotes\"")
		switch {
		case strings.Contains(c.Prompt, "delegate"):
			agent.Do(func() {
				reply = claudetest.UseTool("Agent", map[string]any{"description": "look", "prompt": "look: inside", "subagent_type": "general-purpose"})
			})
		case strings.Contains(c.Prompt, "be killed"):
			once.Do(func() {
				reply = claudetest.UseTool("Bash", map[string]any{"description": "<end> & \"all\"", "command": "touch begun; tail -f /dev/null"})
			})
		}
		return reply
	})
}

// interrupted has a session whose CLI is killed in a tool call, and returns its
// id.
func (m *machine) interrupted(kept store.Sessions) (id string, err error) {
	ctx := m.t.Context()
	s, err := claude.Connect(ctx, m.opts)
	if err != nil {
		return "", err
	}
	defer s.Close() // with how it was ended
	for _, prompt := range []string{"hello", "delegate", "/compact", "after it"} {
		if _, err := s.Ask(ctx, prompt); err != nil {
			return "", fmt.Errorf("%s: %w", prompt, err)
		}
	}
	if err := s.Rename(ctx, "A new name"); err != nil {
		return "", err
	}
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		m.killWhenStored(ctx, kept, s.ID())
	}()
	_, err = s.Ask(ctx, "be killed")
	<-killed
	if err == nil {
		return "", errors.New("the CLI was not killed")
	}
	return s.ID(), nil
}

// killWhenStored kills the CLI when a tool runs and the store has its call. The
// CLI writes what was said a little later.
func (m *machine) killWhenStored(ctx context.Context, kept store.Sessions, id string) {
	stored := func() bool {
		for e, err := range store.Entries(ctx, kept, store.Key{Project: m.opts.Store.Project, Session: id}) {
			if err == nil && strings.Contains(string(e), "touch begun") && strings.Contains(string(e), `"tool_use"`) {
				return true
			}
		}
		return false
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(30 * time.Second); time.Now().Before(limit); <-tick.C {
		if _, err := os.Stat(filepath.Join(m.opts.Cwd, "begun")); err == nil && stored() {
			break
		}
	}
	if proc, err := os.FindProcess(m.pid); err == nil {
		_ = proc.Kill() // that it ends is seen by the session
	}
}

// carryOn resumes the session. The model must hear what it heard before.
func (m *machine) carryOn(id, tmp string, before []string) error {
	s, err := claude.Connect(m.t.Context(), m.opts)
	if err != nil {
		return err
	}
	defer s.Close()
	if s.ID() != id {
		return fmt.Errorf("the id is %q, want %q", s.ID(), id)
	}
	if _, err := s.Ask(m.t.Context(), "carry on"); err != nil {
		return err
	}
	after := Said(m.t, m.lastCall())
	for i, want := range before {
		if i >= len(after) || after[i] != want {
			return fmt.Errorf("message %d of %d differs:\n got %.2000s\nwant %.2000s", i+1, len(before), after[min(i, len(after)-1)], want)
		}
	}
	if rest := strings.Join(after[len(before):], "\n"); !strings.Contains(rest, "interrupted") || !strings.Contains(rest, "carry on") {
		return fmt.Errorf("after what was said before, the model heard:\n%s", rest)
	}
	if err := restored(m.t.Context(), tmp, id); err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	if left, _ := os.ReadDir(tmp); len(left) > 0 {
		return fmt.Errorf("%v is left", left)
	}
	if _, err := os.Stat(filepath.Join(m.home, ".claude", "projects")); err == nil {
		return errors.New("the session was also written to the home")
	}
	return nil
}

// restored looks at a session in the directory that its CLI was given: it has its
// subagent, and its name.
func restored(ctx context.Context, tmp, id string) error {
	found, _ := filepath.Glob(filepath.Join(tmp, "claude-session-*", "config"))
	if len(found) != 1 {
		return fmt.Errorf("the configuration directories are %q", found)
	}
	disk := history.Disk(found[0])
	info, err := disk.Info(ctx, id)
	if err != nil || info.Title != "A new name" {
		return fmt.Errorf("its name is %q, %w", info.Title, err)
	}
	session, err := disk.Read(ctx, id)
	if err != nil {
		return err
	}
	agents, err := session.Subagents(ctx)
	if err != nil || len(agents) != 1 {
		return fmt.Errorf("its subagents are %+v, %w, want one", agents, err)
	}
	return nil
}

// cacheMark matches the marks for the cache in the last messages of a request.
// They move on with each request and are not part of the conversation.
var cacheMark = regexp.MustCompile(`,"cache_control":\{[^{}]*\}`)

// Said returns the messages of a request, byte for byte but for cache marks.
func Said(t *testing.T, c *claudetest.ModelCall) []string {
	t.Helper()
	var body struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(c.Raw, &body); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range body.Messages {
		all = append(all, cacheMark.ReplaceAllString(string(m), ""))
	}
	return all
}
