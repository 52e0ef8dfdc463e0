package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// editor is an editor on a server, whose person answers by hand.
type editor struct {
	*drive.Driver
	asked     chan *schema.RequestPermissionRequest
	answers   chan schema.PermissionOptionID
	withdrawn chan struct{}
	updates   chan schema.SessionUpdate
}

// newEditor starts an editor on a back-end.
func newEditor(t *testing.T, b acp.Backend) *editor {
	e, setup := editorSetup()
	e.Driver = drive.Start(t, b, setup)
	return e
}

func editorSetup() (*editor, drive.Setup) {
	e := &editor{
		asked: make(chan *schema.RequestPermissionRequest, 10), answers: make(chan schema.PermissionOptionID, 10),
		withdrawn: make(chan struct{}, 10), updates: make(chan schema.SessionUpdate, 1000),
	}
	return e, drive.Setup{
		Permission: func(ctx context.Context, req *schema.RequestPermissionRequest) schema.PermissionOptionID {
			e.asked <- req
			select {
			case a := <-e.answers:
				return a
			case <-ctx.Done():
				e.withdrawn <- struct{}{}
				return ""
			}
		},
		OnUpdate: func(_ schema.SessionID, up schema.SessionUpdate) { e.updates <- up },
	}
}

// until returns the texts of the agent up to one that ends with a word.
func (e *editor) until(t *testing.T, end string) (text string) {
	t.Helper()
	for !strings.HasSuffix(text, end) {
		select {
		case up := <-e.updates:
			if m := up.AgentMessageChunk; m != nil {
				text += m.Content.Text.Text
			}
		case <-t.Context().Done():
			t.Fatalf("said %q, want %q", text, end)
		}
	}
	return text
}

// go starts a prompt.
func (e *editor) begin(t *testing.T, id schema.SessionID, text string) <-chan schema.StopReason {
	ended := make(chan schema.StopReason, 1)
	go func() {
		resp, err := e.Prompt(context.WithoutCancel(t.Context()), id, text)
		if err != nil {
			ended <- schema.StopReason(err.Error())
			return
		}
		ended <- resp.StopReason
	}()
	return ended
}

func (e *editor) load(t *testing.T, id schema.SessionID, dir string) {
	t.Helper()
	if err := e.Call(t.Context(), schema.MethodAgentSessionLoad, schema.LoadSessionRequest{SessionID: id, Cwd: dir}, nil); err != nil {
		t.Fatal(err)
	}
}

