package e2e

import (
	"context"
	"encoding/json"
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
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// moveHome moves to another machine, as far as the CLI can see: another home,
// another working directory.
func (r *real) moveHome(t *testing.T) {
	t.Helper()
	env, home := realcli.Env(t, r.model.URL())
	r.opts.Env, r.home, r.dir = append(env, r.mark), home, t.TempDir()
	r.opts.Cwd = r.dir
}

// pidOf is the ordinary Transport, and knows the process that it has started
// last.
type pidOf struct{ pid int }

func (p *pidOf) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	conn, err := claude.ChildProcess().Start(ctx, l)
	if err == nil {
		p.pid = conn.(interface{ PID() int }).PID()
	}
	return conn, err
}

// killWhenStored kills the CLI when a tool runs and the store has its call. The
// CLI writes what was said a little later.
func killWhenStored(t *testing.T, dir string, s store.Store, id string, pid int) {
	stored := func() bool {
		for e, err := range s.Load(t.Context(), store.Key{Project: "tenant-7", Session: id}) {
			if err == nil && strings.Contains(string(e), "touch begun") && strings.Contains(string(e), `"tool_use"`) {
				return true
			}
		}
		return false
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(30 * time.Second); time.Now().Before(limit); <-tick.C {
		if _, err := os.Stat(filepath.Join(dir, "begun")); err == nil && stored() {
			break
		}
	}
	if proc, err := os.FindProcess(pid); err == nil {
		_ = proc.Kill() // that it ends is seen by the session
	}
}

// cacheMark is what the CLI puts into the last messages of a request for the
// cache. It moves on with each request and is not part of what is said.
var cacheMark = regexp.MustCompile(`,"cache_control":\{[^{}]*\}`)

// said returns the messages of a request, byte for byte but for cache marks.
func said(t *testing.T, c *claudetest.ModelCall) []string {
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

// A session whose CLI was killed in mid-turn continues from its store, under
// another home and working directory. The model hears all of it again, byte for
// byte; subagents, the compaction and the name are there; and nothing is left.
func TestRealResumeFromStore(t *testing.T) {
	realcli.Needs(t, "2.1.325", "a store")
	for name, keep := range map[string]func(*testing.T) store.Store{
		"Memory": func(*testing.T) store.Store { return store.Memory() },
		"Files":  func(t *testing.T) store.Store { return store.Files(t.TempDir()) },
	} {
		t.Run(name, func(t *testing.T) {
			var agent, once sync.Once
			r, _ := mirrored(t, claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
				reply := claudetest.Say("noted: <b>\u2028 & \"quotes\"")
				switch {
				case strings.Contains(c.Prompt, "delegate"):
					agent.Do(func() { reply = claudetest.UseTools(agentCall("look: inside")) })
				case strings.Contains(c.Prompt, "be killed"):
					once.Do(func() {
						reply = claudetest.UseTool("Bash", map[string]any{"description": "<end> & \"all\"", "command": "touch begun; tail -f /dev/null"})
					})
				}
				return reply
			}))
			tmp := t.TempDir()
			t.Setenv("TMPDIR", tmp)
			kept := keep(t)
			p := new(pidOf)
			r.opts.Store.Store, r.opts.Transport = kept, p
			s, err := claude.Connect(t.Context(), r.opts)
			if err != nil {
				t.Fatal(err)
			}
			id := s.ID()
			for _, prompt := range []string{"hello", "delegate", "/compact", "after it"} {
				if _, err := s.Ask(t.Context(), prompt); err != nil {
					t.Fatalf("%s: %v", prompt, err)
				}
			}
			if err := s.Rename(t.Context(), "A new name"); err != nil {
				t.Fatal(err)
			}
			go killWhenStored(t, r.dir, kept, id, p.pid)
			if _, err := s.Ask(t.Context(), "be killed"); err == nil {
				t.Error("the CLI was not killed")
			}
			_ = s.Close() // with how it was ended
			calls := r.calls()
			before := said(t, calls[len(calls)-1])

			r.moveHome(t)
			r.opts.Resume = id
			s = r.connect(t)
			if s.ID() != id {
				t.Errorf("the id is %q, want %q", s.ID(), id)
			}
			if _, err := s.Ask(t.Context(), "carry on"); err != nil {
				t.Fatal(err)
			}
			calls = r.calls()
			after := said(t, calls[len(calls)-1])
			for i, want := range before {
				if i >= len(after) || after[i] != want {
					t.Errorf("message %d of %d differs:\n got %.2000s\nwant %.2000s", i+1, len(before), after[min(i, len(after)-1)], want)
					break
				}
			}
			if rest := strings.Join(after[min(len(before), len(after)):], "\n"); !strings.Contains(rest, "interrupted") || !strings.Contains(rest, "carry on") {
				t.Errorf("after what was said before, the model heard:\n%s", rest)
			}
			r.wantRestored(t, tmp, id)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if left, _ := os.ReadDir(tmp); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
			if _, err := os.Stat(filepath.Join(r.home, ".claude", "projects")); err == nil {
				t.Error("the session was also written to the home")
			}

			// And once more, by another way in, with what the second process said.
			r.moveHome(t)
			r.opts.Resume, r.opts.Continue = "", true
			if res, err := claude.Ask(t.Context(), "the end", r.opts); err != nil || res.SessionID != id {
				t.Errorf("continued: %+v, %v", res, err)
			}
			calls = r.calls()
			if last := strings.Join(said(t, calls[len(calls)-1]), "\n"); !strings.Contains(last, "carry on") || !strings.Contains(last, "be killed") {
				t.Errorf("the model heard:\n%s", last)
			}
		})
	}
}

