package claude_test

import (
	"slices"
	"testing"

	"github.com/claude-agent-go/claude"
)

// Every constant is accepted, and the CLI gets the word that it knows.
func TestChoices(t *testing.T) {
	thinks := func(m claude.ThinkingMode) claude.Options {
		return claude.Options{Thinking: claude.Thinking{Mode: m}}
	}
	shows := func(d claude.ThinkingDisplay) claude.Options {
		return claude.Options{Thinking: claude.Thinking{Display: d}}
	}
	for want, opts := range map[string]claude.Options{
		"--effort=low":                  {Effort: claude.EffortLow},
		"--effort=medium":               {Effort: claude.EffortMedium},
		"--effort=high":                 {Effort: claude.EffortHigh},
		"--effort=xhigh":                {Effort: claude.EffortXHigh},
		"--effort=max":                  {Effort: claude.EffortMax},
		"--thinking=adaptive":           thinks(claude.ThinkingAdaptive),
		"--thinking=disabled":           thinks(claude.ThinkingDisabled),
		"--thinking-display=summarized": shows(claude.ThinkingSummarized),
		"--thinking-display=omitted":    shows(claude.ThinkingOmitted),
		"--permission-prompts=host":     {PermissionPrompts: claude.PermissionPromptsHost},
		"--permission-prompts=none":     {PermissionPrompts: claude.PermissionPromptsNone},
		"user,project,local": {SettingSources: []claude.SettingSource{
			claude.SettingSourceUser, claude.SettingSourceProject, claude.SettingSourceLocal,
		}},
		"CLAUDE_CODE_QUESTION_PREVIEW_FORMAT=markdown": {QuestionPreview: claude.QuestionPreviewMarkdown},
		"CLAUDE_CODE_QUESTION_PREVIEW_FORMAT=html":     {QuestionPreview: claude.QuestionPreviewHTML},
	} {
		t.Run(want, func(t *testing.T) {
			launch := launched(t, opts).launch
			if !slices.Contains(slices.Concat(launch.Args, launch.Env), want) {
				t.Errorf("the CLI was started with %q", launch.Args)
			}
		})
	}
}
