package page_test

import (
	"fmt"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/browser"
	"github.com/claude-agent-go/claude/serve/api"
)

// at waits for a screen.
func at(t *testing.T, b *browser.Browser, screen string) {
	t.Helper()
	b.Wait(t, fmt.Sprintf(`document.readyState === "complete" && document.documentElement.dataset.screen === %q`, screen))
}

// Every key in the help does what the help says, on every screen where it can.
func TestKeys(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	path := r.begin("shop-api", "hello")
	r.settled(path)
	var ids []string
	for _, command := range []string{"make one", "make two", "make three"} {
		ids = append(ids, r.ask(path, command))
		r.pending(len(ids))
	}
	r.open(b)
	here := func(n int) {
		t.Helper()
		b.Want(t, `[...document.querySelectorAll(".card")].findIndex(c => c.classList.contains("here") && c === document.activeElement)`, n)
	}
	b.Wait(t, `document.querySelectorAll(".card").length === 3`)
	for _, step := range []struct {
		key string
		at  int
	}{{"j", 0}, {"j", 1}, {"k", 0}, {"k", 0}, {"j", 1}} {
		b.Press(step.key)
		here(step.at)
	}

	// Keys are letters in a field, and keys again when Escape has left it.
	b.Press("e")
	b.Wait(t, `document.activeElement.name === "input"`)
	b.Press("a")
	b.Press("n")
	b.Want(t, `document.activeElement.value.includes("an") && document.documentElement.dataset.screen`, "inbox")
	b.Press("Escape")
	b.Want(t, `document.activeElement.name`, nil)
	b.Press("d")
	b.Wait(t, `document.activeElement.name === "message"`)
	b.Press("Escape")

	// The switch turns them off, also on the next screen, and on again.
	toggle := func() {
		t.Helper()
		b.Eval(t, `document.querySelector("[data-do=help]").click()`)
		b.Wait(t, `document.getElementById("keys").open`)
		b.Eval(t, `document.getElementById("keys-on").click(); document.querySelector("#keys button").click()`)
		b.Wait(t, `!document.getElementById("keys").open && !document.activeElement.closest("dialog")`)
	}
	toggle()
	b.Press("n")
	b.Load(t, r.http.URL+"/")
	b.Press("j")
	b.Want(t, `!!document.querySelector(".here") || document.documentElement.dataset.screen !== "inbox"`, false)
	toggle()
	b.Press("?")
	b.Wait(t, `document.getElementById("keys").open`)
	b.Eval(t, `document.querySelector("#keys button").click()`)
	b.Wait(t, `!document.getElementById("keys").open && !document.activeElement.closest("dialog")`)

	// Going somewhere.
	for _, c := range []struct{ first, second, screen string }{
		{"n", "", "new"}, {"g", "i", "inbox"}, {"g", "c", "history"}, {"g", "$", "cost"}, {"g", "h", "history"},
	} {
		b.Eval(t, `document.activeElement.blur()`)
		b.Press(c.first)
		if c.second != "" {
			b.Press(c.second)
		}
		at(t, b, c.screen)
	}
	b.Press("/")
	b.Want(t, `document.activeElement.id`, "q")
	b.Press("Escape")
	b.Press("j")
	// What happens elsewhere does not take the focus away.
	b.Eval(t, `window.row = document.querySelector(".here"); 0`)
	r.settled(r.begin("shop-api", "something else happens"))
	b.Wait(t, `document.querySelectorAll(".rows li").length === 2`)
	b.Want(t, `document.activeElement === window.row && window.row.textContent.includes("hello")`, true)
	b.Press("Enter")
	at(t, b, "conversation")
	b.Press("/")
	b.Want(t, `document.activeElement.id`, "prompt")

	// Deciding. The card that takes the place of another is deaf for a moment.
	b.Load(t, r.http.URL+"/")
	b.Wait(t, `document.querySelectorAll(".card").length === 3`)
	b.Press("j")
	b.Eval(t, `window.deaf = new Promise(done => new MutationObserver((_, seen) => {
		seen.disconnect();
		document.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }));
		done(document.querySelector(".card.here form").ariaBusy);
	}).observe(document.querySelector(".cards"), { childList: true })); 0`)
	b.Must("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": "a", "text": "a", "autoRepeat": true}, nil) // of a key that is held down
	b.Want(t, `document.querySelector(".card.here form").ariaBusy`, nil)
	b.Press("a")
	b.Want(t, `window.deaf`, nil)
	b.Want(t, `document.querySelectorAll(".card").length`, 2)
	here(0)
	b.Wait(t, `performance.now() - document.querySelector(".card").dataset.born > 400`)
	b.Press("A")
	b.Wait(t, `document.querySelectorAll(".card").length === 1`)
	b.Press("o")
	at(t, b, "conversation")
	for i, want := range []api.ApprovalState{api.ApprovalAllowed, api.ApprovalAllowed, api.ApprovalPending} {
		if a, err := r.server.Service().Approval(t.Context(), ada, ids[i]); err != nil || a.State != want {
			t.Errorf("the approval %d is %s (%v), want %s", i, a.State, err, want)
		}
	}
	for i, id := range ids[:2] {
		q, err := r.fleet.Approvals().Get(t.Context(), id)
		if err != nil || q.Answer == nil || len(q.Answer.Always) != i {
			t.Errorf("the answer %d is %+v (%v)", i, q.Answer, err)
		}
	}

	// Interrupting.
	b.Load(t, r.http.URL+r.begin("shop-api", "Clean up"))
	b.Wait(t, `document.querySelector("[data-key-stop]")`)
	b.Press(".")
	b.Wait(t, `[...document.querySelectorAll(".did")].some(n => n.textContent.includes("interrupted the turn"))`)
	complaints(t, r, b)
}

