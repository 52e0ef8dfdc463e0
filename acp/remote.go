package acp

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/serve/api"
)

// RemoteServer is a server of conversations as one user sees it. The client of package
// serve/client implements it and documents the methods. They may be called from any
// goroutine.
type RemoteServer interface {
	Info(ctx context.Context) (api.ServerInfo, error)
	ConversationPage(ctx context.Context, q api.ConversationQuery) (api.List[api.Conversation], error)
	Conversation(ctx context.Context, id string) (api.Conversation, error)
	Create(ctx context.Context, n api.NewConversation) (api.Conversation, error)
	Change(ctx context.Context, id string, ch api.Change) (api.Conversation, error)
	Delete(ctx context.Context, id string) error
	Messages(ctx context.Context, id string, q api.MessageQuery) (api.List[api.Message], error)
	Commands(ctx context.Context, id string) ([]api.Command, error)
	Send(ctx context.Context, id string, p api.NewPrompt) (api.Prompt, error)
	Prompts(ctx context.Context, id string) ([]api.Prompt, error)
	Prompt(ctx context.Context, id, prompt string) (api.Prompt, error)
	CancelPrompt(ctx context.Context, id, prompt string) error
	Interrupt(ctx context.Context, id string) error
	Follow(ctx context.Context, id string, after int64) iter.Seq2[api.Event, error]
	Approval(ctx context.Context, id string) (api.Approval, error)
	Approvals(ctx context.Context, q api.ApprovalQuery) iter.Seq2[api.Approval, error]
	Decide(ctx context.Context, id string, d api.Decision) (api.Approval, error)
}

// Remote is a [Backend] on a server of conversations. Its sessions are the server's
// conversations: other editors, and people at the page, see and use the same ones at
// the same time. Server is needed. A Remote may serve any number of connections at
// once, and must not be changed meanwhile.
//
// When an editor is gone, the turns that it began continue on the server. An editor is
// asked only about calls of its own user's prompts, because an editor that answers by
// itself must not decide for others. While another user's prompt is also open, the
// editor is asked only about the call that a prompt of its own user waits for; questions
// of subagents that another user may have started stay at the page. The first answer
// counts, from wherever it comes, and the question is withdrawn from the other editors. A
// message that steers a turn is sent only while a prompt of this editor runs. A copy
// belongs to the user who makes it.
type Remote struct {
	// Server runs the conversations.
	Server RemoteServer
	// Preset names the preset of new sessions. A session whose directory is below
	// none of its roots works in the first of them. Empty: the first preset that has
	// the directory below one of its roots; without one, no session begins.
	Preset string
	// Name and Title are how the agent introduces itself. Empty: those of this
	// module.
	Name, Title string
	// Logger logs what happens. Nil: nothing is logged.
	Logger *slog.Logger
}

func (r *Remote) backend() backend { return remoteAgent{r} }

// remoteAgent is a Remote as Serve uses it.
type remoteAgent struct{ *Remote }

// Initialize describes the agent. It fails if the server cannot be reached, or does
// not know the user.
func (r remoteAgent) Initialize(ctx context.Context, _ *editor) (*schema.InitializeResponse, error) {
	if _, err := r.Server.Info(ctx); err != nil {
		return nil, problem(err)
	}
	return &schema.InitializeResponse{
		AgentCapabilities: schema.AgentCapabilities{
			LoadSession:        true,
			PromptCapabilities: schema.PromptCapabilities{Image: true, EmbeddedContext: true},
			SessionCapabilities: schema.SessionCapabilities{
				Close: new(schema.SessionCloseCapabilities), Delete: new(schema.SessionDeleteCapabilities),
				List: new(schema.SessionListCapabilities), Resume: new(schema.SessionResumeCapabilities),
			},
		},
		AgentInfo:   &schema.Implementation{Name: cmp.Or(r.Name, "claude-agent-go"), Title: new(cmp.Or(r.Title, "Claude Agent")), Version: claude.Version},
		AuthMethods: []schema.AuthMethod{},
	}, nil
}

// Extensions offers copies of sessions and the steering of turns.
func (r remoteAgent) Extensions() extensions { return extensions{Forks: true, Steering: true} }

// Authenticate refuses: the server knows the user by the connection.
func (r remoteAgent) Authenticate(context.Context, *editor, schema.AuthMethodID) error {
	return errorf(schema.ErrorCodeInvalidParams, "the server knows its user by a token, not by this request: start the program with one")
}

// Logout refuses: a token is revoked on the server.
func (r remoteAgent) Logout(context.Context) error {
	return errorf(schema.ErrorCodeMethodNotFound, "revoke the token on the server")
}

