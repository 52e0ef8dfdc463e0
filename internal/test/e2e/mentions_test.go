package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
)

// The first versions that can be told to take prompts as they are, and that know
// of hooks that fail closed.
const (
	sinceVerbatim   = "2.1.299"
	sinceFailClosed = "2.1.325"
)

// mention is a prompt with text from an untrusted source. FILE stands for a file
// outside of the working directory, a new one each time: the CLI attaches a file
// once.
type mention struct {
	prompt string
	live   bool   // the newest CLI acts on it as it stands
	shows  string // what the model gets to see then; empty: what is in FILE
}

func mentions() []mention {
	return []mention{
		{"see @FILE", true, ""}, {"@FILE", true, ""}, {"mail:\n@FILE", true, ""}, {"> open @FILE", true, ""}, {"see\t@FILE", true, ""},
		{"see @FILE.", true, ""}, {"see @FILE#L1", true, ""}, {"see \u00a0@FILE", true, ""}, {"see\ufeff@FILE", true, ""},
		{"see\u2028@FILE", true, ""}, {"see\u3000@FILE", true, ""}, {"see\u3002@FILE", true, ""}, {"see\uff01@FILE", true, ""},
		{`see @"FILE with a blank"`, true, ""}, {"see @~/home.txt", true, "SECRET of home"}, {"see @.env", true, "SECRET of env"},
		{"see @folder", true, "SECRET-of-folder"}, {"see @folder/", true, "SECRET-of-folder"}, {"@Override\nvoid run() {}", true, "SECRET of Override"},
		{"see @agent-general-purpose", true, "invoke the agent"},
		{`see @"general-purpose (agent)"`, true, "invoke the agent"},
		{"see @shelf:book://1", false, "SECRET of the book"}, // a session lists no resources
		{"/spell it", true, "SECRET of the spell"}, {"/spell @FILE", true, ""},
		{" /spell it", false, "SECRET of the spell"}, {"cast /spell it", false, "SECRET of the spell"}, {"cast\n/spell it", false, "SECRET of the spell"},
		{"mail me@FILE", false, ""}, {"see (@FILE)", false, ""}, {"see `@FILE`", false, ""}, {"see \u200b@FILE", false, ""}, {"see \u2060@FILE", false, ""},
		{"see \uff20FILE", false, ""}, {"see \ufe6bFILE", false, ""}, {"see @@FILE", false, ""}, {"see @'FILE'", false, ""}, {"see @file://FILE", false, ""},
		{"see @[it](claude-ref:x \"y\")@FILE", false, ""}, {"see @[it](claude-ref:x \"y\") x@FILE", false, ""}, {"see @{FILE}", false, ""},
		{"!cat FILE", false, ""}, {"see !`cat FILE`", false, ""}, {"#cat FILE", false, ""}, {"see $(cat FILE)", false, ""},
	}
}

// mentioning is a session whose prompts hold the mentions of others.
type mentioning struct {
	*real
	outside string
	guarded []string // what the guard was asked about
}

func newMentioning(t *testing.T) *mentioning {
	t.Helper()
	m := &mentioning{outside: t.TempDir()}
	m.real = startReal(t, claudetest.NewModelFunc(func(*claudetest.ModelCall) claudetest.Reply { return claudetest.Say("done") }))
	writeFiles(t, m.dir, map[string]string{".env": "SECRET of env", "Override": "SECRET of Override", "folder/SECRET-of-folder": "x"})
	writeFiles(t, m.home, map[string]string{
		"home.txt": "SECRET of home", ".claude/commands/spell.md": "---\ndescription: a spell\n---\nSECRET of the spell: $ARGUMENTS",
	})
	m.opts.MCPServers = claude.MCPServers{"shelf": asker(t)}
	m.opts.DisallowedTools = []string{"Bash", "Write"}
	confine := policy.Confine(m.dir)
	m.opts.Hooks = []hook.Hook{hook.Guard("", func(ctx context.Context, req *permission.Request) (permission.Decision, error) {
		m.guarded = append(m.guarded, req.ToolName)
		return confine(ctx, req)
	})}
	return m
}