// A new card does not steal the focus, neither from a card nor from the composer.
func TestNewCardTakesNoFocus(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	path := r.begin("shop-api", "hello")
	r.settled(path)
	r.ask(path, "make one")
	r.pending(1)
	r.open(b)
	b.Wait(t, `document.querySelector(".card")`)
	b.Press("j")
	b.Eval(t, `window.focused = document.activeElement; 0`)
	r.ask(path, "make two")
	b.Wait(t, `document.querySelectorAll(".card").length === 2 && document.getElementById("urgent").textContent.startsWith("Bash in hello waits")`)
	b.Want(t, `document.activeElement === window.focused && window.focused.matches(".card")`, true)
	b.Load(t, r.http.URL+path)
	b.Eval(t, `document.getElementById("prompt").focus()`)
	b.Type("half a sen")
	r.ask(path, "make three")
	b.Wait(t, `document.querySelectorAll(".card").length === 3`)
	b.Press("t")
	b.Want(t, `document.activeElement.id + " " + document.activeElement.value`, "prompt half a sent")
	complaints(t, r, b)
}

// The second tap of a thumb does not decide the card that has moved to where the first
// one was. A moment later it does.
func TestSecondTap(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	path := r.begin("shop-api", "hello")
	r.settled(path)
	r.ask(path, "make one")
	second := r.ask(path, "make two")
	r.pending(2)
	r.open(b)
	b.Resize(390, 844, "light")
	b.Wait(t, `document.querySelectorAll(".card").length === 2`)
	b.Eval(t, `new Promise(done => setTimeout(done, 450))`) // the cards have come
	b.Eval(t, `window.tap = () => document.querySelector(".card [data-key-a]").dispatchEvent(new MouseEvent("click", { detail: 1, bubbles: true, cancelable: true }));
		window.again = new Promise(done => new MutationObserver((_, seen) => { seen.disconnect(); tap(); done(document.querySelector(".card form").ariaBusy) }).observe(document.querySelector(".cards"), { childList: true })); tap()`)
	b.Want(t, `window.again`, nil)
	b.Want(t, `document.querySelectorAll(".card").length`, 1)
	if a, err := r.server.Service().Approval(t.Context(), ada, second); err != nil || a.State != api.ApprovalPending {
		t.Errorf("the second approval is %s (%v)", a.State, err)
	}
	b.Wait(t, `performance.now() - document.querySelector(".card").dataset.born > 400`)
	b.Eval(t, `tap()`)
	b.Wait(t, `!document.querySelector(".card")`)
	complaints(t, r, b)
}
