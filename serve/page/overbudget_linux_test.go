package page_test

import (
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
)

// The cost screen lists what is over budget, with links, and a held conversation is
// marked as such; both are accessible.
func TestOverBudgetOnPage(t *testing.T) {
	r := newRig(t, func(o *fleet.Options) { o.BudgetUSD = 0.1 })
	r.presets[0].Options.MaxBudgetUSD = 0.06 // three answers
	over := r.begin("shop-api", "Fix the rounding")
	edit := r.pending(1)[0]
	if _, err := r.server.Service().Decide(t.Context(), ada, edit.ID, api.Decision{Decision: "allow", Digest: edit.Digest}); err != nil {
		t.Fatal(err)
	}
	r.settled(over)
	held := r.begin("docs", "slow please, and then more")
	id := strings.TrimPrefix(held, "/c/")
	for range 6 {
		if _, err := r.server.Service().Send(t.Context(), ada, id, api.NewPrompt{Content: []byte(`"again"`)}); err != nil {
			t.Fatal(err)
		}
	}
	close(r.hold)
	b := chromium.Open(t)
	r.open(b)
	b.Load(t, r.http.URL+held)
	b.Wait(t, `document.querySelector(".card.stuck h2")?.textContent === "The budget is spent"`)
	b.Want(t, `document.querySelector(".card.stuck p").textContent.includes(" of the $0.10 that it may")`, true)
	b.Want(t, `document.querySelector(".head .state").textContent`, "queued")
	b.Load(t, r.http.URL+"/cost")
	b.Want(t, `[...document.querySelectorAll("h2.section")].map(h => h.textContent).join("; ")`, "Held: the budget is spent; Turns over budget")
	b.Want(t, `[...document.querySelectorAll(".rows a")].map(a => a.getAttribute("href")).join()`, held+","+over)
	b.Want(t, `/prompts? waiting/.test(document.querySelector(".rows li").textContent)`, true)
	for _, width := range []int{1200, 390} {
		for _, colours := range []string{"light", "dark"} {
			accessible(t, b, "cost over budget", width, colours)
		}
	}
	complaints(t, r, b)
}
