package page_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
)

// Opening a conversation starts nothing. The focus of its composer starts the agent, and
// asks for that once, however often it comes back.
func TestComposerPrewarms(t *testing.T) {
	var starts, posts atomic.Int32
	r := newRig(t, func(o *fleet.Options) {
		usual := o.Session
		o.IdleAfter = time.Second
		o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
			starts.Add(1)
			return usual(ctx, key)
		}
	})
	b := chromium.Open(t)
	r.open(b)
	path := r.begin("shop-api", "Summarise the open issues")
	r.settled(path)
	key := strings.Replace(strings.TrimPrefix(path, "/c/"), "~", "/", 1)
	until(t, b, "its sleep", func() bool {
		info, err := r.fleet.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return info.State == fleet.StateAsleep
	})
	answered := make(chan int, 10)
	front := func(w http.ResponseWriter, req *http.Request) bool {
		if !strings.HasSuffix(req.URL.Path, "/prewarm") {
			return false
		}
		posts.Add(1)
		if req.Method != http.MethodPost || req.URL.Path != path+"/prewarm" {
			t.Errorf("%s %s", req.Method, req.URL)
		}
		reply := httptest.NewRecorder()
		r.server.ServeHTTP(reply, req)
		answered <- reply.Code
		w.WriteHeader(http.StatusNoContent)
		return true
	}
	r.front.Store(&front)
	before := starts.Load()
	b.Load(t, r.http.URL+path)
	b.Wait(t, `document.getElementById("prompt")`)
	b.Want(t, `document.activeElement.id`, "")
	if posts.Load() != 0 {
		t.Error("the page starts the agent before its composer has the focus")
	}
	b.Eval(t, `document.getElementById("prompt").focus()`)
	if status := <-answered; status >= 400 {
		t.Errorf("status %d", status)
	}
	for range 3 {
		b.Eval(t, `document.getElementById("prompt").blur(); document.getElementById("prompt").focus(); new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))`)
	}
	b.Eval(t, `fetch("/static/page.css").then(r => r.text())`) // behind what the focus has sent
	if posts.Load() != 1 || starts.Load() != before+1 {
		t.Errorf("%d requests, %d starts", posts.Load(), starts.Load()-before)
	}
	complaints(t, r, b)
}
