package permission_test

import (
	"encoding/json"
	"fmt"

	"github.com/claude-agent-go/claude/permission"
)

// A function that decides by the tool's input, and remembers what it allows
// for the rest of the session.
func ExampleDecision() {
	decide := func(req *permission.Request) permission.Decision {
		var in struct {
			Command string `json:"command"`
		}
		if req.ToolName != "Bash" {
			return permission.Pass()
		}
		if err := req.DecodeInput(&in); err != nil || in.Command != "git status" {
			return permission.Deny("only git status is allowed")
		}
		return permission.Allow(permission.AllowRule("Bash", in.Command, permission.ToSession))
	}
	for _, input := range []string{`{"command":"git status"}`, `{"command":"rm -rf /"}`} {
		req := &permission.Request{ToolName: "Bash", Input: json.RawMessage(input)}
		reply, err := decide(req).Reply(req)
		fmt.Println(string(reply), err)
	}
	// Output:
	// {"behavior":"allow","updatedInput":{"command":"git status"},"updatedPermissions":[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"git status"}],"behavior":"allow","destination":"session"}]} <nil>
	// {"behavior":"deny","message":"only git status is allowed"} <nil>
}

// The model asks the user; the program answers.
func ExampleAnswers() {
	req := &permission.Request{
		ToolName: "AskUserQuestion",
		Input:    json.RawMessage(`{"questions":[{"question":"Which?","options":[{"label":"A"},{"label":"B"}],"multiSelect":true}]}`),
	}
	decision, err := req.Answers().Choose("Which?", "A", "B").Decision()
	if err != nil {
		fmt.Println(err)
		return
	}
	reply, err := decision.Reply(req)
	fmt.Println(string(reply), err)
	// Output:
	// {"behavior":"allow","updatedInput":{"answers":{"Which?":"A, B"},"questions":[{"question":"Which?","options":[{"label":"A"},{"label":"B"}],"multiSelect":true}]}} <nil>
}
