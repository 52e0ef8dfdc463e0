package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/claude-agent-go/claude/internal/acp/rpc"
	"github.com/claude-agent-go/claude/internal/acp/schema"
)

// Backend is the agent that this package gives an editor: a [*Local], with a CLI for
// each session, or a [*Remote], on a server of conversations. Its method is for this
// package only.
type Backend interface {
	backend() backend
}

// backend is an agent, as an editor uses it. Serve calls its methods from
// several goroutines at once, and never before the editor has introduced itself.
// Contexts end when the editor withdraws a request and when it is gone; methods
// must return soon after. An error that is a *schema.Error reaches the editor as
// it is, any other as an internal error with its text.
type backend interface {
	// Initialize describes the agent and its capabilities. Serve sets the
	// version of the protocol.
	Initialize(ctx context.Context, e *editor) (*schema.InitializeResponse, error)
	// Authenticate signs in by one of the methods that Initialize has named.
	Authenticate(ctx context.Context, e *editor, method schema.AuthMethodID) error
	// Logout signs out.
	Logout(ctx context.Context) error
	// New begins a session.
	New(ctx context.Context, e *editor, req *schema.NewSessionRequest) (agentSession, error)
	// Load opens an earlier session and shows what was said to the editor before
	// it returns. Resume opens one without showing it.
	Load(ctx context.Context, e *editor, req *schema.LoadSessionRequest) (agentSession, error)
	Resume(ctx context.Context, e *editor, req *schema.ResumeSessionRequest) (agentSession, error)
	// List lists earlier sessions, and Delete removes one that is not open.
	List(ctx context.Context, req *schema.ListSessionsRequest) (*schema.ListSessionsResponse, error)
	Delete(ctx context.Context, id schema.SessionID) error
	// Extensions returns the agent's additions to the stable protocol. It is always the
	// same. Serve adds it to the answer of Initialize, and refuses the other requests.
	Extensions() extensions
	// Fork opens a copy of a session, without showing it. The original stays as it is.
	// No turn of the original runs or begins in this connection meanwhile. The request
	// has the members of one that resumes the original. An agent that does not offer
	// copies returns [errors.ErrUnsupported].
	Fork(ctx context.Context, e *editor, req *schema.ResumeSessionRequest) (agentSession, error)
}

// extensions are the requests beyond the stable protocol that an agent answers. Editors
// know them from the npm adapter. It is a plain value; the zero value offers none.
type extensions struct {
	Forks    bool // session/fork: Fork of the back-end copies a session
	Steering bool // _session/steering: agentSession.Steer gives a turn another message
}

// offer adds the extensions to the answer of initialize, as the npm adapter names them.
func (x extensions) offer(resp *schema.InitializeResponse) {
	if x.Forks {
		can := &resp.AgentCapabilities.SessionCapabilities
		can.Extra = maps.Clone(can.Extra)
		if can.Extra == nil {
			can.Extra = make(map[string]json.RawMessage)
		}
		can.Extra["fork"] = json.RawMessage("{}")
	}
	if x.Steering {
		if resp.Meta = maps.Clone(resp.Meta); resp.Meta == nil {
			resp.Meta = make(map[string]any)
		}
		resp.Meta["steering"] = map[string]any{"supported": true}
	}
}

// agentSession is an open session of a [backend]. Its methods may be called from
// any goroutine, but Serve never calls Prompt while another Prompt runs.
type agentSession interface {
	// ID names the session to the editor.
	ID() schema.SessionID
	// Modes and Config describe the choices of the editor; either may be nil.
	Modes() *schema.SessionModeState
	Config() []schema.SessionConfigOption
	// Opened is called once, when the editor knows the session: from then on
	// updates may be sent.
	Opened(ctx context.Context)
	// Prompt runs a turn and returns how it ended, after all its updates. When
	// ctx ends, it stops the turn and returns schema.StopReasonCancelled.
	Prompt(ctx context.Context, req *schema.PromptRequest) (*schema.PromptResponse, error)
	// Steer gives the turn that runs another message. Prompt then returns when that is
	// answered too. ctx ends with the turn, so Steer may wait for a Prompt that is about
	// to begin. After the end of ctx it must not give anything: it returns [errNoTurn],
	// as it does if no turn runs. An agent that does not offer steering returns
	// [errors.ErrUnsupported].
	Steer(ctx context.Context, prompt []schema.ContentBlock) error
	// SetMode changes the mode.
	SetMode(ctx context.Context, mode schema.SessionModeID) error
	// SetConfig changes an option and returns all of them.
	SetConfig(ctx context.Context, req *schema.SetSessionConfigOptionRequest) ([]schema.SessionConfigOption, error)
	// Close ends the session and everything that it has started, in bounded
	// time.
	Close() error
}

// editor is the program on the other side of a connection. Its methods may be
// called from any goroutine, as long as the connection lasts; afterwards they
// return an error.
type editor struct {
	conn *rpc.Conn
	init schema.InitializeRequest
}

// Capabilities returns the editor's capabilities. The value must not be
// changed.
func (e *editor) Capabilities() *schema.ClientCapabilities { return &e.init.ClientCapabilities }

// Info returns the editor's name and version, nil if it has not said them.
func (e *editor) Info() *schema.Implementation { return e.init.ClientInfo }

// Update shows something in a session. It returns when it is written.
func (e *editor) Update(ctx context.Context, id schema.SessionID, update schema.SessionUpdate) error {
	return e.conn.Notify(ctx, schema.MethodClientSessionUpdate, notification(id, update))
}

// RequestPermission asks the person about a tool call. When ctx ends, the
// question is withdrawn.
func (e *editor) RequestPermission(ctx context.Context, req *schema.RequestPermissionRequest) (schema.RequestPermissionOutcome, error) {
	var resp schema.RequestPermissionResponse
	err := e.conn.Call(ctx, schema.MethodClientSessionRequestPermission, req, &resp)
	return resp.Outcome, err
}

// Elicit asks the person to fill in a form or to visit an address. Only editors
// with that capability can.
func (e *editor) Elicit(ctx context.Context, req *schema.CreateElicitationRequest) (*schema.CreateElicitationResponse, error) {
	var resp schema.CreateElicitationResponse
	err := e.conn.Call(ctx, schema.MethodClientElicitationCreate, req, &resp)
	return &resp, err
}

// Elicited reports to the editor that the visit to an address is done, if the editor sends
// people to addresses.
func (e *editor) Elicited(ctx context.Context, id schema.ElicitationID) error {
	if !visits(e) || id == "" {
		return nil
	}
	return e.conn.Notify(ctx, schema.MethodClientElicitationComplete, schema.CompleteElicitationNotification{ElicitationID: id})
}

// errorf returns an error with a code of the protocol.
func errorf(code schema.ErrorCode, form string, args ...any) *schema.Error {
	return &schema.Error{Code: code, Message: fmt.Sprintf(form, args...)}
}
