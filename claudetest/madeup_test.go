package claudetest_test

import "testing"

// Prompts that the CLI makes up are not what the user said last.
func TestMadeUpPrompts(t *testing.T) {
	for content, want := range map[string]string{
		`"[Request interrupted by user]"`:                                                          "first",
		`"[Request interrupted by user for tool use]"`:                                             "first",
		`"Continue from where you left off."`:                                                      "first",
		`"Continue from where you left off. And the second?"`:                                      "Continue from where you left off. And the second?",
		`[{"type":"text","text":"[Request interrupted by user]"},{"type":"text","text":"second"}]`: "second",
	} {
		c := callFor(t, `{"model":"m","stream":true,"tools":[{"name":"Read"}],"messages":[{"role":"user","content":"first"},{"role":"assistant","content":"one"},{"role":"user","content":`+content+`}]}`)
		if c.Prompt != want {
			t.Errorf("%s: %q, want %q", content, c.Prompt, want)
		}
	}
}
