package acp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/permission"
)

// TestQuestions asks what the model wants to know: in one form if the editor has
// forms, else one question after the other.
func TestQuestions(t *testing.T) {
	ask := claudetest.UseTool("AskUserQuestion", json.RawMessage(`{"questions":[
		{"question":"Which colour?","header":"Colour","multiSelect":false,"options":[{"label":"Red","description":"r"},{"label":"Blue","description":"b"}]},
		{"question":"Which size?","header":"Size","multiSelect":true,"options":[{"label":"S","description":"s"},{"label":"L","description":"l"}]}]}`))
	form := schema.ClientCapabilities{Elicitation: &schema.ElicitationCapabilities{Form: new(schema.ElicitationFormCapabilities)}}
	content := func(text string) map[string]json.RawMessage {
		m := make(map[string]json.RawMessage)
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, test := range []struct {
		name   string
		caps   schema.ClientCapabilities
		form   *schema.CreateElicitationResponse
		pick   []schema.PermissionOptionID
		want   []string // in the answer that the model reads
		denied bool
	}{
		{"form", form, &schema.CreateElicitationResponse{Action: "accept", Content: content(`{"question_0":"Blue","question_1":["S","L"]}`)}, nil, []string{"Blue", "S, L"}, false},
		{"own words", form, &schema.CreateElicitationResponse{Action: "accept", Content: content(`{"question_0":"Blue","question_0_custom":"Teal","question_1":["L"]}`)}, nil, []string{"Teal", "L"}, false},
		{"half a form", form, &schema.CreateElicitationResponse{Action: "accept", Content: content(`{"question_0":"Blue"}`)}, nil, nil, true},
		{"declined", form, &schema.CreateElicitationResponse{Action: "decline"}, nil, nil, true},
		{"one by one", schema.ClientCapabilities{}, nil, []schema.PermissionOptionID{"answer-0", "answer-1"}, []string{"Red", "L"}, false},
		{"not answered", schema.ClientCapabilities{}, nil, []schema.PermissionOptionID{"answer-0", "reject"}, nil, true},
		{"not offered", schema.ClientCapabilities{}, nil, []schema.PermissionOptionID{"answer-7"}, nil, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				local, cli := scripted(t, ask, claudetest.Say("thanks"))
				asked := 0
				d := drive.Start(t, local, drive.Setup{
					Capabilities: test.caps,
					Elicitation: func(_ context.Context, req *schema.CreateElicitationRequest) *schema.CreateElicitationResponse {
						asked++
						if len(req.RequestedSchema.Properties) != 4 || req.Message != "Which colour?" {
							t.Errorf("the form is %+v", req)
						}
						return test.form
					},
					Permission: func(_ context.Context, req *schema.RequestPermissionRequest) schema.PermissionOptionID {
						asked++
						return test.pick[asked-1]
					},
				})
				id := d.New(t, "/")
				if _, err := d.Prompt(t.Context(), id, "Ask me."); err != nil {
					t.Fatal(err)
				}
				if asked != max(len(test.pick), 1) {
					t.Errorf("asked %d times", asked)
				}
				use := cli.Recording().Tool(t, "AskUserQuestion")
				if denied := use.Decision == permission.BehaviorDeny; denied != test.denied {
					t.Errorf("denied: %v, want %v", denied, test.denied)
				}
				for _, w := range test.want {
					if !strings.Contains(use.Output, w) {
						t.Errorf("the model reads %q, want %q in it", use.Output, w)
					}
				}
			})
		})
	}
}
