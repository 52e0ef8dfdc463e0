package client_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/client"
)

// A client is not made for an address that would reveal the token, or that is not
// valid.
func TestNewRefuses(t *testing.T) {
	for _, o := range []client.Options{
		{}, {URL: "agents.example", Token: secret}, {URL: "ftp://agents.example", Token: secret}, {URL: "https://", Token: secret},
		{URL: "http://agents.example", Token: secret}, {URL: "http://127.0.0.1.example", Token: secret}, {URL: "http://localhost.example", Token: secret}, {URL: "https://ada:pw@agents.example", Token: secret},
		{URL: "https://agents.example/v1", Token: secret}, {URL: "https://agents.example?t=" + secret, Token: secret},
		{URL: "https://agents.example"}, {URL: "https://agents.example", Token: secret + "\n"}, {URL: "https://agents.example\x7f/" + secret, Token: secret},
	} {
		if _, err := client.New(o); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", o.URL, err)
		}
	}
	for _, o := range []client.Options{
		{URL: "https://agents.example/", Token: secret}, {URL: "http://127.0.0.1:8080", Token: secret}, {URL: "http://[::1]:8080", Token: secret},
		{URL: "http://localhost", Token: secret}, {URL: "http://agents.example", Token: secret, Insecure: true},
	} {
		if _, err := client.New(o); err != nil {
			t.Errorf("%q: %v", o.URL, err)
		}
	}
}

const (
	problemKind = "application/problem+json"
	made        = `{"id":"ada~1","title":"hello","state":"idle","labels":[],"future":[1]}`
)

// lost is an answer that never comes, or ends in its middle.
func lost(body string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		if body == "" {
			return nil, errors.New("connection reset by peer")
		}
		return &http.Response{StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(io.MultiReader(strings.NewReader(body), failing{}))}, nil
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// A creation whose answer is lost is sent again with the same key and the same body,
// even when the server is still at work on the first.
func TestCreateAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := says(http.StatusConflict, problemKind, `{"type":"/problems/in-progress","title":"Busy","status":409,"retry_after":1}`)
		c, r := scripted(t, lost(""), busy, lost(made[:10]), says(http.StatusBadGateway, "text/html", "<p>oops"), busy, says(http.StatusCreated, "application/json", made))
		begin := time.Now()
		own, err := c.Create(t.Context(), api.NewConversation{Preset: "shop", Content: api.Text("hello")})
		if err != nil || own.ID != "ada~1" || own.State != api.StateIdle {
			t.Fatalf("%+v, %v", own, err)
		}
		if took := time.Since(begin); took < 2*time.Second || took > 20*time.Second {
			t.Errorf("it took %v", took)
		}
		key := r.asked[0].Header.Get("Idempotency-Key")
		for i, req := range r.asked {
			body, err := io.ReadAll(req.Body)
			if err != nil || !bytes.Contains(body, []byte(`"content":"hello"`)) || req.Header.Get("Idempotency-Key") != key || len(key) < 16 {
				t.Errorf("attempt %d: key %q, %s, %v", i, req.Header.Get("Idempotency-Key"), body, err)
			}
		}
		if len(r.asked) != 6 {
			t.Errorf("%d attempts", len(r.asked))
		}
		if _, err := c.Create(t.Context(), api.NewConversation{Preset: "shop"}); err == nil {
			t.Fatal("a server that is gone has made a conversation")
		}
		if other := r.asked[6].Header.Get("Idempotency-Key"); other == key {
			t.Error("another request has the same key")
		}
	})
}

// A request that is not idempotent is sent once; a deletion may find that it has
// already taken effect.
func TestSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r := scripted(t, lost(""))
		if _, err := c.IssueToken(t.Context(), api.NewToken{Name: "x", Role: api.RoleViewer}); err == nil || len(r.asked) != 1 || r.asked[0].Header.Get("Idempotency-Key") != "" {
			t.Errorf("a token: %v after %d attempts", err, len(r.asked))
		}
		c, r = scripted(t, lost(""))
		if _, err := c.Change(t.Context(), "ada~1", api.Change{}); err == nil || len(r.asked) != 1 {
			t.Errorf("a change: %v after %d attempts", err, len(r.asked))
		}
		gone := says(http.StatusNotFound, problemKind, `{"type":"/problems/not-found","title":"Gone","status":404}`)
		c, _ = scripted(t, lost(""), gone)
		if err := c.Delete(t.Context(), "ada~1"); err != nil {
			t.Errorf("a deletion: %v", err)
		}
		c, _ = scripted(t, gone)
		if err := c.Delete(t.Context(), "ada~1"); !isStatus(404)(err) {
			t.Errorf("nothing to delete: %v", err)
		}
	})
}

