package acp

import (
	"encoding/json"
	"testing"

	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/permission"
)

func selected(id schema.PermissionOptionID) schema.RequestPermissionOutcome {
	return schema.RequestPermissionOutcome{Selected: &schema.SelectedPermissionOutcome{OptionID: id}}
}

// TestDecision says what each answer means. What was not offered denies.
func TestDecision(t *testing.T) {
	rule := permission.AllowRule("Bash", "make *", permission.ToLocalSettings)
	edits := permission.SetMode(permission.ModeAcceptEdits, permission.ToSession)
	bash := &permission.Request{ToolName: "Bash", Suggestions: []permission.Update{edits, rule}}
	edit := &permission.Request{ToolName: "Edit", Suggestions: []permission.Update{edits}}
	never := &permission.Request{ToolName: "Bash", Suggestions: []permission.Update{rule}, SuppressAlwaysAllow: true}
	plan := &permission.Request{ToolName: "ExitPlanMode"}
	for _, test := range []struct {
		name    string
		req     *permission.Request
		outcome schema.RequestPermissionOutcome
		bypass  bool
		want    permission.Behavior
		updates string
		stops   bool
	}{
		{"once", bash, selected("allow-once"), false, "allow", `[]`, false},
		{"always is the rule alone", bash, selected("allow-with-updates"), false, "allow", `[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"make *"}],"behavior":"allow","destination":"localSettings"}]`, false},
		{"always without a rule", edit, selected("allow-with-updates"), false, "allow", `[{"type":"setMode","mode":"acceptEdits","destination":"session"}]`, false},
		{"always that was not offered", never, selected("allow-with-updates"), false, "deny", `[]`, false},
		{"reject", bash, selected("reject"), false, "deny", `[]`, false},
		{"cancelled", bash, schema.RequestPermissionOutcome{Cancelled: new(schema.Empty)}, false, "deny", `[]`, true},
		{"nothing", bash, schema.RequestPermissionOutcome{}, false, "deny", `[]`, false},
		{"unknown option", bash, selected("yes please"), false, "deny", `[]`, false},
		{"option of another tool", bash, selected("exit-plan-bypass"), true, "deny", `[]`, false},
		{"plan", plan, selected("exit-plan-default"), false, "allow", `[{"type":"setMode","mode":"default","destination":"session"}]`, false},
		{"plan, once", plan, selected("allow-once"), false, "deny", `[]`, false},
		{"plan, bypass", plan, selected("exit-plan-bypass"), true, "allow", `[{"type":"setMode","mode":"bypassPermissions","destination":"session"}]`, false},
		{"plan, bypass that was not offered", plan, selected("exit-plan-bypass"), false, "deny", `[]`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := decisionOf(test.req, test.outcome, test.bypass)
			updates, err := json.Marshal(append([]permission.Update{}, d.Updates()...))
			if d.Behavior() != test.want || err != nil || string(updates) != test.updates || d.Interrupts() != test.stops {
				t.Errorf("%s with %s, stops %v, %v", d.Behavior(), updates, d.Interrupts(), err)
			}
			for _, o := range permissionOptions(test.req, test.bypass) {
				if o.OptionID == "exit-plan-bypass" && !test.bypass {
					t.Error("bypass is offered")
				}
			}
		})
	}
}

// TestAlwaysName names all that "always" would allow, and offers nothing else.
func TestAlwaysName(t *testing.T) {
	two := permission.AllowRule("Bash", "make *", permission.ToSession)
	two.Rules = append(two.Rules, permission.Rule{ToolName: "Bash", RuleContent: "curl *"})
	replace := two
	replace.Type = permission.UpdateReplaceRules
	for _, test := range []struct {
		name   string
		update permission.Update
		want   string // "": not offered
	}{
		{"every rule", two, "Yes, and don't ask again for Bash(make *), Bash(curl *)"},
		{"saved rules", two.To(permission.ToUserSettings), "Yes, and don't ask again for Bash(make *), Bash(curl *) (saved)"},
		{"every directory", permission.AddDirectories(permission.ToSession, "/a", "/b"), "Yes, and allow /a, /b from now on"},
		{"saved directory", permission.AddDirectories(permission.ToProjectSettings, "/a"), "Yes, and allow /a from now on (saved)"},
		{"edits", permission.SetMode(permission.ModeAcceptEdits, permission.ToSession), "Yes, and accept all edits during this session"},
		{"saved edits", permission.SetMode(permission.ModeAcceptEdits, permission.ToLocalSettings), "Yes, and accept all edits (saved)"},
		{"mode", permission.SetMode(permission.ModePlan, permission.ToSession), "Yes, and change to mode plan"},
		{"bypass", permission.SetMode(permission.ModeBypassPermissions, permission.ToSession), ""},
		{"rules that replace", replace, ""},
		{"rules that deny", permission.DenyRule("Bash", "make *", permission.ToSession), ""},
		{"no rules", permission.Update{Type: permission.UpdateAddRules, Behavior: permission.BehaviorAllow, Destination: permission.ToSession}, ""},
		{"directories removed", permission.Update{Type: permission.UpdateRemoveDirectories, Directories: []string{"/a"}, Destination: permission.ToSession}, ""},
		{"unknown shape", permission.Update{Raw: json.RawMessage(`{"type":"trustAll"}`)}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			req := &permission.Request{ToolName: "Bash", Suggestions: []permission.Update{test.update}}
			got := ""
			for _, o := range permissionOptions(req, true) {
				if o.OptionID == optionAlways {
					got = o.Name
				}
			}
			if got != test.want {
				t.Errorf("offered %q, want %q", got, test.want)
			}
			want := permission.BehaviorAllow
			if test.want == "" {
				want = permission.BehaviorDeny
			}
			if d := decisionOf(req, selected(optionAlways), true); d.Behavior() != want {
				t.Errorf("decided %s, want %s", d.Behavior(), want)
			}
		})
	}
}

// TestSameQuestionTwice answers two questions with the same text alike, each by its own
// options.
func TestSameQuestionTwice(t *testing.T) {
	req := &permission.Request{ToolName: "AskUserQuestion", Input: json.RawMessage(`{"questions":[
		{"question":"Which?","header":"a","options":[{"label":"L"},{"label":"Blue"}]},
		{"question":"Which?","header":"b","options":[{"label":"S"},{"label":"L"}]}]}`)}
	list, err := req.Questions()
	if err != nil {
		t.Fatal(err)
	}
	answers := req.Answers()
	err = readForm(answers, list, &schema.CreateElicitationResponse{Action: "accept", Content: map[string]json.RawMessage{"question_0": json.RawMessage(`"L"`), "question_1": json.RawMessage(`"L"`)}})
	if err == nil {
		_, err = answers.Decision()
	}
	if err != nil {
		t.Error(err)
	}
	answers = req.Answers()
	err = readForm(answers, list, &schema.CreateElicitationResponse{Action: "accept", Content: map[string]json.RawMessage{"question_0": json.RawMessage(`"S"`), "question_1": json.RawMessage(`"L"`)}})
	if _, err2 := answers.Decision(); err != nil || err2 == nil {
		t.Errorf("an answer that was not offered: %v, %v", err, err2)
	}
}
