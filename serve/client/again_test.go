package client_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/client"
)

type reply = func(*http.Request) (*http.Response, error)

// always is a script that gives the same answer so many times.
func always(r reply, times int) (all []reply) {
	for range times {
		all = append(all, r)
	}
	return all
}

// A request outlives a server that crashed while it worked on it: its key is held for a
// minute.
func TestCreateAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		held := func(req *http.Request) (*http.Response, error) {
			if time.Since(begin) < time.Minute {
				return says(http.StatusConflict, problemKind, `{"type":"/problems/in-progress","title":"Busy","status":409,"retry_after":1}`)(req)
			}
			return says(http.StatusCreated, "application/json", made)(req)
		}
		c, _ := scripted(t, append([]reply{lost("")}, always(held, 100)...)...)
		if own, err := c.Create(t.Context(), api.NewConversation{Preset: "shop"}); err != nil || own.ID != "ada~1" {
			t.Errorf("%+v, %v after %v", own, err, time.Since(begin))
		}
	})
}

// hangs is a server that takes a request and never answers.
func hangs(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, context.Cause(req.Context())
}

// A server that never answers is given up on, and the end of a context is the reason in
// the error.
func TestAttemptsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := scripted(t, hangs, hangs)
		begin := time.Now()
		if _, err := c.Info(t.Context()); err == nil || !strings.Contains(err.Error(), "did not answer") || time.Since(begin) > 5*time.Minute {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		c, _ = scripted(t, lost(""))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // less than the pause
		defer cancel()
		if _, err := c.Info(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the deadline: %v", err)
		}
	})
}

// A 404 means that an earlier attempt has deleted something only if one may have arrived,
// and never that a token or a login is revoked.
func TestDeletedBefore(t *testing.T) {
	gone := says(http.StatusNotFound, problemKind, `{"type":"/problems/not-found","title":"Gone","status":404}`)
	noConnection := func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	}
	synctest.Test(t, func(t *testing.T) {
		conversation := func(c *client.Client) error { return c.Delete(t.Context(), "x") }
		for name, tt := range map[string]struct {
			first []reply
			do    func(*client.Client) error
			done  bool
		}{
			"lost":                     {[]reply{lost("")}, conversation, true},
			"no connection":            {[]reply{noConnection}, conversation, false},
			"never a connection":       {[]reply{noConnection, noConnection}, conversation, false},
			"lost, then none":          {[]reply{lost(""), noConnection}, conversation, true},
			"lost, then none for long": {[]reply{lost(""), noConnection, noConnection, noConnection}, conversation, true},
			"none, then lost":          {[]reply{noConnection, lost("")}, conversation, true},
			"token":                    {[]reply{lost(""), noConnection}, func(c *client.Client) error { return c.RevokeToken(t.Context(), "x") }, false},
			"login":                    {[]reply{lost(""), noConnection}, func(c *client.Client) error { return c.EndLogin(t.Context(), "x") }, false},
		} {
			c, r := scripted(t, append(tt.first, gone)...)
			if err := tt.do(c); (err == nil) != tt.done || !tt.done && !isStatus(404)(err) || len(r.asked) != len(tt.first)+1 {
				t.Errorf("%s: %v after %d attempts", name, err, len(r.asked))
			}
		}
	})
}

// A mark at the end is not set again: the end may have moved on.
func TestMarkReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for seq, attempts := range map[int64]int{0: 1, 7: 2} {
			c, r := scripted(t, lost(""), says(http.StatusNoContent, "", ""))
			if err := c.MarkRead(t.Context(), "ada~1", api.ReadMark{Seq: seq}); (err == nil) != (attempts == 2) || len(r.asked) != attempts {
				t.Errorf("%d: %v after %d attempts", seq, err, len(r.asked))
			}
		}
	})
}

// A page of a proxy is not a patch.
func TestPatchIsAPatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := scripted(t, says(http.StatusOK, "text/html", "<p>log in"), says(http.StatusOK, "text/x-diff; charset=utf-8", "--- a\n"))
		if text, err := c.Patch(t.Context(), "ada~1", ""); err == nil {
			t.Errorf("a patch %q", text)
		}
		if text, err := c.Patch(t.Context(), "ada~1", ""); err != nil || text != "--- a\n" {
			t.Errorf("%q, %v", text, err)
		}
	})
}

// A server that refuses for longer than the patience is given up on, and asked only as
// often as it allows.
func TestFollowRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, tt := range map[string]struct {
			refuses reply
			most    int
		}{
			"problem": {says(http.StatusTooManyRequests, problemKind, `{"type":"/problems/limited","title":"Slowly","status":429,"retry_after":40}`), 3},
			"header": {func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"40"}}, Body: http.NoBody}, nil
			}, 3},
			"no wish": {says(http.StatusBadGateway, "text/html", "<p>oops"), 10},
		} {
			begin := time.Now()
			c, r := scripted(t, always(tt.refuses, 1000)...)
			_, err := collect(c, 0)
			if _, ok := errors.AsType[*api.Problem](err); !ok || len(r.asked) > tt.most || len(r.asked) < 2 || time.Since(begin) > 2*time.Minute {
				t.Errorf("%s: %v after %d attempts in %v", name, err, len(r.asked), time.Since(begin))
			}
		}
	})
}

// A server that is cut after each greeting is not asked in a storm.
func TestFollowNoStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		greeting := "event: partial\ndata: {}\n\n" + syncedFrame
		gone := says(http.StatusNotFound, problemKind, `{"type":"/problems/not-found","title":"Gone","status":404}`)
		c, r := scripted(t, append(always(says(http.StatusOK, stream, greeting), 10), gone)...)
		begin := time.Now()
		if _, err := collect(c, 0); !isStatus(404)(err) {
			t.Fatalf("%v after %d attempts", err, len(r.asked))
		}
		if took := time.Since(begin); took < time.Minute {
			t.Errorf("%d attempts in %v", len(r.asked), took)
		}
	})
}
