// Package acptest is a scripted editor for tests of agents that package acp serves.
//
//	d := acptest.Start(t, agent, acptest.Setup{})
//	id := d.New(dir)
//	ended, err := d.Prompt(id, "Build it.")
//	if d.Text(id) != "Done." { … }
//
// Everything beyond a prompt and its answer is JSON, as the protocol describes
// it.
package acptest

import (
	"context"
	"encoding/json"

	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/jsonx"
)

// T is the part of testing.TB that is needed here.
type T interface {
	Helper()
	Context() context.Context
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Setup has the answers of the person at the editor. Its zero value cancels every question.
type Setup struct {
	// Permission answers a question about a tool call with the id of one of its
	// options, such as "allow-once" or "reject"; "" cancels. It may be called
	// several times at once. Its context ends when the agent withdraws the question.
	Permission func(context.Context, Question) string
	// Elicitation answers a form: it gets the parameters of "elicitation/create" and
	// returns the result. Nil cancels.
	Elicitation func(context.Context, json.RawMessage) json.RawMessage
	// Capabilities is the object that lists the editor's capabilities. Nil:
	// nothing.
	Capabilities json.RawMessage
}

// Question is a permission request of the agent for a tool call. It is a plain value.
type Question struct {
	Session string          // the id of the session
	Call    string          // the id of the tool call
	Title   string          // of the tool call, as the editor shows it
	Input   json.RawMessage // of the tool call; nil if the agent has not said it
	Options []string        // the ids of the answers to choose from
}

// Driver is an editor that a test controls. Its methods may be called from any
// goroutine, until the test ends.
type Driver struct {
	t      T
	driver *drive.Driver
}

// Start serves an agent and returns an editor that has introduced itself. Both end
// with the test.
func Start(t T, b acp.Backend, s Setup) *Driver {
	t.Helper()
	var setup drive.Setup
	if s.Capabilities != nil {
		if err := jsonx.Unmarshal(s.Capabilities, &setup.Capabilities); err != nil {
			t.Fatalf("acptest: Setup.Capabilities: %v", err)
		}
	}
	if s.Permission != nil {
		setup.Permission = func(ctx context.Context, req *schema.RequestPermissionRequest) schema.PermissionOptionID {
			return schema.PermissionOptionID(s.Permission(ctx, questionOf(req)))
		}
	}
	if s.Elicitation != nil {
		setup.Elicitation = func(ctx context.Context, req *schema.CreateElicitationRequest) *schema.CreateElicitationResponse {
			resp := &schema.CreateElicitationResponse{Action: "cancel"}
			params, err := jsonx.Marshal(req)
			if err == nil {
				if answer := s.Elicitation(ctx, params); answer != nil {
					err = jsonx.Unmarshal(answer, resp)
				}
			}
			if err != nil {
				t.Errorf("acptest: Setup.Elicitation: %v", err)
			}
			return resp
		}
	}
	return &Driver{t, drive.Start(t, b, setup)}
}

func questionOf(req *schema.RequestPermissionRequest) Question {
	q := Question{Session: string(req.SessionID), Call: string(req.ToolCall.ToolCallID), Input: req.ToolCall.RawInput}
	if req.ToolCall.Title != nil {
		q.Title = *req.ToolCall.Title
	}
	for _, o := range req.Options {
		q.Options = append(q.Options, string(o.OptionID))
	}
	return q
}

// New begins a session in a directory and returns its id.
func (d *Driver) New(dir string) string {
	d.t.Helper()
	return string(d.driver.New(d.t, dir))
}

// Prompt sends a text and returns how the turn ended, such as "end_turn" or
// "cancelled".
func (d *Driver) Prompt(session, text string) (string, error) {
	resp, err := d.driver.Prompt(d.t.Context(), schema.SessionID(session), text)
	return string(resp.StopReason), err
}

// Cancel stops the turn of a session.
func (d *Driver) Cancel(session string) error {
	return d.driver.Cancel(d.t.Context(), schema.SessionID(session))
}

// Text joins the agent's words in a session so far.
func (d *Driver) Text(session string) string { return d.driver.Text(schema.SessionID(session)) }

// Updates returns the updates of a session so far: the member "update" of each
// notification, as JSON.
func (d *Driver) Updates(session string) []json.RawMessage {
	var all []json.RawMessage
	for _, up := range d.driver.Updates(schema.SessionID(session)) {
		data, err := jsonx.Marshal(up)
		if err != nil {
			d.t.Errorf("acptest: an update: %v", err)
		}
		all = append(all, data)
	}
	return all
}

// Call sends any request, such as "session/load". The answer is decoded into result
// unless that is nil.
func (d *Driver) Call(method string, params, result any) error {
	return d.driver.Call(d.t.Context(), method, params, result)
}

// Close closes the connection, as an editor that is gone does.
func (d *Driver) Close() { d.driver.Close() }