// New begins a conversation on the server.
func (r remoteAgent) New(ctx context.Context, e *editor, req *schema.NewSessionRequest) (agentSession, error) {
	if err := refuseWishes(req.Meta); err != nil {
		return nil, err
	}
	info, err := r.Server.Info(ctx)
	if err != nil {
		return nil, problem(err)
	}
	begin, err := chooseBegin(info.Presets, r.Preset, req.Cwd)
	if err != nil {
		return nil, err
	}
	own, err := r.Server.Create(ctx, begin)
	if err != nil {
		return nil, problem(err)
	}
	return r.open(e, &info, own, len(req.MCPServers) > 0), nil
}

// chooseBegin chooses how to begin a session in a directory of the editor.
func chooseBegin(presets []api.PresetInfo, name, dir string) (api.NewConversation, error) {
	for _, p := range presets {
		if name != "" && p.Name != name {
			continue
		}
		if slices.ContainsFunc(p.Roots, func(root string) bool { return below(root, dir) }) {
			return api.NewConversation{Preset: p.Name, Dir: dir}, nil
		}
		if name != "" {
			return api.NewConversation{Preset: p.Name}, nil
		}
	}
	if name != "" {
		return api.NewConversation{}, errorf(schema.ErrorCodeInvalidParams, "the server has no preset %q for you", name)
	}
	return api.NewConversation{}, errorf(schema.ErrorCodeInvalidParams, "no preset of the server works in %s: choose one by its name; it then works in its own directory", dir)
}

// below reports whether a directory is a root or inside it, going by the names alone: it
// is the server that looks at the directory itself.
func below(root, dir string) bool {
	rel, err := filepath.Rel(root, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// Load shows what was said in a conversation and opens it.
func (r remoteAgent) Load(ctx context.Context, e *editor, req *schema.LoadSessionRequest) (agentSession, error) {
	if err := refuseWishes(req.Meta); err != nil {
		return nil, err
	}
	s, err := r.reopen(ctx, e, req.SessionID, len(req.MCPServers) > 0)
	if err != nil {
		return nil, err
	}
	if err := s.replay(ctx); err != nil {
		return nil, problem(err)
	}
	return s, nil
}

// Resume opens a conversation without showing it.
func (r remoteAgent) Resume(ctx context.Context, e *editor, req *schema.ResumeSessionRequest) (agentSession, error) {
	if err := refuseWishes(req.Meta); err != nil {
		return nil, err
	}
	s, err := r.reopen(ctx, e, req.SessionID, len(req.MCPServers) > 0)
	if err != nil {
		return nil, err
	}
	s.knows = true
	return s, nil
}

func (r *Remote) reopen(ctx context.Context, e *editor, id schema.SessionID, servers bool) (*remoteSession, error) {
	info, err := r.Server.Info(ctx)
	if err != nil {
		return nil, problem(err)
	}
	own, err := r.Server.Conversation(ctx, string(id))
	if err != nil {
		return nil, remoteError(id, err)
	}
	return r.open(e, &info, own, servers), nil
}

// Fork opens a copy of a conversation, which belongs to the user. It works where the
// original does, with the same preset.
func (r remoteAgent) Fork(ctx context.Context, e *editor, req *schema.ResumeSessionRequest) (agentSession, error) {
	if err := refuseWishes(req.Meta); err != nil {
		return nil, err
	}
	info, err := r.Server.Info(ctx)
	if err != nil {
		return nil, problem(err)
	}
	old, err := r.Server.Conversation(ctx, string(req.SessionID))
	if err != nil {
		return nil, remoteError(req.SessionID, err)
	}
	if old.State == api.StateRunning {
		return nil, errorf(schema.ErrorCodeInvalidRequest, "a turn of this conversation is running on the server: wait for its end")
	}
	own, err := r.Server.Create(ctx, api.NewConversation{Preset: old.Preset, Fork: &api.ForkFrom{Conversation: old.ID}})
	if err != nil {
		return nil, problem(err)
	}
	s := r.open(e, &info, own, len(req.MCPServers) > 0)
	s.knows, s.like = true, old.ID
	return s, nil
}

// Delete deletes a conversation for everybody.
func (r remoteAgent) Delete(ctx context.Context, id schema.SessionID) error {
	return remoteError(id, r.Server.Delete(ctx, string(id)))
}

// remoteError turns an error about a session into one of the protocol.
func remoteError(id schema.SessionID, err error) error {
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Status == http.StatusNotFound {
		return notFound(id)
	}
	return problem(err)
}

// problem turns an error of the server into one of the protocol.
func problem(err error) error {
	p, ok := errors.AsType[*api.Problem](err)
	if !ok {
		return err
	}
	code := schema.ErrorCodeInternalError
	switch {
	case p.Status == http.StatusUnauthorized:
		code = schema.ErrorCodeAuthenticationRequired
	case p.Status == http.StatusNotFound:
		code = schema.ErrorCodeResourceNotFound
	case p.Status >= 400 && p.Status < 500:
		code = schema.ErrorCodeInvalidRequest
	}
	e := errorf(code, "%s", p.Title)
	if p.Detail != "" {
		e.Message += ": " + p.Detail
	}
	e.Data = raw(map[string]any{"type": p.Type, "status": p.Status})
	return e
}
