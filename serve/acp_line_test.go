package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// pipes is a listener without a network, whose connections hold nothing back: a byte is
// written when it is read.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { close(p.closed); return nil }

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// named is a connection with an address.
type named struct {
	net.Conn
	at net.Addr
}

func (n named) RemoteAddr() net.Addr { return n.at }

// lines serves a rig without a network, and returns how an editor of ada connects.
func (r *rig) lines(t *testing.T) (dial func() (*websocket.Conn, *http.Response, error)) {
	t.Helper()
	return r.linesWith(t, r.bearerOf("ada", api.RoleOperator))
}

// linesWith is lines for an editor that sends a header.
func (r *rig) linesWith(t *testing.T, header http.Header) (dial func() (*websocket.Conn, *http.Response, error)) {
	t.Helper()
	listener := &pipes{make(chan net.Conn), make(chan struct{})}
	server := &http.Server{Handler: r.server}
	go server.Serve(listener)
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		listener.conns <- named{there, listener.Addr()}
		return here, nil
	}}
	t.Cleanup(func() { transport.CloseIdleConnections(); server.Close() })
	return func() (*websocket.Conn, *http.Response, error) {
		return websocket.Dial(t.Context(), "http://localhost/acp", &websocket.DialOptions{HTTPHeader: header, HTTPClient: &http.Client{Transport: transport}})
	}
}

// quiet is a fleet that looks at its store rarely.
func quiet(o *fleet.Options) { o.Poll, o.TTL = time.Hour, time.Hour }

// A message that comes for minutes over a slow line arrives, although its editor answers
// no ping meanwhile. An editor that is silent and does not answer is dropped within
// two minutes, and gives its place back.
func TestEditorOnSlowLine(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, store.Memory(), root, quiet, func(o *serve.Options) { o.StreamsPerUser = 1 })
		dial := r.lines(t)
		conn, _, err := dial()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.CloseNow()
		body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": schema.MethodAgentInitialize, "params": map[string]any{
			"protocolVersion": 1, "_meta": map[string]string{"picture": strings.Repeat("x", 100<<10)},
		}})
		if err != nil {
			t.Fatal(err)
		}
		w, err := conn.Writer(t.Context(), websocket.MessageText)
		for err == nil && len(body) > 0 {
			<-time.After(20 * time.Second)
			n := min(len(body), 8<<10)
			_, err = w.Write(body[:n])
			body = body[n:]
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatalf("%d bytes were left: %v", len(body), err)
		}
		if _, answer, err := conn.Read(t.Context()); err != nil || !bytes.Contains(answer, []byte("agentCapabilities")) {
			t.Fatalf("%s, %v", answer, err)
		}
		if _, res, err := dial(); err == nil || res.StatusCode != http.StatusTooManyRequests {
			t.Fatalf("the editor has left already: %v", err)
		}
		<-time.After(2*time.Minute + time.Second)
		next, _, err := dial()
		if err != nil {
			t.Fatalf("the dead editor is still there: %v", err)
		}
		defer next.CloseNow()
		// One that is silent, but answers, stays.
		reading, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { _, _, err := next.Read(reading); ended <- err }()
		<-time.After(time.Hour)
		if len(ended) > 0 {
			t.Errorf("the connection ended: %v", <-ended)
		}
		stop()
	})
}

// Close returns once the editors know and are gone, and does not wait for those that do
// not answer. No editor can connect any more.
func TestCloseWaitsForEditors(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, store.Memory(), root, quiet, nil)
		dial := r.lines(t)
		var conns [2]*websocket.Conn
		for i := range conns {
			conn, _, err := dial()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.CloseNow()
			conns[i] = conn
		}
		closed := make(chan struct{})
		began := time.Now()
		go func() { defer close(closed); r.server.Close() }()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("Close did not wait for the editors")
		default:
		}
		if _, _, err := conns[0].Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
			t.Errorf("an editor was told %v", err)
		}
		if _, res, err := dial(); err == nil || res.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("an editor connects to a server that stops: %v", err)
		}
		<-closed
		if took := time.Since(began); took == 0 || took > 30*time.Second {
			t.Errorf("Close took %v, want it to wait for the silent editor, but not for long", took)
		}
	})
}

// tokensHang is a store that does not answer about tokens for a while.
type tokensHang struct {
	store.Records
	hang  atomic.Bool
	asked atomic.Int32
}

