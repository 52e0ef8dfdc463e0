package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// framed is a WebSocket as the stream of lines that a driver writes.
type framed struct {
	conn   *websocket.Conn
	in     []byte
	pretty bool // sends each message over several lines
}

func (f *framed) Read(p []byte) (int, error) {
	if len(f.in) == 0 {
		kind, data, err := f.conn.Read(context.Background())
		if err != nil {
			return 0, io.EOF
		}
		if kind != websocket.MessageText || bytes.ContainsAny(data, "\r\n") {
			return 0, errors.New("a frame is not one message of text")
		}
		f.in = append(data, '\n')
	}
	n := copy(p, f.in)
	f.in = f.in[n:]
	return n, nil
}

func (f *framed) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		if f.pretty {
			var out bytes.Buffer
			if err := json.Indent(&out, bytes.TrimSpace(line), "", "\t"); err != nil {
				return 0, err
			}
			line = out.Bytes()
		}
		if err := f.conn.Write(context.Background(), websocket.MessageText, bytes.TrimSpace(line)); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// Close cuts the connection, as a machine that is switched off does.
func (f *framed) Close() error { return f.conn.CloseNow() }

// dial connects an editor.
func (r *rig) dial(ctx context.Context, header http.Header) (*websocket.Conn, *http.Response, error) {
	return websocket.Dial(ctx, r.http.URL+"/acp", &websocket.DialOptions{HTTPHeader: header})
}

func (r *rig) bearerOf(user string, role api.Role) http.Header {
	return http.Header{"Authorization": {"Bearer " + r.token(user, role)}}
}

// socketEditor is an editor that has introduced itself over a WebSocket.
func (r *rig) socketEditor(t *testing.T, user string, role api.Role) *editor {
	t.Helper()
	conn, _, err := r.dial(t.Context(), r.bearerOf(user, role))
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(-1)
	e, setup := editorSetup()
	e.Driver = drive.Connect(&framed{conn: conn, pretty: true}, setup)
	t.Cleanup(e.Close)
	if err := e.Call(t.Context(), schema.MethodAgentInitialize, schema.InitializeRequest{ProtocolVersion: 1}, nil); err != nil {
		t.Fatal(err)
	}
	return e
}

// An editor connects to the server itself, with the server's tokens and roles.
func TestEditorSocket(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	r := newRigIn(t, store.Memory(), root, nil)
	ada := r.socketEditor(t, "ada", api.RoleOperator)
	id := ada.New(t, root)
	ended := ada.begin(t, id, "tool 1")
	<-ada.asked
	ada.Close()

	again := r.socketEditor(t, "ada", api.RoleOperator)
	again.load(t, id, root)
	<-again.asked
	again.answers <- "allow-once"
	if text := again.until(t, "built"); text != "It says: built" || len(r.agent.ran()) != 1 {
		t.Errorf("said %q, ran %q", text, r.agent.ran())
	}
	<-ended
	if got := <-again.begin(t, id, "slowly, in pieces"); got != schema.StopReasonEndTurn || !strings.HasSuffix(again.Text(id), "You said: slowly, in pieces") {
		t.Errorf("ended %s, said %q", got, again.Text(id))
	}

	eve := r.socketEditor(t, "eve", api.RoleViewer)
	err := eve.Call(t.Context(), schema.MethodAgentSessionNew, schema.NewSessionRequest{Cwd: root}, nil)
	if e, ok := errors.AsType[*schema.Error](err); !ok || e.Code != schema.ErrorCodeInvalidRequest {
		t.Errorf("a viewer begins a session: %v", err)
	}
	err = eve.Call(t.Context(), schema.MethodAgentSessionLoad, schema.LoadSessionRequest{SessionID: id, Cwd: root}, nil)
	if e, ok := errors.AsType[*schema.Error](err); !ok || e.Code != schema.ErrorCodeResourceNotFound {
		t.Errorf("a conversation of another: %v", err)
	}
}

// Who may not connect is told so before the upgrade, and a page of another site may
// not, whatever its visitor may.
func TestEditorSocketRefused(t *testing.T) {
	t.Parallel()
	r := newRigIn(t, store.Memory(), t.TempDir(), func(o *serve.Options) {
		o.StreamsPerUser = 1
		o.Origins = []string{"https://app.example"} // for AG-UI, not for editors
	})
	token := r.bearerOf("ada", api.RoleViewer)
	with := func(name, value string) http.Header {
		h := token.Clone()
		h.Set(name, value)
		return h
	}
	for name, c := range map[string]struct {
		header http.Header
		status int
	}{
		"nobody":            {nil, http.StatusUnauthorized},
		"an unknown token":  {http.Header{"Authorization": {"Bearer nonsense"}}, http.StatusUnauthorized},
		"another site":      {with("Origin", "https://evil.example"), http.StatusForbidden},
		"a site for AG-UI":  {with("Origin", "https://app.example"), http.StatusForbidden},
		"no origin at all":  {with("Origin", "null"), http.StatusForbidden},
		"another host name": {with("Host", "evil.example"), http.StatusMisdirectedRequest},
	} {
		conn, res, err := websocket.Dial(t.Context(), r.http.URL+"/acp", &websocket.DialOptions{HTTPHeader: c.header, Host: c.header.Get("Host")})
		if err == nil {
			conn.CloseNow()
			t.Errorf("%s: connected", name)
			continue
		}
		if res == nil || res.StatusCode != c.status {
			t.Errorf("%s: %v, %v, want %d", name, res, err, c.status)
		}
	}
	conn, _, err := r.dial(t.Context(), with("Origin", r.http.URL)) // the server's own page
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	if _, res, err := r.dial(t.Context(), token); err == nil || res.StatusCode != http.StatusTooManyRequests {
		t.Errorf("one more than a user may have: %v, %v", res, err)
	}
	// More than a message may have ends the connection, and gives its place back.
	conn.Write(t.Context(), websocket.MessageText, bytes.Repeat([]byte("x"), 20<<20+1))
	if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("a message that is too big: %v", err)
	}
	for {
		next, res, err := r.dial(t.Context(), token)
		if err == nil {
			next.CloseNow()
			return
		}
		if res == nil || res.StatusCode != http.StatusTooManyRequests {
			t.Fatal(err)
		}
		runtime.Gosched()
	}
}

