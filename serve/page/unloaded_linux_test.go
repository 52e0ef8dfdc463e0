package page_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
)

// A screen that could not be loaded after a change is loaded again, although the stream
// is alive and nothing else happens.
func TestUpdateThatFails(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	b.Wait(t, `document.querySelector(".empty")`)
	var refused, broken atomic.Int64
	front := func(w http.ResponseWriter, req *http.Request) bool {
		if req.URL.Path != "/" || req.Method != http.MethodGet || broken.Load() == 0 {
			return false
		}
		refused.Add(1)
		w.WriteHeader(http.StatusBadGateway)
		return true
	}
	r.front.Store(&front)
	broken.Store(1)
	r.begin("shop-api", "Clean up the build")
	r.pending(1)
	until(t, b, "a load that fails", func() bool { return refused.Load() > 0 })
	// Every event has been sent: only the page itself can recover.
	b.Eval(t, `new Promise(done => setTimeout(done, 400))`)
	broken.Store(0)
	b.Wait(t, `document.querySelector(".card [data-key-a]") && document.getElementById("connection").hidden`)
	complaints(t, r, b, "502 (Bad Gateway)")
}

// A form that a proxy refuses is reported as unsent and can be sent again. One that
// has arrived is not called unsent because the screen could not be loaded
// afterwards.
func TestFormThatFails(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	r.begin("shop-api", "Clean up the build")
	var refuse atomic.Pointer[string] // the method that gets no answer
	front := func(w http.ResponseWriter, req *http.Request) bool {
		method := refuse.Load()
		if method == nil || req.Method != *method || isStream(req) || strings.HasPrefix(req.URL.Path, "/static/") {
			return false
		}
		http.Error(w, "the proxy is tired", http.StatusServiceUnavailable)
		return true
	}
	r.front.Store(&front)
	b.Wait(t, `document.querySelector(".card [data-key-a]")`)
	post, get := http.MethodPost, http.MethodGet
	refuse.Store(&post)
	b.Eval(t, `document.querySelector("[data-key-a]").click()`)
	b.Wait(t, `document.querySelector(".unsent:not([hidden])")?.textContent === "Not sent: the server answered 503. Try again."`)
	b.Want(t, `document.querySelector("[data-key-a]").disabled`, false)
	r.pending(1)

	refuse.Store(&get)
	b.Eval(t, `document.querySelector("[data-key-a]").click()`)
	until(t, b, "the decision", func() bool {
		list, err := r.server.Service().Approvals(t.Context(), ada, api.ApprovalQuery{})
		if err != nil {
			t.Fatal(err)
		}
		return list.Items[0].State == api.ApprovalAllowed
	})
	b.Wait(t, `!document.querySelector("form[aria-busy=true]")`)
	b.Want(t, `document.querySelector(".unsent").hidden`, true)
	refuse.Store(nil)
	b.Wait(t, `!document.querySelector(".card") && document.querySelector(".empty h2")?.textContent === "All clear"`)
	complaints(t, r, b, "503 (Service Unavailable)")
}

// A refused prompt shows the reason, and stays where it was typed.
func TestRefusedPromptSaysWhy(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	path := r.begin("shop-api", "hello")
	r.settled(path)
	b.Load(t, r.http.URL+path)
	b.Eval(t, `document.getElementById("prompt").focus()`)
	b.Type("one more thing")
	ended := true
	if _, err := r.server.Service().Change(t.Context(), ada, strings.TrimPrefix(path, "/c/"), api.Change{Archived: &ended}, ""); err != nil {
		t.Fatal(err)
	}
	b.Wait(t, `document.querySelector(".head .state.ended")`)
	b.Press("Enter")
	b.Wait(t, `document.querySelector(".flash")?.textContent.startsWith("The conversation has ended")`)
	b.Want(t, `document.getElementById("prompt").value`, "one more thing")
	complaints(t, r, b, "409 (Conflict)")
}
