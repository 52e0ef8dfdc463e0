package page_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
)

// On wide screens, conversations are beside the one that is shown, and stay up to date.
// On narrow ones they are neither shown nor loaded.
func TestSidebarInBrowser(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	path := r.begin("shop-api", "hello")
	r.settled(path)
	other := r.begin("docs", "Another conversation with a title that is much too long for one line of a narrow column")
	r.settled(other)
	b.Resize(1280, 844, "light")
	b.Load(t, r.http.URL+path)
	b.Wait(t, `document.querySelectorAll("#sidebar a[href^='/c/']").length === 2`)
	b.Want(t, `document.querySelector("#sidebar [aria-current]").getAttribute("href")`, path)
	b.Want(t, `document.getElementById("sidebar").getBoundingClientRect().right <= document.getElementById("main").getBoundingClientRect().left`, true)
	b.Want(t, `document.documentElement.scrollWidth <= innerWidth`, true)
	title := "Renamed"
	if _, err := r.server.Service().Change(t.Context(), ada, strings.TrimPrefix(other, "/c/"), api.Change{Title: &title}, ""); err != nil {
		t.Fatal(err)
	}
	b.Wait(t, `document.getElementById("sidebar").textContent.includes("Renamed")`)
	// Another title is not another state: the list is not loaded again at once.
	var loads atomic.Int64
	front := func(_ http.ResponseWriter, req *http.Request) bool {
		if req.URL.Path == "/sidebar" {
			loads.Add(1)
		}
		return false
	}
	r.front.Store(&front)
	for i := range 4 {
		title := fmt.Sprint("Again ", i)
		if _, err := r.server.Service().Change(t.Context(), ada, strings.TrimPrefix(other, "/c/"), api.Change{Title: &title}, ""); err != nil {
			t.Fatal(err)
		}
		b.Eval(t, `new Promise(done => setTimeout(done, 800))`)
	}
	if n := loads.Load(); n > 0 {
		t.Errorf("the list was loaded %d times", n)
	}
	if found := b.Violations(t); len(found) > 0 {
		t.Errorf("%v", found)
	}
	b.Resize(390, 844, "light")
	b.Load(t, r.http.URL+path)
	b.Wait(t, `document.getElementById("prompt")`)
	b.Want(t, `document.getElementById("sidebar").checkVisibility()`, false)
	b.Want(t, `performance.getEntriesByType("resource").some(e => e.name.endsWith("/sidebar"))`, false)
	complaints(t, r, b)
}
