package page_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/browser"
	"github.com/claude-agent-go/claude/serve/api"
)

// covered lists what in the conversation has the composer over it once it has the
// focus: by Tab, as focus moves there, and by the keys of the page.
const covered = `(() => {
	const composer = document.querySelector(".composer"), main = document.getElementById("main"), found = [];
	const check = (e, how) => {
		const top = composer.getBoundingClientRect().top, r = e.getBoundingClientRect();
		if (getComputedStyle(composer).position === "sticky" && r.height < top - 40 && (r.bottom > top + 1 || r.top < -1)) found.push(how + " " + e.outerHTML.slice(0, 80));
	};
	let seen = 0;
	for (const end of [0, document.documentElement.scrollHeight]) {
		for (const e of main.querySelectorAll("a[href], button, summary, textarea, input:not([type=hidden]), pre[tabindex]")) {
			if (composer.contains(e) || !e.offsetParent) continue;
			scrollTo(0, end);
			e.focus();
			check(e, "Tab");
			seen++;
		}
	}
	document.activeElement.blur();
	for (const key of ["j", "k"]) {
		for (let i = main.querySelectorAll("[data-item]").length; i > 0; i--) {
			document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
			const here = document.querySelector(".here");
			if (here) { check(here, key); seen++; }
		}
	}
	return seen < 20 ? "only " + seen + " looked at" : found.join("\n");
})()`

// However high the composer is, nothing that gets the focus is below it.
func TestNothingBelowTheComposer(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	path := r.begin("shop-api", "Summarise the open issues")
	id := strings.TrimPrefix(path, "/c/")
	r.settled(path)
	for i := range 12 {
		content := fmt.Sprintf("%q", fmt.Sprintf("Fix the rounding, part %d", i))
		if _, err := r.server.Service().Send(t.Context(), ada, id, api.NewPrompt{Content: []byte(content)}); err != nil {
			t.Fatal(err)
		}
	}
	r.pending(1)
	for _, size := range []struct{ width, height int }{{1200, 900}, {390, 844}, {390, 620}, {844, 390}} {
		b.Resize(size.width, size.height, "light")
		b.Load(t, r.http.URL+path)
		b.Wait(t, `document.querySelector(".card [data-key-a]") && document.querySelectorAll(".queue li").length > 5`)
		below(t, b, size.width, size.height)
	}
	complaints(t, r, b)
}

func below(t *testing.T, b *browser.Browser, width, height int) {
	t.Helper()
	b.Eval(t, `document.querySelectorAll("details:not(.me)").forEach(d => { d.open = true }); new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))`)
	if got := b.Eval(t, covered); got != "" {
		t.Errorf("at %d x %d the composer covers\n%v", width, height, got)
	}
	// It leaves most of the window to the conversation.
	if part := b.Eval(t, `document.querySelector(".composer").getBoundingClientRect().height / innerHeight`).(float64); part > 0.6 && height > 480 {
		t.Errorf("at %d x %d the composer takes %.0f %% of the window", width, height, 100*part)
	}
}
