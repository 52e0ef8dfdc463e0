package acp

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/acp/schema"
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

// TestOnlyOwnPrompts asks an editor about the calls of its own user's prompts, and about
// no others: neither between two turns, nor while a prompt of another may run.
func TestOnlyOwnPrompts(t *testing.T) {
	o := openPrompts{user: "ada"}
	for i, c := range []struct {
		id, by   string
		state    api.PromptState
		approval string
		want     asking
	}{
		{"a", "ada", api.PromptQueued, "", askLater},
		{"a", "ada", api.PromptRunning, "", askEditor},
		{"a", "ada", api.PromptWaiting, "other", askEditor},
		{"a", "ada", "", "", askNever}, // the turn of a background agent
		{"b", "bob", api.PromptQueued, "", askNever},
		{"a", "ada", api.PromptRunning, "", askNever}, // the log may lag behind the end of ada's prompt
		{"a", "ada", api.PromptWaiting, "question", askEditor},
		{"a", "ada", api.PromptRunning, "", askNever},
		{"b", "bob", api.PromptRunning, "", askNever}, // bob steers ada's turn
		{"a", "ada", api.PromptAnswered, "", askNever},
		{"b", "bob", api.PromptWaiting, "question", askNever},
		{"b", "bob", "", "", askNever},
		{"a", "ada", api.PromptRunning, "", askEditor},
		{"a", "ada", api.PromptStuck, "", askLater},
	} {
		if c.state == "" {
			o.ended(c.id)
		} else {
			o.note(&api.Prompt{ID: c.id, By: c.by, State: c.state, Approval: c.approval})
		}
		if got := o.may("question", false); got != c.want {
			t.Errorf("step %d, %s %s: %d, want %d", i, c.by, c.state, got, c.want)
		}
		if o.foreign != (i >= 4) {
			t.Errorf("step %d: foreign %t", i, o.foreign)
		}
	}
	if o = (openPrompts{user: "ada"}); o.may("question", true) != askLater || o.may("question", false) != askNever {
		t.Error("a prompt that is being sent")
	}
	if o = (openPrompts{}); true {
		o.note(&api.Prompt{ID: "p", State: api.PromptRunning})
		if o.may("question", false) != askNever {
			t.Error("a prompt of an unknown user is of an unknown editor")
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

// TestRemoteChoices offers what the preset begins with at any time, and returns to it.
func TestRemoteChoices(t *testing.T) {
	for name, c := range map[string]struct {
		preset api.PresetInfo
		mode   string
		modes  []string
		now    schema.SessionModeID
	}{
		"nothing chosen": {preset: api.PresetInfo{Modes: []string{"plan"}}, modes: []string{"default", "plan"}, now: "default"},
		"chosen":         {preset: api.PresetInfo{Modes: []string{"plan"}}, mode: "plan", modes: []string{"default", "plan"}, now: "plan"},
		"a mode of its own": {preset: api.PresetInfo{Mode: "acceptEdits", Modes: []string{"plan"}}, mode: "plan",
			modes: []string{"acceptEdits", "plan"}, now: "plan"},
		"no longer offered": {preset: api.PresetInfo{Modes: []string{"plan"}}, mode: "acceptEdits",
			modes: []string{"default", "acceptEdits", "plan"}, now: "acceptEdits"},
	} {
		choices := remoteChoices{&c.preset, c.mode, ""}
		var modes []string
		for _, m := range choices.modes() {
			modes = append(modes, string(m.ID))
		}
		if !slices.Equal(modes, c.modes) || choices.state().CurrentModeID != c.now {
			t.Errorf("%s: %q of %q, want %q of %q", name, choices.state().CurrentModeID, modes, c.now, c.modes)
		}
		back, err := choices.change(configMode, presetsOwn(c.preset.Mode))
		if err != nil || *back.Mode != "" {
			t.Errorf("%s: back is %q, %v, want no choice", name, *back.Mode, err)
		}
		if there, err := choices.change(configMode, "plan"); err != nil || *there.Mode != "plan" {
			t.Errorf("%s: there is %q, %v", name, *there.Mode, err)
		}
		if back, err = choices.change(configModel, "default"); err != nil || *back.Model != "" {
			t.Errorf("%s: the model is %q, %v, want no choice", name, *back.Model, err)
		}
	}
	choices := remoteChoices{&api.PresetInfo{Models: []string{"opus"}}, "", "opus"}
	if options := string(choices.options()[1].Options); !strings.Contains(options, `"default"`) || !strings.Contains(options, `"opus"`) {
		t.Errorf("models %s", options)
	}
}
