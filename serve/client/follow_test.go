package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/client"
)

// recorded holds the events of a turn that a server has sent.
var recorded = []string{
	"event: prompt\nid: 1\ndata: {\"seq\":1,\"at\":\"2026-11-17T10:00:00Z\",\"prompt\":{\"id\":\"p\",\"state\":\"queued\",\"by\":\"ada\",\"text\":\"Grüße 😀\"}}\n\n",
	"event: message\nid: 2\ndata: {\"seq\":2,\"at\":\"2026-11-17T10:00:01Z\",\"message\":{\"type\":\"user\",\"message\":{\"content\":\"Grüße 😀\\n\\nid: 7\"}}}\n\n",
	"event: approval\nid: 3\ndata: {\"seq\":3,\"at\":\"2026-11-17T10:00:02Z\",\"approval\":{\"id\":\"a\",\"kind\":\"tool\",\"tool\":\"Bash\",\"tool_use_id\":\"t\",\"title\":\"make\",\"state\":\"pending\"}}\n\n",
	"event: message\nid: 4\ndata: {\"seq\":4,\"at\":\"2026-11-17T10:00:03Z\",\"message\":{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"€\"}]}}}\n\n",
	"event: turn\nid: 5\ndata: {\"seq\":5,\"at\":\"2026-11-17T10:00:04Z\",\"turn\":{\"prompt\":\"p\",\"state\":\"answered\",\"cost_usd\":0.5,\"ended\":\"2026-11-17T10:00:04Z\"}}\n\n",
}

const (
	retryFrame  = "retry: 1\n\n"
	syncedFrame = "event: synced\ndata: {}\n\n"
	pingFrame   = "event: ping\ndata: {\"at\":\"2026-11-17T10:00:04Z\"}\n\n"
)

// streamed returns what the server sends after an event's number.
func streamed(after int) string {
	return retryFrame + strings.Join(recorded[after:], "") + syncedFrame + pingFrame
}

// stored serves the recording.
func stored(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.Atoi(r.URL.Query().Get("after"))
	if err != nil || r.Header.Get("Authorization") != "Bearer "+secret {
		http.Error(w, "what?", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, streamed(after))
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

const secret = "cst_0123456789abcdef"

// cutConn is a connection from which only so many bytes come.
type cutConn struct {
	net.Conn
	left int
}

func (c *cutConn) Read(b []byte) (int, error) {
	if c.left == 0 {
		_ = c.Close()
		return 0, io.EOF
	}
	n, err := c.Conn.Read(b[:min(len(b), c.left)])
	c.left -= n
	return n, err
}

// dial makes a client whose connections are cut: limit returns after how many
// bytes, by the number of the connection; negative is never.
func dial(t *testing.T, server string, limit func(connection int) int) *client.Client {
	t.Helper()
	n := -1
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if n++; err == nil && limit(n) >= 0 {
			conn = &cutConn{conn, limit(n)}
		}
		return conn, err
	}}
	c, err := client.New(client.Options{URL: server, Token: secret, HTTP: &http.Client{Transport: transport}, Patience: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// followed returns the numbers of the events up to the end of the turn, and how often
// the end of what was stored came.
func followed(t *testing.T, c *client.Client) (seqs []int64, synced int) {
	t.Helper()
	for e, err := range c.Follow(t.Context(), "ada~1", 0) {
		if err != nil {
			t.Fatalf("after %v: %v", seqs, err)
		}
		if e.Seq > 0 {
			seqs = append(seqs, e.Seq)
		}
		if e.Type == api.EventSynced {
			synced++
			break
		}
	}
	return seqs, synced
}

// A stream that is cut after any number of bytes, even in the head of the answer, is
// continued: each event comes once and in order.
func TestFollowCutAtEveryByte(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(stored))
	t.Cleanup(server.Close)
	want := []int64{1, 2, 3, 4, 5}
	size, step := 0, long.Pick(11, 1)
	dial := func(limit func(int) int) *client.Client { return dial(t, server.URL, limit) }
	// The first connection is cut.
	for size = len(streamed(0)) + 600; size > 0; size -= step {
		if seqs, synced := followed(t, dial(func(n int) int {
			if n == 0 {
				return size
			}
			return -1
		})); !slices.Equal(seqs, want) || synced != 1 {
			t.Fatalf("cut after %d bytes: %v, synced %d times", size, seqs, synced)
		}
	}
	// Every connection is cut, but each lets an event through.
	longest := 0
	for _, frame := range recorded {
		longest = max(longest, len(frame))
	}
	for size = longest + 600; size < len(streamed(0))+600; size += step {
		if seqs, synced := followed(t, dial(func(int) int { return size })); !slices.Equal(seqs, want) || synced != 1 {
			t.Fatalf("each cut after %d bytes: %v, synced %d times", size, seqs, synced)
		}
	}
}

// replies is a transport that answers from a script, and then not at all.
type replies struct {
	all   []func(*http.Request) (*http.Response, error)
	asked []*http.Request
}

func (r *replies) RoundTrip(req *http.Request) (*http.Response, error) {
	r.asked = append(r.asked, req)
	if len(r.asked) > len(r.all) {
		return nil, errors.New("connection refused")
	}
	return r.all[len(r.asked)-1](req)
}

// says returns an answer with a body.
func says(status int, kind, body string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

// silent is an answer whose body begins and then stalls until it is closed, or the
// request ends.
func silent(body string) func(*http.Request) (*http.Response, error) {
	return func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(io.MultiReader(strings.NewReader(body), &hanging{req.Context()}))}, nil
	}
}

type hanging struct{ ctx context.Context }

func (h *hanging) Read([]byte) (int, error) {
	<-h.ctx.Done()
	return 0, context.Cause(h.ctx)
}

// alive is a body that sends a ping every ten seconds, for so many times.
type alive struct {
	ctx  context.Context
	left int
}

func (a *alive) Read(b []byte) (int, error) {
	if a.left--; a.left < 0 {
		return 0, io.EOF
	}
	select {
	case <-a.ctx.Done():
		return 0, context.Cause(a.ctx)
	case <-time.After(10 * time.Second):
		return copy(b, pingFrame), nil
	}
}

// A stream with nothing but pings is not cut.
func TestFollowPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r := scripted(t, func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {stream}}, Body: io.NopCloser(&alive{req.Context(), 60})}, nil
		}, says(http.StatusOK, stream, streamed(0)))
		begin := time.Now()
		for e, err := range c.Follow(t.Context(), "ada~1", 0) {
			if err != nil || e.Seq != 1 {
				t.Fatalf("%+v, %v", e, err)
			}
			break
		}
		if took := time.Since(begin); took < 10*time.Minute || len(r.asked) != 2 {
			t.Errorf("%d requests in %v", len(r.asked), took)
		}
	})
}

