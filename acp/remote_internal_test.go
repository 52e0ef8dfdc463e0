package acp

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/acp/schema"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
)

// TestRemoteText shows each text once, in the order of the conversation, whatever is
// live, repeated or late.
func TestRemoteText(t *testing.T) {
	answer := func(id string, blocks ...message.Block) *message.Assistant {
		return &message.Assistant{ID: id, Content: blocks}
	}
	result := &message.User{Content: message.Content{&message.ToolResultBlock{ToolUseID: "t"}}}
	call := &message.ToolUseBlock{ID: "t", Name: "Bash"}
	delta := func(id string, offset int, text string) *api.Delta {
		return &api.Delta{Message: id, Kind: api.BlockText, Offset: offset, Text: text}
	}
	for name, c := range map[string]struct {
		steps []any
		want  []string
	}{
		"live, then stored": {[]any{delta("a", 0, "He"), delta("a", 2, "llo"), answer("a", message.Text("Hello"))}, []string{"He", "llo"}},
		"stored alone":      {[]any{answer("a", message.Text("Hello"))}, []string{"Hello"}},
		"the rest":          {[]any{delta("a", 0, "He"), answer("a", message.Text("Hello"))}, []string{"He", "llo"}},
		"repeated":          {[]any{delta("a", 0, "He"), []api.Block{{Message: "a", Kind: api.BlockText, Text: "Hell"}}, delta("a", 4, "o")}, []string{"He", "ll", "o"}},
		"a gap":             {[]any{delta("a", 0, "He"), delta("a", 4, "o"), answer("a", message.Text("Hello"))}, []string{"He", "llo"}},
		"units of UTF-16":   {[]any{delta("a", 0, "😀"), delta("a", 2, "!")}, []string{"😀", "!"}},
		"overtakes a call": {[]any{delta("a", 0, "A"), answer("a", message.Text("A")), answer("a", call), delta("b", 0, "B"), result, delta("b", 1, "C")},
			[]string{"A", "B", "C"}},
		"held until the result":  {[]any{answer("a", call), delta("b", 0, "B")}, nil},
		"held until it is whole": {[]any{answer("a", call), delta("b", 0, "B"), answer("b", message.Text("BC"))}, []string{"BC"}},
		"overtakes all":          {[]any{delta("a", 0, "A"), delta("b", 0, "B"), answer("a", message.Text("A")), result}, []string{"A", "B"}},
		"left behind":            {[]any{answer("a", call), delta("b", 0, "B"), "end", delta("c", 0, "C")}, []string{"C"}},
	} {
		var text remoteText
		var got []string
		for _, step := range c.steps {
			var ups []schema.SessionUpdate
			switch s := step.(type) {
			case *api.Delta:
				ups = text.delta(s)
			case []api.Block:
				ups = text.partial(s)
			case *message.Assistant:
				ups = text.stored(s)
			case *message.User:
				ups = text.answered(s)
			case string:
				text.ended()
			}
			for _, up := range ups {
				got = append(got, up.AgentMessageChunk.Content.Text.Text)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestOnlyOwnPrompts asks an editor about the calls of its own user's prompts.
func TestOnlyOwnPrompts(t *testing.T) {
	s := &remoteSession{user: "ada", own: make(map[string]*ownPrompt)}
	for _, c := range []struct {
		by    string
		state api.PromptState
		want  bool
	}{
		{"bob", api.PromptQueued, false}, // nothing runs yet
		{"ada", api.PromptRunning, true},
		{"bob", api.PromptQueued, true}, // waits behind ada's
		{"bob", api.PromptRunning, false},
		{"ada", api.PromptQueued, false},
		{"bob", api.PromptWaiting, false},
		{"ada", api.PromptWaiting, true},
	} {
		if s.prompted(&api.Prompt{ID: "p", By: c.by, State: c.state}); s.mine() != c.want {
			t.Errorf("%s %s: asked %t, want %t", c.by, c.state, !c.want, c.want)
		}
	}
}

// TestChooseBegin finds the preset of a directory, and guesses none.
func TestChooseBegin(t *testing.T) {
	presets := []api.PresetInfo{{Name: "a", Roots: []string{"/a", "/shared"}}, {Name: "b", Roots: []string{"/b", "/shared"}}}
	for _, c := range []struct{ name, dir, want string }{
		{"", "/a/x", "a /a/x"}, {"", "/b", "b /b"}, {"", "/shared/x", "a /shared/x"}, {"b", "/shared/x", "b /shared/x"},
		{"b", "/a/x", "b "}, {"", "/ab", "choose one"}, {"", "/a/../c", "choose one"}, {"c", "/a", "no preset"},
	} {
		begin, err := chooseBegin(presets, c.name, c.dir)
		if got := fmt.Sprintf("%s %s", begin.Preset, begin.Dir); err == nil && got != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q in %s: %q, %v, want %q", c.name, c.dir, got, err, c.want)
		}
	}
}
