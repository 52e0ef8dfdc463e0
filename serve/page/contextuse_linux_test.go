package page_test

import (
	"testing"
)

// The head of a conversation states in words how full the context is, once that
// is known, without a reload of the page.
func TestContextInHead(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	path := r.begin("shop-api", "slow please")
	b.Load(t, r.http.URL+path)
	b.Wait(t, `document.getElementById("live").textContent.includes("piece by piece")`)
	b.Want(t, `document.querySelector(".head .facts").textContent.includes("context")`, false)
	b.Eval(t, `window.same = true`)
	close(r.hold)
	b.Wait(t, `document.querySelector(".head .facts").textContent.includes("context 41% full")`)
	b.Want(t, `document.querySelector(".head .facts [title]").title`, "82.0k of 200.0k tokens")
	b.Want(t, `window.same`, true)
	complaints(t, r, b)
}
