package acp

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

// metaOf reads a _meta as the protocol does.
func metaOf(t *testing.T, text string) map[string]any {
	t.Helper()
	var req schema.NewSessionRequest
	if err := jsonx.Unmarshal([]byte(`{"_meta":`+text+`}`), &req); err != nil {
		t.Fatal(err)
	}
	return req.Meta
}

// inOptions is a _meta with members of claudeCode.options.
func inOptions(members string) string { return `{"claudeCode":{"options":{` + members + `}}}` }

// TestWishes takes what an editor asks of a session. It narrows what the agent has set.
func TestWishes(t *testing.T) {
	for name, test := range map[string]struct {
		meta      string
		own, want claude.Options
	}{
		"nothing":            {`{}`, claude.Options{Model: "opus"}, claude.Options{Model: "opus"}},
		"of others":          {`{"x.example/y":1,"claudeCode":{"emitRawSDKMessages":true}}`, claude.Options{}, claude.Options{}},
		"null":               {`{"systemPrompt":null,"claudeCode":{"options":{"maxTurns":null,"env":null}}}`, claude.Options{}, claude.Options{}},
		"prompt":             {`{"systemPrompt":"Rhyme."}`, claude.Options{SystemPrompt: claude.SystemPrompt{Preset: true}}, claude.Options{SystemPrompt: claude.SystemPrompt{Text: "Rhyme."}}},
		"more prompt":        {`{"systemPrompt":{"append":"Rhyme."}}`, claude.Options{SystemPrompt: claude.SystemPrompt{Append: "Be short."}}, claude.Options{SystemPrompt: claude.SystemPrompt{Append: "Be short.\n\nRhyme."}}},
		"first more prompt":  {`{"systemPrompt":{"type":"preset","preset":"claude_code","append":"Rhyme.","excludeDynamicSections":true}}`, claude.Options{}, claude.Options{SystemPrompt: claude.SystemPrompt{Append: "Rhyme.", Static: true}}},
		"no tools":           {`{"disableBuiltInTools":true}`, claude.Options{Tools: []string{"Read"}}, claude.Options{Tools: []string{}}},
		"tools nevertheless": {`{"disableBuiltInTools":false}`, claude.Options{}, claude.Options{}},
		"some tools":         {`{"disableBuiltInTools":true,"claudeCode":{"options":{"tools":["Read","Bash"]}}}`, claude.Options{}, claude.Options{Tools: []string{"Read", "Bash"}}},
		"fewer tools":        {inOptions(`"tools":["Read","Bash"]`), claude.Options{Tools: []string{"Bash", "Edit"}}, claude.Options{Tools: []string{"Bash"}}},
		"all tools":          {inOptions(`"tools":{"type":"preset","preset":"claude_code"}`), claude.Options{Tools: []string{"Bash"}}, claude.Options{Tools: []string{"Bash"}}},
		"rules": {inOptions(`"allowedTools":["Read"],"disallowedTools":["Bash"]`), claude.Options{AllowedTools: []string{"Glob"}, DisallowedTools: []string{"Edit"}},
			claude.Options{AllowedTools: []string{"Glob", "Read"}, DisallowedTools: []string{"Edit", "Bash"}}},
		"limits":          {inOptions(`"maxTurns":3,"maxBudgetUsd":0.5`), claude.Options{}, claude.Options{MaxTurns: 3, MaxBudgetUSD: 0.5}},
		"lower limits":    {inOptions(`"maxTurns":3,"maxBudgetUsd":0.5`), claude.Options{MaxTurns: 5, MaxBudgetUSD: 1}, claude.Options{MaxTurns: 3, MaxBudgetUSD: 0.5}},
		"higher limits":   {inOptions(`"maxTurns":3,"maxBudgetUsd":0.5`), claude.Options{MaxTurns: 2, MaxBudgetUSD: 0.1}, claude.Options{MaxTurns: 2, MaxBudgetUSD: 0.1}},
		"model":           {inOptions(`"model":"haiku","effort":"low"`), claude.Options{Model: "opus"}, claude.Options{Model: "haiku", Effort: claude.EffortLow}},
		"directories":     {inOptions(`"additionalDirectories":["/b"]`), claude.Options{AddDirs: []string{"/a"}}, claude.Options{AddDirs: []string{"/a", "/b"}}},
		"sources":         {inOptions(`"settingSources":["project","user"]`), claude.Options{}, claude.Options{SettingSources: []claude.SettingSource{"project", "user"}}},
		"no source":       {inOptions(`"settingSources":["project"]`), claude.Options{SettingSources: []claude.SettingSource{}}, claude.Options{SettingSources: []claude.SettingSource{}}},
		"plan":            {inOptions(`"permissionMode":"plan"`), claude.Options{}, claude.Options{PermissionMode: permission.ModePlan}},
		"wider mode":      {inOptions(`"permissionMode":"bypassPermissions","allowDangerouslySkipPermissions":true`), claude.Options{}, claude.Options{}},
		"without bypass":  {inOptions(`"allowDangerouslySkipPermissions":false`), claude.Options{AllowBypassPermissions: true, PermissionMode: permission.ModeBypassPermissions}, claude.Options{PermissionMode: permission.ModeDefault}},
		"of the adapter":  {inOptions(`"cwd":"/x","promptSuggestions":false`), claude.Options{}, claude.Options{}},
		"no rules at all": {inOptions(`"allowedTools":[]`), claude.Options{}, claude.Options{}},
	} {
		l := &Local{Options: &test.own}
		w, err := l.wishes(metaOf(t, test.meta))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := test.own
		if w.apply(&got); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %+v\nwant %+v", name, got, test.want)
		}
	}
}

