package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/jsonx"
)

// TestRealACPConnectCommands is an editor whose program talks to a server with the real
// CLI. It learns the slash commands with the first turn, once, those of the project among
// them; the next editor learns them when it opens the conversation, whose CLI need not run.
func TestRealACPConnectCommands(t *testing.T) {
	s := newRealServer(t, []claudetest.Reply{claudetest.Say("Hello."), claudetest.Say("Hello again.")}, func(s *realServer) { furnish(t, s.dir) })
	one := s.bridge(t)
	id := one.New(t, s.dir)
	for _, prompt := range []string{"Say hello.", "/hi Bob"} {
		if got := <-one.begin(t, id, prompt); got != schema.StopReasonEndTurn {
			t.Errorf("%s ended %s", prompt, got)
		}
	}
	first := <-one.listed
	if len(one.listed) != 0 || !slices.Contains(first, "hi") || !slices.Contains(first, "compact") {
		t.Errorf("told %q, and %d lists more", first, len(one.listed))
	}
	one.Close()

	two := s.bridge(t)
	if err := two.Call(t.Context(), schema.MethodAgentSessionLoad, schema.LoadSessionRequest{SessionID: id, Cwd: s.dir}, nil); err != nil {
		t.Fatal(err)
	}
	if again := <-two.listed; !slices.Equal(first, again) {
		t.Errorf("loaded, it was told %q, want %q", again, first)
	}
	two.Close()
}

// told returns what an editor was shown of a slash command's output, with the titles, the
// ends and the outputs of calls.
func (b *bridge) told(id schema.SessionID) (texts string, calls []string) {
	for _, up := range b.Updates(id) {
		switch {
		case up.AgentMessageChunk != nil:
			texts += up.AgentMessageChunk.Content.Text.Text
		case up.ToolCall != nil:
			calls = append(calls, up.ToolCall.Title)
		case up.ToolCallUpdate != nil && up.ToolCallUpdate.RawOutput == nil:
			calls = append(calls, string(up.ToolCallUpdate.Status))
		case up.ToolCallUpdate != nil:
			calls = append(calls, jsonx.Text(jsonx.Member(up.ToolCallUpdate.RawOutput, "trigger")))
		}
	}
	return texts, calls
}

// TestRealACPConnectCompacts is an editor whose program talks to a server with the real
// CLI. It sees what /context prints for people alone, and that /compact has compacted the
// conversation; the next editor sees both when it loads the conversation.
func TestRealACPConnectCompacts(t *testing.T) {
	s := newRealServer(t, []claudetest.Reply{claudetest.Say("Hello."), claudetest.Say("<summary>They said hello.</summary>"), claudetest.Say("More.")}, nil)
	one := s.bridge(t)
	id := one.New(t, s.dir)
	for _, prompt := range []string{"Say hello.", "/context", "/compact", "More."} {
		if got := <-one.begin(t, id, prompt); got != schema.StopReasonEndTurn {
			t.Errorf("%s ended %s", prompt, got)
		}
	}
	compaction := []string{"Compact conversation", "completed", "manual"}
	live, calls := one.told(id)
	if strings.Count(live, "## Context Usage") != 1 || strings.Contains(live, "local-command") || !slices.Equal(calls, compaction) {
		t.Errorf("shown %q, and the calls %q", live, calls)
	}
	one.Close()

	two := s.bridge(t)
	if err := two.Call(t.Context(), schema.MethodAgentSessionLoad, schema.LoadSessionRequest{SessionID: id, Cwd: s.dir}, nil); err != nil {
		t.Fatal(err)
	}
	if loaded, calls := two.told(id); loaded != live || !slices.Equal(calls, compaction) {
		t.Errorf("loaded, it was shown %q, and the calls %q; want %q", loaded, calls, live)
	}
	two.Close()
}

// TestRealACPConnectSummary is an editor that shows compactions, whose program talks to a
// server with the real CLI. It sees what a compaction has left of the conversation, and the
// next one sees it when it loads the conversation.
func TestRealACPConnectSummary(t *testing.T) {
	can := schema.ClientCapabilities{Session: &schema.ClientSessionCapabilities{Compaction: new(schema.CompactionCapabilities)}}
	s := newRealServer(t, []claudetest.Reply{claudetest.Say("Hello."), claudetest.Say("<analysis>Hm.</analysis><summary>They said hello.</summary>"), claudetest.Say("More.")}, nil)
	one := s.bridgeOf(t, can)
	id := one.New(t, s.dir)
	for _, prompt := range []string{"Say hello.", "/compact", "More."} {
		if got := <-one.begin(t, id, prompt); got != schema.StopReasonEndTurn {
			t.Errorf("%s ended %s", prompt, got)
		}
	}
	compactions := func(b *bridge) (got []string) {
		for _, up := range b.Updates(id) {
			if c := up.CompactionUpdate; c != nil {
				told := string(c.Status)
				for _, block := range c.Summary {
					told += ": " + block.Text.Text
				}
				got = append(got, told)
			}
		}
		return got
	}
	want := []string{"in_progress", "completed", "completed: They said hello."}
	if got := compactions(one); !slices.Equal(got, want) {
		t.Errorf("shown %q, want %q", got, want)
	}
	one.Close()
	two := s.bridgeOf(t, can)
	if err := two.Call(t.Context(), schema.MethodAgentSessionLoad, schema.LoadSessionRequest{SessionID: id, Cwd: s.dir}, nil); err != nil {
		t.Fatal(err)
	}
	if got := compactions(two); !slices.Equal(got, want) {
		t.Errorf("loaded, shown %q, want %q", got, want)
	}
	two.Close()
}

// TestRealACPConnectCompacting is two editors of a conversation of a server with the real
// CLI. Both see a compaction while it runs, the second although it came later, and that it
// ended.
func TestRealACPConnectCompacting(t *testing.T) {
	release := make(chan struct{})
	s := newRealServer(t, []claudetest.Reply{claudetest.Say("Hello."), claudetest.Say("<summary>They said hello.</summary>").Hold(release)}, nil)
	one := s.bridge(t)
	id := one.New(t, s.dir)
	if got := <-one.begin(t, id, "Say hello."); got != schema.StopReasonEndTurn {
		t.Errorf("ended %s", got)
	}
	ended := one.begin(t, id, "/compact")
	two := s.bridge(t)
	if title := <-one.begun; title != "Compact conversation" {
		t.Errorf("shown at work: %q", title)
	}
	if err := two.Call(t.Context(), schema.MethodAgentSessionLoad, schema.LoadSessionRequest{SessionID: id, Cwd: s.dir}, nil); err != nil {
		t.Fatal(err)
	}
	if title := <-two.begun; title != "Compact conversation" || len(ended) != 0 {
		t.Errorf("the other editor was shown %q", title)
	}
	close(release)
	if got := <-ended; got != schema.StopReasonEndTurn {
		t.Errorf("/compact ended %s", got)
	}
	if _, calls := one.told(id); !slices.Equal(calls, []string{"Compact conversation", "completed", "manual"}) {
		t.Errorf("at last: %q", calls)
	}
	one.Close()
	two.Close()
}
