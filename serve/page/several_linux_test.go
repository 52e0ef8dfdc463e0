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

// A decision whose page is left or hidden before the moment for an undo is over is not
// sent, neither then nor later, and the user learns it. The same holds for one that a
// sleeping machine has held back.
func TestSeveralAndLeave(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	r.begin("shop-api", "Clean up")
	r.begin("shop-api", "Clean up")
	r.pending(2)
	choose := func(moment string) {
		t.Helper()
		b.Load(t, r.http.URL+"/")
		b.Wait(t, `document.querySelectorAll("input[name=pick]").length === 2`)
		b.Eval(t, `document.querySelector("input[name=pick]").click(); document.getElementById("several").dataset.moment = "`+moment+`"; document.getElementById("pick-all").click()`)
		b.Eval(t, `document.querySelector("#several [value=allow]").click()`)
		b.Wait(t, `document.getElementById("undo").checkVisibility()`)
	}
	const told = `document.querySelector(".flash")?.textContent.startsWith("Nothing was decided")`
	choose("600000")
	b.Load(t, r.http.URL+"/cost")
	b.Wait(t, told)
	r.pending(2)

	choose("600000")
	b.Eval(t, `{ let hidden = true; Object.defineProperty(document, "hidden", { get: () => hidden, configurable: true }); document.dispatchEvent(new Event("visibilitychange")); hidden = false; }`)
	b.Want(t, `document.getElementById("undo").checkVisibility()`, false)
	b.Eval(t, `document.dispatchEvent(new Event("visibilitychange"))`)
	b.Wait(t, told)
	r.pending(2)

	choose("1500")
	b.Eval(t, `{ const now = Date.now; Date.now = () => now() + 3600000; }`)
	b.Wait(t, `document.querySelector(".flash")?.textContent.endsWith("Decide again.")`)
	r.pending(2)
	complaints(t, r, b)
}
