package serve_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
	remote "github.com/claude-agent-go/claude/serve/client"
	"github.com/claude-agent-go/claude/store"
)

// remote makes requests as a user, by the Go client.
func (r *rig) remote(user string, role api.Role, transport http.RoundTripper) *remote.Client {
	r.t.Helper()
	c, err := remote.New(remote.Options{URL: r.http.URL, Token: r.token(user, role), HTTP: &http.Client{Transport: transport}})
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// must fails the test if there is an error.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// forgetful loses the answer to the first POST, which the server has worked on.
type forgetful struct{ posts atomic.Int32 }

func (f *forgetful) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && r.Method == http.MethodPost && f.posts.Add(1) == 1 {
		_ = res.Body.Close()
		return nil, errors.New("connection reset by peer")
	}
	return res, err
}

// The Go client goes the whole way: what it creates is created once although an answer
// was lost, and what it follows is whole although every connection is cut.
func TestClientWholeWay(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ctx := t.Context()
	ada := r.remote("ada", api.RoleOperator, &forgetful{})
	own := must[api.Conversation](t)(ada.Create(ctx, api.NewConversation{Preset: "shop", Content: api.Text("tool 1")}))
	var asked api.Approval
	var whole []int64
	for e, err := range ada.Follow(ctx, own.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Seq > 0 {
			whole = append(whole, e.Seq)
		}
		if e.Type == api.EventApproval && e.Approval.State == api.ApprovalPending {
			asked = must[api.Approval](t)(ada.Approval(ctx, e.Approval.ID))
			must[api.Approval](t)(ada.Decide(ctx, asked.ID, api.Decision{Decision: api.DecideAllow, Digest: asked.Digest}))
		}
		if e.Type == api.EventTurn {
			if e.Turn.State != api.PromptAnswered || !e.Turn.State.Done() {
				t.Errorf("%+v", e.Turn)
			}
			break
		}
	}
	count := 0
	for c, err := range ada.Conversations(ctx, api.ConversationQuery{Limit: 1}) {
		if count++; err != nil || c.ID != own.ID {
			t.Errorf("%+v, %v", c, err)
		}
	}
	if count != 1 {
		t.Errorf("%d conversations", count)
	}
	_, err := ada.Decide(ctx, asked.ID, api.Decision{Decision: api.DecideDeny, Digest: asked.Digest})
	if p, ok := errors.AsType[*api.Problem](err); !ok || p.Type != "/problems/already-decided" || p.Approval == nil || p.Approval.DecidedBy != "ada" {
		t.Errorf("the second decision: %v", err)
	}
	sent := must[api.Prompt](t)(ada.Send(ctx, own.ID, api.NewPrompt{Content: api.Text("hello <again>")}))
	if sent.Text != "hello <again>" {
		t.Errorf("%+v", sent)
	}
	followCut(t, r, own.ID, whole)

	root := r.remote("root", api.RoleAdmin, nil)
	made := must[api.CreatedToken](t)(root.IssueToken(ctx, api.NewToken{Name: "ci", User: "bob", Role: api.RoleViewer}))
	if err := root.RevokeToken(ctx, made.ID); err != nil {
		t.Error(err)
	}
	if slices.ContainsFunc(must[[]api.TokenInfo](t)(root.Tokens(ctx)), func(i api.TokenInfo) bool { return i.ID == made.ID }) {
		t.Error("the token is still there")
	}
	for _, err := range r.remote("bob", api.RoleOperator, nil).Follow(ctx, own.ID, 0) {
		if p, ok := errors.AsType[*api.Problem](err); !ok || p.Status != http.StatusNotFound {
			t.Errorf("what belongs to another: %v", err)
		}
	}
}

// followCut follows a conversation while the first connection is cut after some bytes,
// many times.
func followCut(t *testing.T, r *rig, id string, want []int64) {
	t.Helper()
	for size := 1; size < 8000; size += 199 {
		connections := 0
		transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if connections++; err == nil && connections == 1 {
				conn = &shortConn{conn, size}
			}
			return conn, err
		}}
		var seqs []int64
		for e, err := range r.remote("ada", api.RoleOperator, transport).Follow(t.Context(), id, 0) {
			if err != nil {
				t.Fatalf("cut after %d bytes: %v", size, err)
			}
			if e.Seq > 0 {
				seqs = append(seqs, e.Seq)
			}
			if len(seqs) == len(want) {
				break
			}
		}
		if !slices.Equal(seqs, want) {
			t.Fatalf("cut after %d bytes: %v, want %v", size, seqs, want)
		}
	}
}

// shortConn is a connection from which only so many bytes come.
type shortConn struct {
	net.Conn
	left int
}

func (c *shortConn) Read(b []byte) (int, error) {
	if c.left == 0 {
		_ = c.Close()
		return 0, io.EOF
	}
	n, err := c.Conn.Read(b[:min(len(b), c.left)])
	c.left -= n
	return n, err
}
