// Package drive drives an agent as an editor does, with the types of the protocol.
//
//	d := drive.Start(t, agent, drive.Setup{})
//	id := d.New(t, dir)
//	resp, err := d.Prompt(t.Context(), id, "Build it.")
//	for _, up := range d.Updates(id) { … }
//
// Package acptest has what the tests of other programs need of it.
package drive

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"

	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/internal/acp/rpc"
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

// Setup lists the editor's capabilities, and how its person answers. The zero
// value can do nothing and cancels every question.
type Setup struct {
	Capabilities schema.ClientCapabilities
	// Permission answers a question about a tool call, by the id of an option;
	// "" cancels. It may be called several times at once. Its context ends when
	// the agent withdraws the question.
	Permission func(context.Context, *schema.RequestPermissionRequest) schema.PermissionOptionID
	// Elicitation answers a form, or says whether an address was visited; nil is an
	// error.
	Elicitation func(context.Context, *schema.CreateElicitationRequest) *schema.CreateElicitationResponse
	// OnElicited, if set, sees each elicitation that is done as it arrives. It must
	// return at once.
	OnElicited func(schema.ElicitationID)
	// OnUpdate, if set, sees each update as it arrives. It must return at once.
	OnUpdate func(schema.SessionID, schema.SessionUpdate)
}

// Driver is an editor that a test controls. Its methods may be called from any
// goroutine.
type Driver struct {
	setup  Setup
	conn   *rpc.Conn
	stream io.Closer
	done   chan struct{}

	mu      sync.Mutex
	updates map[schema.SessionID][]schema.SessionUpdate
}

// Start serves an agent over a pipe and returns an editor that has introduced
// itself. Both end with the test.
func Start(t T, b acp.Backend, setup Setup) *Driver {
	t.Helper()
	ours, theirs := net.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- acp.Serve(context.Background(), theirs, b) }()
	d := Connect(ours, setup)
	t.Cleanup(func() {
		d.Close()
		if err := <-ended; err != nil {
			t.Errorf("drive: Serve: %v", err)
		}
	})
	var resp schema.InitializeResponse
	if err := d.Call(t.Context(), schema.MethodAgentInitialize, schema.InitializeRequest{ProtocolVersion: schema.Version, ClientCapabilities: setup.Capabilities}, &resp); err != nil {
		t.Fatalf("drive: initialize: %v", err)
	}
	return d
}

// Connect returns an editor on a connection, such as the pipes of an agent's
// process. It has not introduced itself. Close ends it.
func Connect(rw io.ReadWriteCloser, setup Setup) *Driver {
	d := &Driver{setup: setup, stream: rw, done: make(chan struct{}), updates: make(map[schema.SessionID][]schema.SessionUpdate)}
	d.conn = rpc.New(context.Background(), rw, d.handler(), rpc.Limits{}, slog.New(slog.DiscardHandler))
	go func() {
		defer close(d.done)
		d.conn.Serve(context.Background())
	}()
	return d
}

// Close closes the connection, as an editor that is gone does.
func (d *Driver) Close() {
	d.stream.Close()
	<-d.done
}

// Call sends any request.
func (d *Driver) Call(ctx context.Context, method string, params, result any) error {
	return d.conn.Call(ctx, method, params, result)
}

// Notify sends any notification.
func (d *Driver) Notify(ctx context.Context, method string, params any) error {
	return d.conn.Notify(ctx, method, params)
}

// New begins a session in a directory.
func (d *Driver) New(t T, dir string) schema.SessionID {
	t.Helper()
	var resp schema.NewSessionResponse
	if err := d.Call(t.Context(), schema.MethodAgentSessionNew, schema.NewSessionRequest{Cwd: dir}, &resp); err != nil {
		t.Fatalf("drive: session/new: %v", err)
	}
	return resp.SessionID
}

// Prompt sends a text and returns how the turn ended.
func (d *Driver) Prompt(ctx context.Context, id schema.SessionID, text string) (*schema.PromptResponse, error) {
	var resp schema.PromptResponse
	err := d.Call(ctx, schema.MethodAgentSessionPrompt, schema.PromptRequest{
		SessionID: id, Prompt: []schema.ContentBlock{{Text: &schema.TextContent{Text: text}}},
	}, &resp)
	return &resp, err
}

// Cancel stops the turn of a session.
func (d *Driver) Cancel(ctx context.Context, id schema.SessionID) error {
	return d.Notify(ctx, schema.MethodAgentSessionCancel, schema.CancelNotification{SessionID: id})
}

// Updates returns the updates of a session so far.
func (d *Driver) Updates(id schema.SessionID) []schema.SessionUpdate {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.updates[id])
}

// Text joins the agent's words in a session so far.
func (d *Driver) Text(id schema.SessionID) (text string) {
	for _, up := range d.Updates(id) {
		if c := up.AgentMessageChunk; c != nil && c.Content.Text != nil {
			text += c.Content.Text.Text
		}
	}
	return text
}

// handler keeps the methods of rpc.Handler out of Driver's own.
func (d *Driver) handler() rpc.Handler { return (*receiver)(d) }

type receiver Driver

// Notify keeps an update.
func (r *receiver) Notify(method string, params json.RawMessage) {
	if method == schema.MethodClientElicitationComplete && r.setup.OnElicited != nil {
		var done schema.CompleteElicitationNotification
		if jsonx.Unmarshal(params, &done) == nil {
			r.setup.OnElicited(done.ElicitationID)
		}
		return
	}
	var n schema.SessionNotification
	if method != schema.MethodClientSessionUpdate || jsonx.Unmarshal(params, &n) != nil {
		return
	}
	r.mu.Lock()
	r.updates[n.SessionID] = append(r.updates[n.SessionID], n.Update)
	r.mu.Unlock()
	if r.setup.OnUpdate != nil {
		r.setup.OnUpdate(n.SessionID, n.Update)
	}
}

// Request answers as the setup says.
func (r *receiver) Request(method string, params json.RawMessage) rpc.Work {
	return func(ctx context.Context) (any, func(), error) {
		switch method {
		case schema.MethodClientSessionRequestPermission:
			var req schema.RequestPermissionRequest
			if err := jsonx.Unmarshal(params, &req); err != nil {
				return nil, nil, err
			}
			var id schema.PermissionOptionID
			if r.setup.Permission != nil {
				id = r.setup.Permission(ctx, &req)
			}
			if id == "" {
				return schema.RequestPermissionResponse{Outcome: schema.RequestPermissionOutcome{Cancelled: new(schema.Empty)}}, nil, nil
			}
			return schema.RequestPermissionResponse{Outcome: schema.RequestPermissionOutcome{Selected: &schema.SelectedPermissionOutcome{OptionID: id}}}, nil, nil
		case schema.MethodClientElicitationCreate:
			var req schema.CreateElicitationRequest
			if err := jsonx.Unmarshal(params, &req); err != nil {
				return nil, nil, err
			}
			if r.setup.Elicitation == nil {
				return schema.CreateElicitationResponse{Action: "cancel"}, nil, nil
			}
			if resp := r.setup.Elicitation(ctx, &req); resp != nil {
				return resp, nil, nil
			}
			return nil, nil, errors.New("this editor cannot show that")
		}
		return nil, nil, errors.New("this editor has no method " + method)
	}
}