// TestWishesRefused names what is not followed: it might have been meant to forbid
// something.
func TestWishesRefused(t *testing.T) {
	for meta, want := range map[string]string{
		`{"systemPrompt":7}`:                                 "_meta.systemPrompt",
		`{"systemPrompt":{"append":7}}`:                      "_meta.systemPrompt.append",
		`{"systemPrompt":{"sections":[]}}`:                   "_meta.systemPrompt.sections",
		`{"disableBuiltInTools":"yes"}`:                      "_meta.disableBuiltInTools",
		`{"additionalRoots":["here"]}`:                       "_meta.additionalRoots",
		`{"claudeCode":{"options":[]}}`:                      "options is not an object",
		inOptions(`"disallowedTools":"Bash"`):                "options.disallowedTools",
		inOptions(`"disallowedTools":[7]`):                   "options.disallowedTools",
		inOptions(`"disallowedtools":["Bash"]`):              "options.disallowedtools",
		inOptions(`"tools":{"type":"preset","preset":"no"}`): "options.tools",
		inOptions(`"maxTurns":0`):                            "options.maxTurns",
		inOptions(`"maxTurns":1.5`):                          "options.maxTurns",
		inOptions(`"maxTurns":"1"`):                          "options.maxTurns",
		inOptions(`"maxTurns":1e300`):                        "options.maxTurns",
		inOptions(`"maxBudgetUsd":-1`):                       "options.maxBudgetUsd",
		inOptions(`"permissionMode":"dontAsk"`):              "options.permissionMode",
		inOptions(`"settingSources":"user"`):                 "options.settingSources",
		inOptions(`"additionalDirectories":["../x"]`):        "options.additionalDirectories",
		inOptions(`"env":{"A":"b"}`):                         "env is not supported: set it where",
		inOptions(`"resume":"x"`):                            "resume is not supported: use session/resume",
		inOptions(`"hooks":{}`):                              "hooks is not supported",
	} {
		_, err := new(Local).wishes(metaOf(t, meta))
		remote := refuseWishes(metaOf(t, meta))
		if err == nil || !strings.Contains(err.Error(), want) || remote == nil || remote.Error() != err.Error() {
			t.Errorf("%s: %v; on a server: %v; want %q", meta, err, remote, want)
		}
	}
}

// TestWishesOfAgent takes from the editor no rules that allow, and no system prompt, if the
// agent has set its own.
func TestWishesOfAgent(t *testing.T) {
	allow := func(context.Context, *permission.Request) (permission.Decision, error) {
		return permission.Decision{}, nil
	}
	rules, prompt := inOptions(`"allowedTools":["Bash"]`), `{"systemPrompt":"Rhyme."}`
	for _, test := range []struct {
		name    string
		agent   *Local
		meta    string
		refused bool
	}{
		{"rules", &Local{}, rules, false},
		{"rules, another hook", &Local{Options: &claude.Options{Hooks: []hook.Hook{{Event: hook.EventStop}}}}, rules, false},
		{"rules, a policy", &Local{Policy: func(string) permission.Func { return allow }}, rules, true},
		{"rules, a callback", &Local{Options: &claude.Options{CanUseTool: allow}}, rules, true},
		{"rules, a hook", &Local{Options: &claude.Options{Hooks: []hook.Hook{{Event: hook.EventPermissionRequest}}}}, rules, true},
		{"rules, a guard", &Local{Options: &claude.Options{Hooks: []hook.Hook{hook.Guard("", allow)}}}, rules, true},
		{"prompt", &Local{}, prompt, false},
		{"prompt, a text", &Local{Options: &claude.Options{SystemPrompt: claude.SystemPrompt{Text: "Short."}}}, prompt, true},
		{"prompt, sections", &Local{Options: &claude.Options{SystemPrompt: claude.SystemPrompt{Sections: []string{"Short."}}}}, prompt, true},
	} {
		if _, err := test.agent.wishes(metaOf(t, test.meta)); (err != nil) != test.refused {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// TestWishesOnServer refuses what would narrow a session there, and ignores the rest.
func TestWishesOnServer(t *testing.T) {
	for meta, narrow := range map[string]bool{
		`{"disableBuiltInTools":true}`:                          true,
		inOptions(`"tools":["Read"]`):                           true,
		inOptions(`"disallowedTools":["Bash"]`):                 true,
		inOptions(`"maxTurns":3`):                               true,
		inOptions(`"maxBudgetUsd":3`):                           true,
		inOptions(`"settingSources":["user"]`):                  true,
		inOptions(`"permissionMode":"plan"`):                    true,
		inOptions(`"allowDangerouslySkipPermissions":false`):    true,
		`{"systemPrompt":"Rhyme.","additionalRoots":["/a"]}`:    false,
		inOptions(`"model":"haiku","allowedTools":["Bash"]`):    false,
		inOptions(`"effort":"low","disallowedTools":[]`):        false,
		inOptions(`"additionalDirectories":["/a"],"cwd":"/x/"`): false,
	} {
		if err := refuseWishes(metaOf(t, meta)); (err != nil) != narrow {
			t.Errorf("%s: %v", meta, err)
		}
	}
}
