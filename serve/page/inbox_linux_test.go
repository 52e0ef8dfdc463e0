package page_test

import (
	"testing"
)

// In a browser the filter has a key, is in the address, and stays while cards come and
// go and after a decision. It does not disturb a user who types in it, and it is
// accessible, even if nothing matches.
func TestFilterInBrowser(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	path := r.begin("shop-api", "hello")
	r.settled(path)
	r.open(b)
	b.Want(t, `!!document.getElementById("q")`, false) // nothing waits
	r.ask(path, "make one")
	b.Wait(t, `document.getElementById("q") && document.querySelectorAll(".card").length === 1`)
	r.ask(path, "rm two")
	b.Wait(t, `document.querySelectorAll(".card").length === 2`)
	b.Press("/")
	b.Want(t, `document.activeElement.id`, "q")
	b.Type("mak")
	r.ask(path, "make three")
	b.Wait(t, `document.querySelectorAll(".card").length === 3`)
	b.Press("e")
	b.Want(t, `document.activeElement.id + " " + document.activeElement.value`, "q make")
	b.Press("Enter")
	b.Wait(t, `location.search.includes("q=make") && document.querySelectorAll(".card").length === 2 && document.readyState === "complete"`)
	b.Want(t, `document.title.startsWith("(3) ")`, true)

	// What comes is shown if it matches, and counted if it does not.
	r.ask(path, "rm four")
	b.Wait(t, `document.title.startsWith("(4) ")`)
	b.Want(t, `document.querySelectorAll(".card").length`, 2)
	r.ask(path, "make five")
	b.Wait(t, `document.querySelectorAll(".card").length === 3`)
	b.Press("j")
	b.Wait(t, `performance.now() > 500`)
	b.Press("a")
	b.Wait(t, `document.querySelectorAll(".card").length === 2 && document.title.startsWith("(4) ")`)
	b.Want(t, `location.search.includes("q=make") && document.getElementById("q").value`, "make")
	b.Want(t, `document.querySelector("[data-part=inbox-facts]").textContent.startsWith("2 of 4 decisions waiting")`, true)

	// A choice is made at once.
	b.Eval(t, `(() => { const kind = document.querySelector("[name=kind]"); kind.value = "plan"; kind.dispatchEvent(new Event("change", { bubbles: true })) })()`)
	b.Wait(t, `document.readyState === "complete" && location.search.includes("kind=plan") && document.querySelector(".empty h2")?.textContent === "Nothing matches"`)
	for _, width := range []int{1200, 390} {
		for _, colours := range []string{"light", "dark"} {
			accessible(t, b, "inbox without matches", width, colours)
		}
	}
	b.Load(t, r.http.URL+"/?q=make&did=allow")
	b.Wait(t, `document.querySelector(".flash")?.textContent === "Allowed." && location.search === "?q=make"`)
	for _, width := range []int{1200, 390} {
		accessible(t, b, "inbox with a filter", width, "light")
	}
	b.Eval(t, `document.querySelector(".filter a").click()`)
	b.Wait(t, `location.search === "" && document.querySelectorAll(".card").length === 4`)
	complaints(t, r, b)
}