// wantRestored wants a session in the directory that its CLI was given: with its
// subagent, and under its name.
func (r *real) wantRestored(t *testing.T, tmp, id string) {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(tmp, "claude-session-*", "config"))
	if len(found) != 1 {
		t.Fatalf("the configuration directories are %q", found)
	}
	disk := history.Disk(found[0])
	info, err := disk.Info(t.Context(), id)
	if err != nil || info.Title != "A new name" {
		t.Errorf("its name is %q, %v", info.Title, err)
	}
	session, err := disk.Read(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	agents, err := session.Subagents(t.Context())
	if err != nil || len(agents) != 1 {
		t.Errorf("its subagents are %+v, %v, want one", agents, err)
	}
}

// A fork from a store has an id of its own and leaves the session as it is, and
// ResumeAt leaves out what came later. Both are stored.
func TestRealForkFromStore(t *testing.T) {
	realcli.Needs(t, "2.1.325", "a store")
	r, mem := mirrored(t, claudetest.NewModelFunc(func(*claudetest.ModelCall) claudetest.Reply { return claudetest.Say("noted") }))
	s := r.connect(t)
	id, answer := s.ID(), ""
	for _, prompt := range []string{"the first", "the second"} {
		if _, err := s.Send(t.Context(), prompt); err != nil {
			t.Fatal(err)
		}
		if m := until[*message.Assistant](t, s); answer == "" {
			answer = m.UUID
		}
		until[*message.Result](t, s)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	key := store.Key{Project: "tenant-7", Session: id}
	before := storedText(t, mem, key)
	r.moveHome(t)
	r.opts.Resume, r.opts.ResumeAt, r.opts.ForkSession = id, answer, true
	fork := r.connect(t)
	key.Session = fork.ID()
	if key.Session == id || key.Session == "" {
		t.Errorf("the id of the fork is %q", key.Session)
	}
	if res, err := fork.Ask(t.Context(), "the third"); err != nil || res.SessionID != key.Session {
		t.Errorf("Ask = %+v, %v", res, err)
	}
	calls := r.calls()
	if last := strings.Join(said(t, calls[len(calls)-1]), "\n"); !strings.Contains(last, "the first") || strings.Contains(last, "the second") || !strings.Contains(last, "the third") {
		t.Errorf("the model heard:\n%s", last)
	}
	if err := fork.Close(); err != nil {
		t.Error(err)
	}
	if after := storedText(t, mem, store.Key{Project: "tenant-7", Session: id}); after != before {
		t.Error("the session has changed")
	}
	if text := storedText(t, mem, key); !strings.Contains(text, "the first") || !strings.Contains(text, "the third") {
		t.Errorf("the fork is stored as\n%s", text)
	}

	// The fork can be resumed, also from its middle, and then once more.
	r.opts.Resume, r.opts.ForkSession = key.Session, false
	for _, at := range []string{"", answer, ""} {
		r.moveHome(t)
		r.opts.ResumeAt = at
		if res, err := claude.Ask(t.Context(), "the fourth", r.opts); err != nil || res.SessionID != key.Session {
			t.Errorf("the fork from %q: %+v, %v", at, res, err)
		}
	}
}

func storedText(t *testing.T, s store.Store, k store.Key) string {
	t.Helper()
	var text strings.Builder
	for e, err := range s.Load(t.Context(), k) {
		if err != nil {
			t.Fatalf("%v: %v", k, err)
		}
		text.Write(e)
	}
	return text.String()
}