// A session of an editor on a server is a conversation of that server: it is prompted,
// asked, changed, listed, loaded and deleted.
func TestRemoteEditor(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	r := newRigIn(t, store.Memory(), root, nil)
	ada := newEditor(t, &acp.Remote{Server: r.remote("ada", api.RoleOperator, nil)})
	id := ada.New(t, root)
	ended := ada.begin(t, id, "tool 1")
	asked := <-ada.asked
	if asked.ToolCall.ToolCallID != "toolu_1" || *asked.ToolCall.Title != "make 1" || len(asked.Options) < 2 {
		t.Errorf("asked %+v", asked)
	}
	ada.answers <- "allow-once"
	if got := <-ended; got != schema.StopReasonEndTurn {
		t.Errorf("ended %s", got)
	}
	if text := ada.Text(id); text != "It says: built" {
		t.Errorf("said %q", text)
	}
	completed := false
	for _, up := range ada.Updates(id) {
		completed = completed || up.ToolCallUpdate != nil && up.ToolCallUpdate.Status == schema.ToolCallStatusCompleted
		if up.UserMessageChunk != nil {
			t.Errorf("the editor was shown its own prompt: %+v", up.UserMessageChunk)
		}
	}
	if !completed || len(r.agent.ran()) != 1 {
		t.Errorf("completed %t, ran %q", completed, r.agent.ran())
	}

	if got := <-ada.begin(t, id, "slowly, and at length, so that it comes in pieces"); got != schema.StopReasonEndTurn {
		t.Errorf("ended %s", got)
	}
	if text := ada.Text(id); !strings.HasSuffix(text, "builtYou said: slowly, and at length, so that it comes in pieces") {
		t.Errorf("said %q", text)
	}

	var resp schema.SetSessionConfigOptionResponse
	if err := ada.Call(t.Context(), schema.MethodAgentSessionSetMode, schema.SetSessionModeRequest{SessionID: id, ModeID: "plan"}, nil); err != nil {
		t.Error(err)
	}
	if own := must[api.Conversation](t)(r.remote("ada", api.RoleOperator, nil).Conversation(t.Context(), string(id))); own.Mode != "plan" {
		t.Errorf("the mode is %q", own.Mode)
	}
	if got := <-ada.begin(t, id, "in the new mode"); got != schema.StopReasonEndTurn {
		t.Errorf("ended %s", got)
	}
	for _, up := range ada.Updates(id) {
		if up.SessionInfoUpdate != nil {
			t.Errorf("a title that nobody has changed is shown: %q", *up.SessionInfoUpdate.Title)
		}
	}
	err := ada.Call(t.Context(), schema.MethodAgentSessionSetConfigOption, schema.SetSessionConfigOptionRequest{SessionID: id, ConfigID: "model", Value: json.RawMessage(`"unheard of"`)}, &resp)
	if e, ok := errors.AsType[*schema.Error](err); !ok || e.Code != schema.ErrorCodeInvalidRequest {
		t.Errorf("a model that is not offered: %v", err)
	}

	var list schema.ListSessionsResponse
	if err := ada.Call(t.Context(), schema.MethodAgentSessionList, schema.ListSessionsRequest{}, &list); err != nil || len(list.Sessions) != 1 || list.Sessions[0].SessionID != id || list.Sessions[0].Cwd != root {
		t.Errorf("list %+v, %v", list, err)
	}

	again := newEditor(t, &acp.Remote{Server: r.remote("ada", api.RoleOperator, nil)})
	again.load(t, id, root)
	if text := again.Text(id); text != ada.Text(id) {
		t.Errorf("loaded %q, want %q", text, ada.Text(id))
	}
	prompts := 0
	for _, up := range again.Updates(id) {
		if up.UserMessageChunk != nil {
			prompts++
		}
	}
	if prompts != 3 {
		t.Errorf("loaded %d prompts, want 3", prompts)
	}
	if err := ada.Call(t.Context(), schema.MethodAgentSessionDelete, schema.DeleteSessionRequest{SessionID: id}, nil); err != nil {
		t.Error(err)
	}
	err = again.Call(t.Context(), schema.MethodAgentSessionResume, schema.ResumeSessionRequest{SessionID: id, Cwd: root}, nil)
	if e, ok := errors.AsType[*schema.Error](err); !ok || e.Code != schema.ErrorCodeResourceNotFound {
		t.Errorf("resume of a deleted conversation: %v", err)
	}
	err = ada.Call(t.Context(), schema.MethodAgentSessionNew, schema.NewSessionRequest{Cwd: "/elsewhere"}, nil)
	if err == nil || !strings.Contains(err.Error(), "preset") {
		t.Errorf("a session where no preset works: %v", err)
	}
}

// Several editors and the page have one conversation. Each editor of the user who
// prompted is asked, the first answer counts, and the others are told. An editor of
// another user, who may decide, is not asked: it might answer by itself.
func TestRemoteEditors(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	r := newRigIn(t, store.Memory(), root, nil)
	page := r.remote("ada", api.RoleOperator, nil)
	one := newEditor(t, &acp.Remote{Server: page})
	two := newEditor(t, &acp.Remote{Server: r.remote("ada", api.RoleOperator, nil)})
	bob := newEditor(t, &acp.Remote{Server: r.remote("bob", api.RoleOperator, nil)})
	id := one.New(t, root)
	must[api.Conversation](t)(page.Change(t.Context(), string(id), api.Change{Shared: new(true)}))
	two.load(t, id, root)
	bob.load(t, id, root)
	bob.answers <- "allow-once"

	ended := one.begin(t, id, "tool 1")
	<-one.asked
	<-two.asked
	two.answers <- "reject"
	<-one.withdrawn
	if got := <-ended; got != schema.StopReasonEndTurn {
		t.Errorf("ended %s", got)
	}
	two.until(t, "this.") // the refusal, repeated by the scripted model
	bob.until(t, "this.")
	if ran := r.agent.ran(); len(ran) != 0 || len(bob.asked) != 0 {
		t.Errorf("ran %q, bob was asked %d times", ran, len(bob.asked))
	}

	// The page prompts and decides; the editors show the prompt and are told.
	must[api.Prompt](t)(page.Send(t.Context(), string(id), api.NewPrompt{Content: api.Text("tool 2")}))
	<-one.asked
	<-two.asked
	for q, err := range page.Approvals(t.Context(), api.ApprovalQuery{State: api.ApprovalPending}) {
		if err != nil {
			t.Fatal(err)
		}
		must[api.Approval](t)(page.Decide(t.Context(), q.ID, api.Decision{Decision: api.DecideAllow, Digest: q.Digest}))
	}
	<-one.withdrawn
	<-two.withdrawn
	one.until(t, "built")
	bob.until(t, "built")
	shown := 0
	for _, up := range one.Updates(id) {
		if m := up.UserMessageChunk; m != nil && m.Content.Text.Text == "tool 2" {
			shown++
		}
	}
	if shown != 1 || len(bob.asked) != 0 {
		t.Errorf("the page's prompt was shown %d times; bob was asked %d times", shown, len(bob.asked))
	}
}