func (h *tokensHang) View(ctx context.Context, v store.View) ([]store.Record, error) {
	k := v.Keys[0]
	if h.hang.Load() && k.Kind == "serve-token" {
		h.asked.Add(1)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Hour):
		}
	}
	return h.Records.View(ctx, v)
}

// Close does not wait for a store that hangs while the server looks whether an editor
// may stay, or who sends a request. A store that hangs for minutes ends no connection.
func TestCloseWhileTheStoreHangs(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, request := range map[string]string{
		"the server looks": "", "a request": `{"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := store.Memory()
				records := &tokensHang{Records: db}
				r := newService(t, db, root, quiet, func(o *serve.Options) { o.Records = records })
				conn, _, err := r.lines(t)()
				if err != nil {
					t.Fatal(err)
				}
				defer conn.CloseNow()
				write := func(text string) {
					t.Helper()
					if err := conn.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
						t.Fatal(err)
					}
				}
				write(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
				if _, _, err := conn.Read(t.Context()); err != nil {
					t.Fatal(err)
				}
				answers := make(chan error, 2)
				go func() {
					for {
						_, _, err := conn.Read(t.Context())
						answers <- err
						if err != nil {
							return
						}
					}
				}()
				records.hang.Store(true)
				defer records.hang.Store(false)
				if request == "" {
					<-time.After(5*time.Minute + time.Second) // within a look
				} else {
					write(request)
				}
				synctest.Wait()
				if len(answers) > 0 || records.asked.Load() == 0 {
					t.Fatalf("%d answers; the store was asked %d times", len(answers), records.asked.Load())
				}
				began := time.Now()
				r.server.Close()
				if took := time.Since(began); took > time.Second {
					t.Errorf("Close took %v", took)
				}
				for err = <-answers; err == nil; err = <-answers {
				}
				// A ping may be under way beside the look: ending it ends the connection without
				// a close frame.
				if request != "" && websocket.CloseStatus(err) != websocket.StatusGoingAway {
					t.Errorf("the editor was told %v", err)
				}
			})
		})
	}
}

// The sessions that an editor has open count as streams of its user. One more is refused
// before anything is begun, and one that is closed makes room.
func TestEditorSessionsAreBounded(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	r := newRigIn(t, store.Memory(), root, func(o *serve.Options) { o.StreamsPerUser = 4 })
	ada := r.socketEditor(t, "ada", api.RoleOperator)
	for range 5 { // what fails takes no place
		err := ada.Call(t.Context(), schema.MethodAgentSessionLoad, schema.LoadSessionRequest{SessionID: "ada~none", Cwd: root}, nil)
		if e, ok := errors.AsType[*schema.Error](err); !ok || e.Code != schema.ErrorCodeResourceNotFound {
			t.Fatalf("%v", err)
		}
	}
	var ids []schema.SessionID
	for range 3 {
		ids = append(ids, ada.New(t, root))
	}
	refused := func(method string, params any) {
		t.Helper()
		err := ada.Call(t.Context(), method, params, nil)
		if e, ok := errors.AsType[*schema.Error](err); !ok || e.Code != schema.ErrorCodeInvalidRequest || !strings.Contains(e.Message, "session/close") {
			t.Errorf("%s: %v", method, err)
		}
	}
	refused(schema.MethodAgentSessionNew, schema.NewSessionRequest{Cwd: root})
	page := r.remote("ada", api.RoleOperator, nil)
	if list := must[api.List[api.Conversation]](t)(page.ConversationPage(t.Context(), api.ConversationQuery{})); len(list.Items) != 3 {
		t.Errorf("%d conversations", len(list.Items))
	}
	if err := ada.Call(t.Context(), schema.MethodAgentSessionClose, schema.CloseSessionRequest{SessionID: ids[0]}, nil); err != nil {
		t.Fatal(err)
	}
	ada.load(t, ids[0], root)
	if err := ada.Call(t.Context(), schema.MethodAgentSessionClose, schema.CloseSessionRequest{SessionID: ids[1]}, nil); err != nil {
		t.Fatal(err)
	}
	other := must[api.Conversation](t)(page.Create(t.Context(), api.NewConversation{Preset: "shop"}))
	ada.load(t, schema.SessionID(other.ID), root)
	refused(schema.MethodAgentSessionLoad, schema.LoadSessionRequest{SessionID: ids[1], Cwd: root})
	refused(schema.MethodAgentSessionResume, schema.ResumeSessionRequest{SessionID: ids[1], Cwd: root})
}