const stream = "text/event-stream"

// scripted makes a client that is answered by a script.
func scripted(t *testing.T, all ...func(*http.Request) (*http.Response, error)) (*client.Client, *replies) {
	t.Helper()
	r := &replies{all: all}
	c, err := client.New(client.Options{URL: "https://agents.example", Token: secret, HTTP: &http.Client{Transport: r}})
	if err != nil {
		t.Fatal(err)
	}
	return c, r
}

// collect follows to the end and returns what came and the error.
func collect(c *client.Client, after int64) (events []string, err error) {
	for e, oops := range c.Follow(context.Background(), "ada~1", after) {
		if oops != nil {
			return events, oops
		}
		events = append(events, fmt.Sprintf("%s %d", e.Type, e.Seq))
	}
	return events, nil
}

// A silent stream, without even a ping, is abandoned and reopened. A server that
// does not come back is given up after a minute.
func TestFollowSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r := scripted(t, silent(streamed(3)), silent(""), silent(streamed(5)))
		begin := time.Now()
		events, err := collect(c, 3)
		if got := strings.Join(events, ","); got != "message 4,turn 5,synced 0" {
			t.Errorf("%s", got)
		}
		if err == nil || !strings.Contains(err.Error(), "did not answer") || strings.Contains(err.Error(), secret) {
			t.Errorf("the error is %v", err)
		}
		if took := time.Since(begin); took < time.Minute || took > 5*time.Minute {
			t.Errorf("it took %v", took)
		}
		for i, want := range []string{"3", "5", "5", "5"} {
			if got := r.asked[i].URL.Query().Get("after"); got != want {
				t.Errorf("request %d asks for what is after %s, want %s", i, got, want)
			}
		}
	})
}

// A stream that hangs before its first event is abandoned as well, even if the server has
// said how long to wait before the next.
func TestFollowHangsFromTheBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r := scripted(t, silent(retryFrame), silent(streamed(3)))
		events, err := collect(c, 3)
		if got := strings.Join(events, ","); got != "message 4,turn 5,synced 0" || err == nil || len(r.asked) < 2 {
			t.Errorf("%s by %d requests, then %v", got, len(r.asked), err)
		}
	})
}