// A viewer watches, and is neither asked nor heard.
func TestRemoteViewer(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	r := newRigIn(t, store.Memory(), root, nil)
	ada := newEditor(t, &acp.Remote{Server: r.remote("ada", api.RoleOperator, nil)})
	id := ada.New(t, root)
	must[api.Conversation](t)(r.remote("ada", api.RoleOperator, nil).Change(t.Context(), string(id), api.Change{Shared: new(true)}))
	eve := newEditor(t, &acp.Remote{Server: r.remote("eve", api.RoleViewer, nil)})
	eve.load(t, id, root)
	eve.answers <- "allow-once"
	ended := ada.begin(t, id, "tool 1")
	<-ada.asked
	for method, params := range map[string]any{
		schema.MethodAgentSessionPrompt:  schema.PromptRequest{SessionID: id, Prompt: []schema.ContentBlock{{Text: &schema.TextContent{Text: "hello"}}}},
		schema.MethodAgentSessionNew:     schema.NewSessionRequest{Cwd: root},
		schema.MethodAgentSessionSetMode: schema.SetSessionModeRequest{SessionID: id, ModeID: "plan"},
	} {
		err := eve.Call(t.Context(), method, params, nil)
		if e, ok := errors.AsType[*schema.Error](err); !ok || e.Code != schema.ErrorCodeInvalidRequest {
			t.Errorf("%s: %v, want it refused", method, err)
		}
	}
	ada.answers <- "allow-once"
	<-ended
	if text := eve.until(t, "built"); text != "It says: built" || len(eve.asked) != 0 {
		t.Errorf("saw %q, was asked %d times", text, len(eve.asked))
	}
}

// An editor that is gone leaves its turn and its question to the server. Opened again,
// the session asks, and the call runs once. A cancel ends the question.
func TestRemoteVanishes(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	r := newRigIn(t, store.Memory(), root, nil)
	first := newEditor(t, &acp.Remote{Server: r.remote("ada", api.RoleOperator, nil)})
	id := first.New(t, root)
	first.begin(t, id, "tool 1")
	<-first.asked
	first.Close()

	next := newEditor(t, &acp.Remote{Server: r.remote("ada", api.RoleOperator, nil)})
	next.load(t, id, root)
	if asked := <-next.asked; asked.ToolCall.ToolCallID != "toolu_1" {
		t.Errorf("asked %+v", asked)
	}
	next.answers <- "allow-once"
	next.until(t, "built")
	if ran := r.agent.ran(); len(ran) != 1 {
		t.Errorf("ran %q", ran)
	}

	ended := next.begin(t, id, "tool 2")
	<-next.asked
	if err := next.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	<-next.withdrawn
	if got := <-ended; got != schema.StopReasonCancelled {
		t.Errorf("ended %s, want cancelled", got)
	}
	if ran := r.agent.ran(); len(ran) != 1 {
		t.Errorf("ran %q after a cancel", ran)
	}
	if got := <-next.begin(t, id, "hello"); got != schema.StopReasonEndTurn {
		t.Errorf("after a cancel ended %s", got)
	}
}

// A question of the agent is answered in the editor.
func TestRemoteQuestion(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	r := newRigIn(t, store.Memory(), root, nil)
	ada := newEditor(t, &acp.Remote{Server: r.remote("ada", api.RoleOperator, nil)})
	id := ada.New(t, root)
	ended := ada.begin(t, id, "ask")
	if asked := <-ada.asked; *asked.ToolCall.Title != "Which colour?" || asked.Options[1].Name != "Red" {
		t.Errorf("asked %+v", asked)
	}
	ada.answers <- "answer-1"
	if got := <-ended; got != schema.StopReasonEndTurn {
		t.Errorf("ended %s", got)
	}
}