// A revoked token does nothing more, and a server that stops announces it.
func TestEditorSocketEnds(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	r := newRigIn(t, store.Memory(), root, nil)
	ada := r.socketEditor(t, "ada", api.RoleOperator)
	id := ada.New(t, root)
	admin := r.remote("root", api.RoleAdmin, nil)
	for _, token := range must[[]api.TokenInfo](t)(admin.Tokens(t.Context())) {
		if token.User == "ada" {
			if err := admin.RevokeToken(t.Context(), token.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, err := ada.Prompt(t.Context(), id, "tool 1")
	if e, ok := errors.AsType[*schema.Error](err); !ok || e.Code != schema.ErrorCodeAuthenticationRequired {
		t.Errorf("with a token that was revoked: %v", err)
	}
	conn, _, err := r.dial(t.Context(), r.bearerOf("bob", api.RoleViewer))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	go r.server.Close()
	if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("a server that stops: %v", err)
	}
}

// Many editors connect, prompt and vanish: nothing of them is left, and what they
// prompted is answered.
func TestEditorsVanish(t *testing.T) {
	many := long.Pick(40, 500)
	root := t.TempDir()
	r := newRigFleet(t, store.Memory(), root, func(o *fleet.Options) {
		o.Gate, o.MaxLive, o.IdleAfter, o.Poll = &approval.Options{Patience: time.Hour}, 16, time.Millisecond, 50*time.Millisecond
	}, func(o *serve.Options) { o.StreamsPerUser = 8 * many }) // a busy server is late to notice who has left
	vanish := func(n int) {
		var all sync.WaitGroup
		room := make(chan struct{}, 16)
		for i := range n {
			room <- struct{}{}
			all.Go(func() {
				defer func() { <-room }()
				conn, _, err := r.dial(t.Context(), r.bearerOf("ada", api.RoleOperator))
				if err != nil {
					t.Error(err)
					return
				}
				heard := make(chan struct{}, 100)
				d := drive.Connect(&framed{conn: conn}, drive.Setup{OnUpdate: func(schema.SessionID, schema.SessionUpdate) {
					select {
					case heard <- struct{}{}:
					default:
					}
				}})
				defer d.Close()
				var made schema.NewSessionResponse
				err = errors.Join(d.Call(t.Context(), schema.MethodAgentInitialize, schema.InitializeRequest{ProtocolVersion: 1}, nil),
					d.Call(t.Context(), schema.MethodAgentSessionNew, schema.NewSessionRequest{Cwd: root}, &made))
				if err != nil {
					t.Error(err)
					return
				}
				go d.Prompt(context.Background(), made.SessionID, "slowly, so that the turn is running when its editor is gone")
				if i%2 == 0 { // the others vanish before or after the server has the prompt
					<-heard
				}
			})
		}
		all.Wait()
	}
	r.token("ada", api.RoleOperator)
	page := r.remote("ada", api.RoleOperator, nil)
	turns := 0
	settled := func() (goroutines int, heap uint64) {
		for end := time.Now().Add(60 * time.Second); ; <-time.After(20 * time.Millisecond) {
			busy := 0
			turns = 0
			for c, err := range page.Conversations(t.Context(), api.ConversationQuery{Limit: 200}) {
				if err != nil {
					t.Fatal(err)
				}
				if turns += c.Turns; c.State != api.StateIdle {
					busy++
				}
			}
			if busy == 0 {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%d conversations are busy", busy)
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return runtime.NumGoroutine(), m.HeapAlloc
	}
	vanish(20)
	goroutines, heap := settled()
	vanish(many)
	var left int
	var now uint64
	for end := time.Now().Add(30 * time.Second); ; <-time.After(20 * time.Millisecond) {
		if left, now = settled(); left <= goroutines+20 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, before there were %d", left, goroutines)
		}
	}
	each := (int64(now) - int64(heap)) / int64(many)
	t.Logf("%d turns; %d goroutines, before there were %d; %d bytes for each conversation, which is stored in memory", turns, left, goroutines, each)
	if turns < (many+20)/2 {
		t.Errorf("%d turns have ended, want those of all prompts that were accepted", turns)
	}
	if each > 200<<10 {
		t.Errorf("each editor has left %d bytes", each)
	}
}
