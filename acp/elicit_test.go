package acp_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/message"
)

// TestElicitation puts the questions of an MCP server before the person: forms and
// addresses, each if the editor has them. What the person has not seen is cancelled, not
// declined. When the server has what it wanted from an address, the editor is told.
func TestElicitation(t *testing.T) {
	form := &control.Elicitation{ServerName: "shop", Message: "Your name?", Mode: control.ElicitationForm,
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)}
	visit := &control.Elicitation{ServerName: "shop", Message: "Sign in.", Mode: control.ElicitationURL, URL: "https://shop.example/in", ElicitationID: "e1"}
	forms := &schema.ElicitationCapabilities{Form: new(schema.ElicitationFormCapabilities)}
	urls := &schema.ElicitationCapabilities{URL: new(schema.ElicitationURLCapabilities)}
	both := &schema.ElicitationCapabilities{Form: forms.Form, URL: urls.URL}
	answer := func(action string) *schema.CreateElicitationResponse {
		resp := &schema.CreateElicitationResponse{Action: action}
		if action == "accept" {
			resp.Content = map[string]schema.ElicitationContentValue{"name": json.RawMessage(`"Ada"`)}
		}
		return resp
	}
	for _, test := range []struct {
		name  string
		can   *schema.ElicitationCapabilities
		about *control.Elicitation
		says  *schema.CreateElicitationResponse
		asked bool
		want  string
	}{
		{"a form", forms, form, answer("accept"), true, `{"action":"accept","content":{"name":"Ada"}}`},
		{"a form that is declined", forms, form, answer("decline"), true, `{"action":"decline"}`},
		{"a form that is cancelled", forms, form, answer("cancel"), true, `{"action":"cancel"}`},
		{"a form that the editor refuses", forms, form, nil, true, `{"action":"cancel"}`},
		{"a form without a schema", forms, &control.Elicitation{Message: "?", RequestedSchema: json.RawMessage(`[]`)}, answer("accept"), false, `{"action":"cancel"}`},
		{"a form in an editor with addresses alone", urls, form, answer("accept"), false, `{"action":"cancel"}`},
		{"a form in an editor with neither", nil, form, answer("accept"), false, `{"action":"cancel"}`},
		{"an address", both, visit, answer("accept"), true, `{"action":"accept"}`},
		{"an address in an editor with addresses alone", urls, visit, answer("accept"), true, `{"action":"accept"}`},
		{"an address that is declined", urls, visit, answer("decline"), true, `{"action":"decline"}`},
		{"an address in an editor with forms alone", forms, visit, answer("accept"), false, `{"action":"cancel"}`},
		{"an address in an editor with neither", nil, visit, answer("accept"), false, `{"action":"cancel"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := ""
				cli := claudetest.NewHost(host.AgentFunc(func(ctx context.Context, turn *host.Turn) error {
					a, err := turn.Elicit(ctx, test.about)
					if err != nil {
						return err
					}
					text, err := json.Marshal(a)
					got = string(text)
					if err != nil || a.Action != control.ElicitationAccept {
						return err
					}
					return turn.Emit(&message.ElicitationComplete{MCPServerName: "shop", ElicitationID: test.about.ElicitationID})
				}), nil)
				var asked []*schema.CreateElicitationRequest
				var done []string
				d := drive.Start(t, &acp.Local{Options: &claude.Options{Transport: cli, Env: []string{"HOME=" + t.TempDir()}}}, drive.Setup{
					Capabilities: schema.ClientCapabilities{Elicitation: test.can},
					Elicitation: func(_ context.Context, req *schema.CreateElicitationRequest) *schema.CreateElicitationResponse {
						asked = append(asked, req)
						return test.says
					},
					OnElicited: func(id schema.ElicitationID) { done = append(done, string(id)) },
				})
				id := d.New(t, "/")
				if _, err := d.Prompt(t.Context(), id, "Buy it."); err != nil {
					t.Fatal(err)
				}
				if got != test.want || (len(asked) == 1) != test.asked {
					t.Errorf("the server reads %s after %d questions, want %s", got, len(asked), test.want)
				}
				address := test.about.Mode == control.ElicitationURL
				for _, req := range asked {
					text, err := json.Marshal(req)
					want := `"properties":{"name":{"type":"string"}},"required":["name"]`
					if address {
						want = `"url":"https://shop.example/in"`
					}
					if err != nil || req.SessionID != id || req.Message != test.about.Message || (req.ElicitationID == "e1") != address || !strings.Contains(string(text), want) {
						t.Errorf("asked %s, %v, want %s in it", text, err, want)
					}
				}
				var told []string
				if address && strings.Contains(test.want, "accept") {
					told = []string{"e1"}
				}
				if !slices.Equal(done, told) {
					t.Errorf("the editor is told that %q are done, want %q", done, told)
				}
			})
		})
	}
}
