package page_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
)

// watchSidebar is a script that counts in a page the hints that it has acted on, and notes
// which conversations they were about, and when it means to load the sidebar.
const watchSidebar = `
	window.hints = 0;
	window.hinted = new Set();
	window.loads = [];
	const later = setTimeout;
	window.setTimeout = (f, pause, ...rest) => {
		if (String(f).includes("loadSide")) loads.push(performance.now() + pause);
		return later(f, pause, ...rest);
	};
	EventSource.prototype.addEventListener = function (name, f) {
		EventTarget.prototype.addEventListener.call(this, name, e => { f(e); if (name === "hint") { hints++; hinted.add(JSON.parse(e.data).hint?.conversation); } });
	};`

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
	b.Must("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": watchSidebar}, nil)
	b.Load(t, r.http.URL+path)
	b.Wait(t, `document.querySelectorAll("#sidebar a[href^='/c/']").length === 2`)
	b.Want(t, `document.querySelector("#sidebar [aria-current]").getAttribute("href")`, path)
	b.Want(t, `document.getElementById("sidebar").getBoundingClientRect().right <= document.getElementById("main").getBoundingClientRect().left`, true)
	b.Want(t, `document.documentElement.scrollWidth <= innerWidth`, true)
	rename := func(path, title string) {
		t.Helper()
		if _, err := r.server.Service().Change(t.Context(), ada, strings.TrimPrefix(path, "/c/"), api.Change{Title: &title}, ""); err != nil {
			t.Fatal(err)
		}
	}
	rename(path, "Shown")
	rename(other, "Renamed")
	// The first hint about a conversation is news, so that the list is loaded soon.
	b.Wait(t, `["Shown", "Renamed"].every(title => document.getElementById("sidebar").textContent.includes(title)) && hinted.size === 2 && Math.max(...loads) < performance.now()`)
	// Another title is not another state: the list is loaded again late, and not at once.
	loaded := b.Eval(t, `loads = [], performance.getEntriesByType("resource").findLast(e => e.name.includes("/sidebar")).startTime`)
	for i := range 4 {
		hints := b.Eval(t, `hints`)
		rename(other, fmt.Sprint("Again ", i))
		b.Wait(t, fmt.Sprintf(`hints > %v`, hints))
	}
	b.Want(t, fmt.Sprintf(`loads.filter(due => due < %v + 14000).length`, loaded), 0)
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
