package acp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/serve/api"
)

// wiretap keeps what is read.
type wiretap struct {
	net.Conn
	mu   sync.Mutex
	read bytes.Buffer
}

// Read implements io.Reader.
func (w *wiretap) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read.Write(b[:n])
	return n, err
}

// TestFormKeepsItsOrder sends the fields of a form to the editor in the order of the MCP
// server that asks, from this machine and from a server.
func TestFormKeepsItsOrder(t *testing.T) {
	const fields = `"properties":{"zip":{"type":"string","x-of":"shop"},"name":{"type":"string"},"age":{"type":"integer"}}`
	const form = `{"type":"object",` + fields + `,"required":["name"],"x-shop":1}`
	cli := claudetest.NewHost(host.AgentFunc(func(ctx context.Context, turn *host.Turn) error {
		_, err := turn.Elicit(ctx, &control.Elicitation{ServerName: "shop", Mode: control.ElicitationForm, RequestedSchema: json.RawMessage(form)})
		return err
	}), nil)
	server := newScripted()
	for name, agent := range map[string]acp.Backend{
		"local":  &acp.Local{Options: &claude.Options{Transport: cli, Env: []string{"HOME=" + t.TempDir()}}},
		"remote": &acp.Remote{Server: server},
	} {
		synctest.Test(t, func(t *testing.T) {
			server.changed = make(chan struct{}) // of this bubble
			ours, theirs := net.Pipe()
			ended := make(chan error, 1)
			go func() { ended <- acp.Serve(context.Background(), theirs, agent) }()
			tap := &wiretap{Conn: ours}
			can := schema.ClientCapabilities{Elicitation: &schema.ElicitationCapabilities{Form: new(schema.ElicitationFormCapabilities)}}
			d := drive.Connect(tap, drive.Setup{Elicitation: func(context.Context, *schema.CreateElicitationRequest) *schema.CreateElicitationResponse {
				return &schema.CreateElicitationResponse{Action: "decline"}
			}})
			if err := d.Call(t.Context(), schema.MethodAgentInitialize, schema.InitializeRequest{ProtocolVersion: 1, ClientCapabilities: can}, nil); err != nil {
				t.Fatal(err)
			}
			id := d.New(t, "/")
			synctest.Wait()
			if name == "local" {
				if _, err := d.Prompt(t.Context(), id, "Buy it."); err != nil {
					t.Fatal(err)
				}
			} else {
				server.happens(nil, prompt("a", "ada", api.PromptRunning))
				server.asks(api.Approval{ID: "q", Kind: api.KindElicitation, Form: new(api.Form), Input: json.RawMessage(`{"requested_schema":` + form + `}`)})
			}
			synctest.Wait()
			d.Close()
			if err := <-ended; err != nil && err != io.EOF {
				t.Error(err)
			}
			if wire := tap.read.String(); !strings.Contains(wire, fields) || !strings.Contains(wire, `"required":["name"]`) || !strings.Contains(wire, `"x-shop":1`) {
				t.Errorf("%s: the editor reads %s\nwant %s in it", name, wire, form)
			}
		})
	}
}