// Some answers of a server end a stream, others do not.
func TestFollowAnswers(t *testing.T) {
	gone := says(http.StatusNotFound, "application/problem+json", `{"type":"/problems/not-found","title":"It does not exist","status":404,"detail":"check the id"}`)
	gap := "event: notice\nid: 9\ndata: {\"seq\":9,\"notice\":{\"text\":\"x\"}}\n\n"
	for name, tt := range map[string]struct {
		script []func(*http.Request) (*http.Response, error)
		want   string
		check  func(error) bool
	}{
		"refused":     {[]func(*http.Request) (*http.Response, error){gone}, "", isStatus(404)},
		"goodbye":     {[]func(*http.Request) (*http.Response, error){says(200, stream, recorded[0]+"event: bye\ndata: {\"reason\":\"the server stops\"}\n\n"), says(503, "text/html", "<p>no"), says(200, stream, streamed(1)), gone}, "prompt 1,message 2,approval 3,message 4,turn 5,synced 0", isStatus(404)},
		"reset":       {[]func(*http.Request) (*http.Response, error){says(200, stream, "event: reset\ndata: {\"reason\":\"too old\"}\n\n")}, "", func(err error) bool { return errors.Is(err, client.ErrReset) }},
		"again":       {[]func(*http.Request) (*http.Response, error){says(200, stream, recorded[0]+recorded[0]+recorded[1]), gone}, "prompt 1,message 2", isStatus(404)},
		"a gap":       {[]func(*http.Request) (*http.Response, error){says(200, stream, recorded[0]+gap), gone}, "prompt 1", isStatus(404)},
		"not events":  {[]func(*http.Request) (*http.Response, error){says(200, "text/html", "<p>hello")}, "", func(err error) bool { return strings.Contains(err.Error(), "not a stream") }},
		"not JSON":    {[]func(*http.Request) (*http.Response, error){says(200, stream, "event: notice\nid: 1\ndata: {\n\n")}, "", func(err error) bool { return strings.Contains(err.Error(), "not what the API says") }},
		"other lines": {[]func(*http.Request) (*http.Response, error){says(200, stream, ": hello\r\nevent:prompt\r\nfuture: x\r\nid:1\r\ndata:{\"seq\":1,\r\ndata:\"future\":2}\r\n\r\n"), gone}, "prompt 1", isStatus(404)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := scripted(t, tt.script...)
				events, err := collect(c, 0)
				if got := strings.Join(events, ","); got != tt.want || err == nil || !tt.check(err) {
					t.Errorf("%s, then %v; want %s", got, err, tt.want)
				}
			})
		})
	}
}

// Leaving the loop ends the request, and the end of the context is reported.
func TestFollowIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r := scripted(t, silent(streamed(0)), silent(streamed(0)))
		for range c.Follow(t.Context(), "ada~1", 0) {
			break
		}
		if r.asked[0].Context().Err() == nil {
			t.Error("the request continues")
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		over := errors.New("enough")
		var last error
		for e, err := range c.Follow(ctx, "ada~1", 0) {
			if last = err; e.Type == api.EventSynced {
				cancel(over)
			}
		}
		if !errors.Is(last, over) {
			t.Errorf("the error is %v", last)
		}
	})
}

// isStatus checks that an error is a problem with a status.
func isStatus(status int) func(error) bool {
	return func(err error) bool {
		p, ok := errors.AsType[*api.Problem](err)
		return ok && p.Status == status
	}
}

// The body of the loop may take its time: a healthy stream is not cut meanwhile, and what
// comes after a pause longer than the patience is followed as before.
func TestFollowSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r := scripted(t, silent(recorded[0]+recorded[1]), says(http.StatusOK, stream, streamed(2)))
		var seqs []int64
		for e, err := range c.Follow(t.Context(), "ada~1", 0) {
			if err != nil {
				t.Fatalf("after %v: %v", seqs, err)
			}
			if e.Type == api.EventSynced {
				break
			}
			seqs = append(seqs, e.Seq)
			<-time.After(10 * time.Minute)
			if e.Seq == 1 && r.asked[0].Context().Err() != nil {
				t.Error("the stream is cut while the body works")
			}
		}
		if !slices.Equal(seqs, []int64{1, 2, 3, 4, 5}) || len(r.asked) != 2 {
			t.Errorf("%v by %d requests", seqs, len(r.asked))
		}
	})
}