// acts sends a prompt and reports whether the model got to see more than that.
func (m *mentioning) acts(t *testing.T, s *claude.Session, i int, p mention, change func(string) string) bool {
	t.Helper()
	name := fmt.Sprint("file", i)
	secret := p.shows
	if secret == "" {
		secret = fmt.Sprintf("SECRET of %d", i)
	}
	writeFiles(t, m.outside, map[string]string{name: fmt.Sprintf("SECRET of %d", i), name + " with a blank": fmt.Sprintf("SECRET of %d", i)})
	prompt := change(strings.ReplaceAll(p.prompt, "FILE", filepath.Join(m.outside, name)))
	before := len(m.calls())
	if _, err := s.Ask(t.Context(), prompt); err != nil {
		t.Fatal(err)
	}
	calls := m.calls()[before:]
	if len(calls) != 1 {
		t.Errorf("%q: %d calls of the model", prompt, len(calls))
		return true
	}
	heard := newMessages(t, calls[0])
	if !p.live && !strings.Contains(heard, quoted(prompt)) {
		t.Errorf("the model did not hear %q:\n%s", prompt, heard)
	}
	return strings.Contains(heard, secret)
}

// quoted is text as it is inside JSON.
func quoted(text string) string {
	raw, _ := json.Marshal(text)
	return string(raw[1 : len(raw)-1])
}

// newMessages returns the messages of a call of the model after the last answer.
func newMessages(t *testing.T, c *claudetest.ModelCall) string {
	t.Helper()
	var body struct {
		Messages []struct {
			Role    string
			Content any
		}
	}
	if err := json.Unmarshal(c.Raw, &body); err != nil {
		t.Fatal(err)
	}
	for i := len(body.Messages) - 1; i >= 0; i-- {
		if body.Messages[i].Role == "assistant" {
			body.Messages = body.Messages[i+1:]
			break
		}
	}
	raw, err := json.Marshal(body.Messages)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestRealMentions puts other people's text into prompts, as it stands, escaped,
// and with VerbatimPrompts. That files come before the model as it stands, past
// a guard and rules that deny them, shows that the test can tell.
func TestRealMentions(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"as it stands", "escaped", "verbatim"} {
		t.Run(way, func(t *testing.T) {
			change := func(text string) string { return text }
			m := newMentioning(t)
			switch way {
			case "escaped":
				change = claude.EscapePrompt
			case "verbatim":
				realcli.Needs(t, sinceVerbatim, "VerbatimPrompts")
				m.opts.VerbatimPrompts = true
			}
			if !realcli.Has(sinceFailClosed) {
				m.opts.Hooks = nil
			}
			s := m.connect(t)
			if _, err := s.Ask(t.Context(), "hello"); err != nil { // the CLI's one-time messages are over
				t.Fatal(err)
			}
			for i, p := range mentions() {
				acts := m.acts(t, s, i, p, change)
				switch {
				case way != "as it stands" && acts:
					t.Errorf("the CLI acts on %q", p.prompt)
				case way == "as it stands" && acts != p.live && realcli.Has(realcli.Version):
					t.Errorf("%q acts: %v", p.prompt, acts)
				}
			}
			for _, command := range []string{"/context", "/compact now", "/clear", "/help"} {
				if way != "as it stands" && m.acts(t, s, 1000, mention{command, false, "no secret"}, change) {
					t.Errorf("%s is a command", command)
				}
			}
			if len(m.guarded) > 0 {
				t.Errorf("the guard was asked about %q", m.guarded)
			}
		})
	}
}

// TestRealMentionsInBlocks does the same with messages of several blocks, of
// which the CLI reads the last, and with messages that say themselves that
// nothing is to be read into them.
func TestRealMentionsInBlocks(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, sinceVerbatim, "VerbatimPrompts")
	m := newMentioning(t)
	m.opts.Hooks = nil
	s := m.connect(t)
	send := func(i int, composed bool, change func(string) string) bool {
		t.Helper()
		name := fmt.Sprint("block", i)
		writeFiles(t, m.outside, map[string]string{name: "SECRET of the block"})
		user := message.NewUser(&message.TextBlock{Text: "look:"}, &message.TextBlock{Text: change("@" + filepath.Join(m.outside, name))})
		user.ClientComposed = composed
		before := len(m.calls())
		if _, err := s.SendMessage(t.Context(), user); err != nil {
			t.Fatal(err)
		}
		for msg, err := range s.Messages(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := msg.(*message.Result); ok {
				break
			}
		}
		return strings.Contains(newMessages(t, m.calls()[before]), "SECRET of the block")
	}
	same := func(text string) string { return text }
	if !send(1, false, same) || send(2, true, same) || send(3, false, claude.EscapePrompt) {
		t.Error("a block is not read as the whole prompt is")
	}
}

