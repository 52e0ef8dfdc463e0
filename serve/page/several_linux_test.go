package page_test

import (
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
)

// Several calls are chosen, and those of another kind cannot be. A decision can be undone
// until it is sent.
func TestSeveralInBrowser(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	for range 4 {
		r.begin("shop-api", "Clean up")
	}
	r.begin("shop-api", "Fix the rounding")
	r.pending(5)
	total := func() int {
		in, err := r.server.Service().Inbox(t.Context(), ada, api.ApprovalQuery{})
		if err != nil {
			t.Fatal(err)
		}
		return in.Total
	}
	for _, width := range []int{390, 1280} {
		b.Resize(width, 844, "light")
		b.Load(t, r.http.URL+"/")
		b.Wait(t, `document.querySelectorAll("input[name=pick]").length >= 3`)
		b.Want(t, `document.getElementById("several").checkVisibility()`, false)
		b.Eval(t, `[...document.querySelectorAll("input[name=pick]")].find((box, _, all) => all.filter(o => o.dataset.shape === box.dataset.shape).length > 1).click()`)
		b.Want(t, `[...document.querySelectorAll("input[name=pick]")].filter(box => box.disabled).length`, float64(1))
		b.Eval(t, `document.getElementById("several").dataset.moment = "600000"; document.getElementById("pick-all").click(); document.querySelector("#several [value=allow]").click()`)
		b.Wait(t, `document.getElementById("undo").checkVisibility()`)
		b.Want(t, `document.documentElement.scrollWidth <= innerWidth`, true)
		b.Eval(t, `document.getElementById("undo").click()`)
		b.Wait(t, `document.querySelector(".flash")?.textContent.startsWith("Undone")`)
		if n := total(); n != 5 {
			t.Errorf("%d are pending after the undo", n)
		}
	}
	b.Eval(t, `document.getElementById("several").dataset.moment = "1"; document.querySelector("#several [value=allow]").click()`)
	b.Wait(t, `document.querySelectorAll("input[name=pick]").length === 1 && document.querySelector(".flash")?.textContent === "Allowed."`)
	if n := total(); n != 1 {
		t.Errorf("%d are pending", n)
	}
	complaints(t, r, b)
}

// A decision whose page is left or hidden before the moment for an undo is over is sent at
// once. One that a sleeping machine has held back is not sent at all.
func TestSeveralAndLeave(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	decided := func(state api.ApprovalState) int {
		list, err := r.server.Service().Approvals(t.Context(), ada, api.ApprovalQuery{State: state})
		if err != nil {
			t.Fatal(err)
		}
		return len(list.Items)
	}
	choose := func(moment, verb string) {
		t.Helper()
		r.begin("shop-api", "Clean up")
		r.begin("shop-api", "Clean up")
		r.pending(2)
		b.Load(t, r.http.URL+"/")
		b.Wait(t, `document.querySelectorAll("input[name=pick]").length === 2`)
		b.Eval(t, `document.querySelector("input[name=pick]").click(); document.getElementById("several").dataset.moment = "`+moment+`"; document.getElementById("pick-all").click()`)
		b.Eval(t, `document.querySelector("#several [value=`+verb+`]").click()`)
		b.Wait(t, `document.getElementById("undo").checkVisibility()`)
	}
	choose("600000", "allow")
	b.Load(t, r.http.URL+"/cost")
	until(t, b, "the decision of a page that was left", func() bool { return decided(api.ApprovalAllowed) == 2 })

	choose("600000", "deny")
	b.Eval(t, `Object.defineProperty(document, "hidden", { get: () => true, configurable: true }); document.dispatchEvent(new Event("visibilitychange"))`)
	until(t, b, "the decision of a page that was hidden", func() bool { return decided(api.ApprovalDenied) == 2 })

	choose("1500", "allow")
	b.Eval(t, `{ const now = Date.now; Date.now = () => now() + 3600000; }`)
	b.Wait(t, `document.querySelector(".flash")?.textContent.startsWith("Nothing was decided")`)
	if n := decided(api.ApprovalPending); n != 2 {
		t.Errorf("%d are pending after a sleep", n)
	}
	complaints(t, r, b)
}
