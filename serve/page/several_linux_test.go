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
