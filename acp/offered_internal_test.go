package acp

import (
	"testing"

	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve/api"
)

// An editor on a server can remember an answer for each rule that is suggested for a
// call, and for nothing else.
func TestRemoteRules(t *testing.T) {
	for kind, want := range map[api.ApprovalKind]int{api.KindTool: 2, api.KindQuestion: 0} {
		always := 0
		for _, o := range approvalOptions(&api.Approval{Kind: kind, Suggestions: []string{"Bash(make)", "Bash(make *)"}}) {
			if o.Kind == schema.PermissionOptionKindAllowAlways {
				always++
			}
		}
		if always != want {
			t.Errorf("%s: %d rules are offered, want %d", kind, always, want)
		}
	}
}

// A form takes several answers to the questions that have several, and one to the others.
func TestFormOfQuestions(t *testing.T) {
	options := []permission.Option{{Label: "S"}, {Label: "L"}}
	form := questionForm("s", new(permission.Request), []permission.Question{{Text: "Which?", Options: options}, {Text: "Which ones?", Options: options, MultiSelect: true}})
	one, some := form.RequestedSchema.Properties["question_0"], form.RequestedSchema.Properties["question_1"]
	if one.String == nil || one.Array != nil || len(one.String.OneOf) != 2 {
		t.Errorf("one answer: %+v", one)
	}
	if some.Array == nil || some.String != nil || len(some.Array.Items.Titled.AnyOf) != 2 {
		t.Errorf("several answers: %+v", some)
	}
}

// What several turns have used is the sum of each kind of tokens, with those of the cache.
func TestSpendingWithCache(t *testing.T) {
	s := ofModel(message.ModelUsage{InputTokens: 1, OutputTokens: 20, CacheReadInputTokens: 300, CacheCreationInputTokens: 4000, ThinkingTokens: 7})
	both := s.plus(s)
	if both.read != 600 || both.written != 8000 || both.input != 2 || both.output != 40 || both.thinking != 14 || both.total() != 8642 {
		t.Errorf("%+v, %d in all", both, both.total())
	}
}
