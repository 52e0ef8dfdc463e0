package page_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/browser"
)

// isStream reports whether a request is for a stream of events.
func isStream(r *http.Request) bool {
	return r.URL.Path == "/v1/feed" || strings.HasSuffix(r.URL.Path, "/events")
}

// until waits for what the browser does to the server.
func until(t *testing.T, b *browser.Browser, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not come", what)
		}
		b.Eval(t, `new Promise(done => setTimeout(done, 20))`) // between two looks at another process
	}
}

// A browser gives an EventSource up for good when it is answered with anything but
// 200. The page makes a new one, whatever a proxy or a server that starts has
// answered, and then has all that it missed.
func TestStreamRefused(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	for i, status := range []int{http.StatusNoContent, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable} {
		var refused, reached atomic.Int64
		front := func(w http.ResponseWriter, req *http.Request) bool {
			if !isStream(req) {
				return false
			}
			if refused.Add(1) == 1 {
				w.WriteHeader(status)
				return true
			}
			reached.Add(1)
			return false
		}
		r.front.Store(&front)
		b.Load(t, r.http.URL+"/")
		until(t, b, fmt.Sprint("a new stream after ", status), func() bool { return reached.Load() > 0 })
		r.begin("shop-api", "Clean up the build")
		b.Wait(t, fmt.Sprintf(`document.querySelectorAll(".card [data-key-a]").length === %d && document.getElementById("connection").hidden`, i+1))
	}
	complaints(t, r, b, "Failed to load resource")
}

// When the server no longer has the place at which a page was, the page loads the
// conversation again and continues after it, with everything shown once.
func TestStreamReset(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	path := r.begin("shop-api", "first")
	r.settled(path)
	var resets atomic.Int64
	front := func(w http.ResponseWriter, req *http.Request) bool {
		if !isStream(req) || resets.Add(1) > 1 {
			return false
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "retry: 2000\n\nevent: reset\ndata: {\"reason\":\"gone\"}\n\n")
		return true
	}
	r.front.Store(&front)
	b.Load(t, r.http.URL+path)
	until(t, b, "the next stream", func() bool { return resets.Load() > 1 })
	b.Eval(t, `document.getElementById("prompt").focus()`)
	b.Type("second")
	b.Press("Enter")
	b.Wait(t, `document.querySelectorAll(".end").length === 2`)
	b.Want(t, `[...document.querySelectorAll(".item.text")].map(i => i.textContent.trim()).join()`, "You said: first,You said: second")
	complaints(t, r, b)
}

// A tab has one stream, whatever it shows, and none while it is hidden: a browser
// has six connections to a server, and all tabs share them.
func TestOneStreamInEachTab(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	var open, most atomic.Int64
	front := func(w http.ResponseWriter, req *http.Request) bool {
		if !isStream(req) {
			return false
		}
		most.Store(max(most.Load(), open.Add(1)))
		defer open.Add(-1)
		r.server.ServeHTTP(w, req)
		return true
	}
	r.front.Store(&front)
	r.open(b)
	path := r.begin("shop-api", "Clean up the build")
	b.Wait(t, `document.querySelector(".card")`)
	b.Load(t, r.http.URL+path)
	b.Wait(t, `document.querySelector(".card")`)
	count := func(want int64) {
		t.Helper()
		until(t, b, fmt.Sprint("the number of streams ", want), func() bool { return open.Load() == want })
	}
	count(1)
	hide := func(hidden bool) {
		b.Eval(t, fmt.Sprintf(`Object.defineProperty(document, "hidden", { value: %t, configurable: true }); document.dispatchEvent(new Event("visibilitychange"))`, hidden))
	}
	hide(true)
	count(0)
	r.begin("shop-api", "Which database?") // while nobody looks
	r.pending(2)
	hide(false)
	count(1)
	b.Wait(t, `document.title.startsWith("(2) ")`)
	if most.Load() > 2 { // one more while a page takes the place of another
		t.Errorf("there were %d streams at once", most.Load())
	}
	complaints(t, r, b)
}

// A link in a mail or a chat, which is another site, opens the approval for
// somebody who is logged in.
func TestLinkFromAnotherSite(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	r.begin("shop-api", "Clean up the build")
	a := r.pending(1)[0]
	chat := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `<!DOCTYPE html><title>Chat</title><link rel="icon" href="data:,"><a href="%s/a/%s">An agent waits</a>`, r.http.URL, a.ID)
	}))
	defer chat.Close()
	b.Load(t, strings.Replace(chat.URL, "127.0.0.1", "localhost", 1)) // another site for cookies
	b.Eval(t, `document.querySelector("a").click()`)
	b.Wait(t, `document.documentElement.dataset.screen === "approval" && document.querySelector(".card [data-key-a]")`)
	complaints(t, r, b)
}

// What a model and a tool write does nothing in a browser: no script in it
// runs, and nothing is loaded from elsewhere.
func TestHostileTextInBrowser(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	path := r.begin("shop-api", "hostile long "+hostile)
	r.settled(path)
	for _, screen := range []string{path, path + "/changes", "/h", "/"} {
		b.Load(t, r.http.URL+screen)
		b.Eval(t, `document.querySelectorAll("details:not(.me)").forEach(d => { d.open = true })`)
		b.Want(t, `typeof window.pwned`, "undefined")
		b.Want(t, `document.querySelectorAll("main script, main img, main iframe, main svg[onload], main [onerror], main [style]").length`, 0)
	}
	complaints(t, r, b)
}