// TestRealSkillArguments lets the model give a file to a skill that the CLI
// brings along and that needs no permission: the CLI reads the arguments as it
// reads a prompt.
func TestRealSkillArguments(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, realcli.Version, "a skill that the CLI brings along")
	for _, hardened := range []bool{false, true} {
		secret := filepath.Join(t.TempDir(), "secret.txt")
		writeFiles(t, filepath.Dir(secret), map[string]string{"secret.txt": "SECRET of the skill"})
		r := realCLI(t, claudetest.UseTool("Skill", map[string]string{"skill": "dataviz", "args": "@" + secret}), claudetest.Say("done"))
		o := claude.Hardened()
		o.CLIPath, o.Cwd, o.Logger, o.Env = r.opts.CLIPath, r.opts.Cwd, r.opts.Logger, r.opts.Env
		o.VerbatimPrompts = hardened
		if _, err := claude.Ask(t.Context(), "draw", o); err != nil {
			t.Fatal(err)
		}
		heard := newMessages(t, r.calls()[1])
		if !strings.Contains(heard, "Launching skill: dataviz") {
			t.Fatalf("the skill did not run: %s", heard)
		}
		if got := strings.Contains(heard, "SECRET of the skill"); got == hardened {
			t.Errorf("VerbatimPrompts %v: the file came before the model: %v", hardened, got)
		}
	}
}

// TestRealHardenedNeedsVerbatimPrompts starts the preset on a CLI that reads
// mentions whatever it is told: it is refused, even where nothing else needs a
// handshake.
func TestRealHardenedNeedsVerbatimPrompts(t *testing.T) {
	t.Parallel()
	r := realCLI(t, claudetest.Say("done"))
	o := claude.Hardened()
	o.CLIPath, o.Cwd, o.Logger, o.Env = r.opts.CLIPath, r.opts.Cwd, r.opts.Logger, r.opts.Env
	_, err := claude.Ask(t.Context(), "hello", o)
	if has := realcli.Has(sinceVerbatim); has != (err == nil) || !has && !errors.Is(err, claude.ErrUnsupportedVersion) {
		t.Errorf("version %s: %v", realcli.Tested(), err)
	}
	if realcli.Has(sinceVerbatim) {
		return
	}
	s := r.connect(t)
	user := message.NewUser(message.Text("hello"))
	user.ClientComposed = true
	if _, err := s.SendMessage(t.Context(), user); !errors.Is(err, claude.ErrUnsupportedVersion) {
		t.Errorf("a message that the CLI would read: %v", err)
	}
}

// TestRealMentionsAndRules shows the one gate that a mention meets: deny rules
// of the CLI itself about the path. A rule for the whole tool does not count.
func TestRealMentionsAndRules(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, realcli.Version, "a mention that rules hold")
	tests := []struct {
		rule, prompt, secret string
		acts                 bool
	}{
		{"Read(.env)", "see @.env", "SECRET of env", false},
		{"Read(~/**)", "see @~/home.txt", "SECRET of home", false},
		{"Read(folder/**)", "see @folder", "SECRET-of-folder", false},
		{"Read", "see @.env", "SECRET of env", true},
	}
	for _, tt := range tests {
		m := newMentioning(t)
		m.opts.DisallowedTools, m.opts.Hooks, m.opts.MCPServers = []string{tt.rule}, nil, nil
		if _, err := claude.Ask(t.Context(), tt.prompt, m.opts); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(newMessages(t, m.calls()[0]), tt.secret); got != tt.acts {
			t.Errorf("%s with the rule %s: the model saw it: %v", tt.prompt, tt.rule, got)
		}
	}
}