// An interrupt that may have happened is not sent again: it would hit the next turn. A
// prompt is, because its key makes its id.
func TestInterruptInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		doubt := says(http.StatusServiceUnavailable, problemKind, `{"type":"/problems/store-silent","title":"Silent","status":503,"retry_after":5}`)
		c, r := scripted(t, doubt, says(http.StatusNoContent, "", ""))
		if err := c.Interrupt(t.Context(), "ada~1"); !isStatus(503)(err) || len(r.asked) != 1 {
			t.Errorf("%v after %d attempts", err, len(r.asked))
		}
		c, r = scripted(t, doubt, says(http.StatusAccepted, "application/json", `{"id":"p"}`))
		if _, err := c.Send(t.Context(), "ada~1", api.NewPrompt{}); err != nil || len(r.asked) != 2 {
			t.Errorf("%v after %d attempts", err, len(r.asked))
		}
	})
}

// Problems are typed, even those of a proxy in between; a refused request is not
// sent again, and no error contains the token.
func TestProblems(t *testing.T) {
	for name, tt := range map[string]struct {
		reply    func(*http.Request) (*http.Response, error)
		status   int
		kind     string
		attempts int
	}{
		"of the server": {says(http.StatusConflict, problemKind, `{"type":"/problems/already-decided","title":"Somebody else has decided","status":409,"detail":"bob","approval":{"id":"a","state":"denied"}}`), 409, "/problems/already-decided", 1},
		"full":          {says(http.StatusTooManyRequests, problemKind, `{"type":"/problems/full","title":"Full","status":429,"retry_after":3}`), 429, "/problems/full", 1},
		"of a proxy":    {says(http.StatusForbidden, "text/html", "<p>no: "+secret), 403, "about:blank", 1},
		"redirect": {func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {"https://evil.example/"}}, Body: http.NoBody}, nil
		}, 302, "about:blank", 1},
		"other status": {says(http.StatusNotFound, problemKind, `{"type":"x","title":"x","status":200}`), 404, "about:blank", 1},
		"not JSON":     {says(http.StatusNotFound, problemKind, `{`), 404, "about:blank", 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, r := scripted(t, tt.reply)
				_, err := c.Decide(t.Context(), "a", api.Decision{Decision: api.DecideAllow})
				p, ok := errors.AsType[*api.Problem](err)
				if !ok || p.Status != tt.status || p.Type != tt.kind || len(r.asked) != tt.attempts {
					t.Fatalf("%v (%+v) after %d attempts", err, p, len(r.asked))
				}
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error has the token: %v", err)
				}
				if tt.status == 409 && (p.Approval == nil || p.Approval.State != api.ApprovalDenied) {
					t.Errorf("%+v", p)
				}
			})
		})
	}
}

// endless is a body without an end.
type endless struct{ read int }

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	e.read += len(b)
	return len(b), nil
}

// An answer without an end is given up.
func TestAnswersAreBounded(t *testing.T) {
	for name, head := range map[string]http.Header{"JSON": {"Content-Type": {"application/json"}}, "problem": {"Content-Type": {problemKind}}, "stream": {"Content-Type": {stream}}} {
		t.Run(name, func(t *testing.T) {
			body := &endless{}
			status := http.StatusOK
			if name == "problem" {
				status = http.StatusNotFound
			}
			c, _ := scripted(t, func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: status, Header: head, Body: io.NopCloser(body)}, nil
			})
			var err error
			if name == "stream" {
				_, err = collect(c, 0)
			} else {
				_, err = c.Info(t.Context())
			}
			if err == nil || body.read > 70<<20 {
				t.Errorf("%v after %d bytes", err, body.read)
			}
		})
	}
}

// A list is all of its pages, and its parameters are those of the query.
func TestPages(t *testing.T) { synctest.Test(t, testPages) }

func testPages(t *testing.T) {
	c, r := scripted(t,
		says(200, "application/json", `{"items":[{"id":"3"},{"id":"2"}],"next":"abc"}`),
		says(200, "application/json", `{"items":[{"id":"1"}]}`))
	var ids string
	for a, err := range c.Approvals(t.Context(), api.ApprovalQuery{State: api.ApprovalPending, Text: "a&b", Limit: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		ids += a.ID
	}
	if ids != "321" || len(r.asked) != 2 {
		t.Errorf("%s by %d requests", ids, len(r.asked))
	}
	if got := r.asked[1].URL.String(); got != "https://agents.example/v1/approvals?cursor=abc&limit=2&q=a%26b&state=pending" {
		t.Errorf("the second page is %s", got)
	}
	for _, err := range c.Conversations(t.Context(), api.ConversationQuery{}) {
		if err == nil {
			t.Error("a conversation from nowhere")
		}
	}
}
