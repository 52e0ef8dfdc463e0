package page_test

import (
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/browser"
	"github.com/claude-agent-go/claude/serve/api"
)

var update = flag.Bool("update", false, "write docs/serve-*.png")

// shots is for people who want to look.
var shots = flag.String("shots", "", "write what the tests look at into this directory")

// complaints checks that the browser has complained about nothing since, except what a
// test expects.
func complaints(t *testing.T, r *rig, b *browser.Browser, expected ...string) {
	t.Helper()
next:
	for _, c := range b.Complaints() {
		for _, fine := range append(expected, "loads {") {
			if strings.Contains(c, fine) && (fine != "loads {" || strings.Contains(c, r.http.URL)) {
				continue next
			}
		}
		t.Errorf("the browser complains: %s", c)
	}
}

// open logs a browser in by the link.
func (r *rig) open(b *browser.Browser) {
	r.t.Helper()
	b.Must("Page.navigate", map[string]any{"url": r.link(ada)}, nil)
	b.Wait(r.t, `document.documentElement.dataset.screen === "inbox"`)
	b.Want(r.t, `location.href.includes("#")`, false)
}

// The whole way in a browser: log in by the link, begin a conversation, see the text
// while it is written, decide by keys in the inbox with the diff in view, see the
// result and its cost.
func TestWholeWay(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)

	b.Load(t, r.http.URL+"/new")
	b.Eval(t, `document.querySelector("[name=prompt]").focus()`)
	b.Type("Say hello")
	b.Eval(t, `document.querySelector("form.begin button").click()`)
	b.Wait(t, `document.querySelector(".item.text")?.textContent.includes("You said: Say hello")`)
	b.Wait(t, `document.querySelector(".end")?.textContent.startsWith("answered")`)

	// The composer, with the keyboard alone.
	b.Eval(t, `document.getElementById("prompt").focus()`)
	b.Type("Fix the rounding")
	b.Press("Enter")
	b.Wait(t, `document.querySelector(".card [data-key-a]")`)
	b.Want(t, `document.getElementById("prompt").value`, "")
	b.Wait(t, `document.getElementById("urgent").textContent === "Edit waits for your decision"`)
	b.Want(t, `document.title.startsWith("(1) ")`, true)
	conversation := b.Eval(t, `location.href`).(string)

	// The inbox.
	b.Load(t, r.http.URL+"/")
	b.Wait(t, `document.querySelector(".card .diff mark")?.textContent === "math.Round("`)
	b.Press("j")
	b.Want(t, `document.querySelector(".card").classList.contains("here")`, true)
	b.Wait(t, `performance.now() > 500`)
	b.Press("a")
	b.Wait(t, `!document.querySelector(".card") && document.querySelector(".empty h2").textContent === "All clear"`)
	b.Wait(t, `!document.title.startsWith("(")`)

	b.Load(t, conversation)
	b.Wait(t, `document.querySelectorAll(".end").length === 2 && document.querySelector(".markdown table")`)
	b.Want(t, `/\$0\.\d+/.test(document.querySelector(".head .facts").textContent)`, true)
	b.Want(t, `[...document.querySelectorAll(".call .badge")].map(s => s.textContent).join()`, "ok,ok")
	b.Want(t, `document.querySelectorAll("[data-key]").length === new Set([...document.querySelectorAll("[data-key]")].map(e => e.dataset.key)).size`, true)
	b.Load(t, r.http.URL+"/cost?by=model")
	b.Want(t, `document.querySelector("table.cost tfoot td.num").textContent`, "2")
	complaints(t, r, b)
}

// Text is shown while it is written, outside the part that is read aloud, and
// once when it is done.
func TestStreamedText(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	path := r.begin("shop-api", "slow please")
	b.Load(t, r.http.URL+path)
	b.Wait(t, `document.getElementById("live").textContent.includes("piece by piece, and is long")`)
	b.Want(t, `document.querySelectorAll(".item.text").length`, 0)
	close(r.hold)
	b.Wait(t, `document.querySelectorAll(".item.text").length === 1 && document.getElementById("live").textContent === ""`)
	b.Wait(t, `document.getElementById("polite").textContent.startsWith("The answer comes")`)
	complaints(t, r, b)
}

// Without a script the login, the list, the deep link and the decision work.
func TestWithoutScript(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	b.Scripts(false)
	r.begin("shop-api", "Clean up the build")
	a := r.pending(1)[0]
	b.Must("Page.navigate", map[string]any{"url": r.http.URL + "/a/" + a.ID}, nil)
	b.Wait(t, `document.querySelector("[data-key-a]")`)
	b.Want(t, `document.querySelector("pre.command").textContent`, "rm -rf build && make all")
	var box struct{ X, Y float64 }
	found := b.Eval(t, `(() => { const r = document.querySelector("[data-key-a]").getBoundingClientRect(); return (r.x + r.width / 2) + " " + (r.y + r.height / 2) })()`).(string)
	if _, err := fmt.Sscan(found, &box.X, &box.Y); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.Must("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": box.X, "y": box.Y, "button": "left", "clickCount": 1}, nil)
	}
	b.Wait(t, `document.querySelector(".decided")?.textContent.includes("ada") && document.querySelector(".flash")?.textContent === "Allowed."`)
	complaints(t, r, b)
}

// A tap that meets a dead connection does not look done, and what was missed
// meanwhile is there when the connection is back.
func TestOffline(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	r.begin("shop-api", "Clean up the build")
	b.Wait(t, `document.querySelector(".card [data-key-a]")`)
	b.Offline(true)
	b.Eval(t, `document.querySelector("[data-key-a]").click()`)
	b.Wait(t, `document.querySelector(".unsent:not([hidden])")?.textContent.startsWith("Not sent")`)
	b.Want(t, `document.querySelector("[data-key-a]").disabled`, false)
	r.begin("shop-api", "Which database?")
	r.pending(2)
	b.Offline(false)
	b.Eval(t, `dispatchEvent(new Event("online"))`)
	b.Wait(t, `document.querySelectorAll(".card").length === 2`)
	b.Eval(t, `document.querySelector("[data-key-a]").click()`)
	b.Wait(t, `document.querySelectorAll(".card").length === 1`)
	complaints(t, r, b, "ERR_INTERNET_DISCONNECTED")
}

// links are the names by which a screen reader calls the links of the page.
func links(t *testing.T, b *browser.Browser) []string {
	t.Helper()
	var document struct{ Root struct{ NodeID int } }
	b.Must("DOM.getDocument", nil, &document)
	var found struct {
		Nodes []struct{ Name struct{ Value string } }
	}
	b.Must("Accessibility.queryAXTree", map[string]any{"nodeId": document.Root.NodeID, "role": "link"}, &found)
	var names []string
	for _, n := range found.Nodes {
		names = append(names, n.Name.Value)
	}
	return names
}

// A screen reader announces which conversations have news. With the script a
// conversation counts as read when it is visible to the user, not while its tab is
// hidden.
func TestUnreadInBrowser(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	path := r.begin("shop-api", "hello")
	r.settled(path)
	heard := func() bool {
		b.Load(t, r.http.URL+"/h")
		return slices.ContainsFunc(links(t, b), func(name string) bool { return strings.HasPrefix(name, "New hello") })
	}
	if !heard() {
		t.Errorf("the links are called %q", links(t, b))
	}
	hide := func(hidden bool) {
		b.Eval(t, fmt.Sprintf(`Object.defineProperty(document, "hidden", { value: %t, configurable: true }); document.dispatchEvent(new Event("visibilitychange"))`, hidden))
	}
	b.Must("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `if (location.pathname.startsWith("/c/")) Object.defineProperty(document, "hidden", { value: true, configurable: true })`}, nil)
	b.Load(t, r.http.URL+path)
	b.Wait(t, `document.querySelector("form.read")`)
	if !heard() {
		t.Error("a conversation in a hidden tab counts as read")
	}
	b.Load(t, r.http.URL+path)
	b.Wait(t, `document.querySelector("form.read")`)
	hide(false)
	b.Wait(t, `!document.querySelector("form.read")`)
	if heard() {
		t.Error("a conversation that was looked at is not read")
	}
	b.Load(t, r.http.URL+path)
	hide(false)
	again := "hello again"
	if _, err := r.server.Service().Change(t.Context(), ada, strings.TrimPrefix(path, "/c/"), api.Change{Title: &again}, ""); err != nil {
		t.Fatal(err)
	}
	b.Wait(t, `document.querySelector("form.read")`)
	hide(true) // at once, before the moment is over
	b.Wait(t, `!document.querySelector("form.read")`)
	if heard() {
		t.Error("what was on the screen when its reader turned away is not read")
	}
	complaints(t, r, b)
}

// screens prepares one of each and returns their paths by name.
func (r *rig) screens() map[string]string {
	r.t.Helper()
	conversation := r.begin("shop-api", "Fix the rounding in price.go: 0.29 becomes 28 cents")
	edit := r.pending(1)[0]
	r.begin("shop-api", "Which database should the tests use?")
	r.pending(2)
	r.begin("docs", "Clean the build directory")
	r.pending(3)
	done := r.begin("shop-api", "Summarise the open issues")
	r.settled(done)
	r.session("00000000-0000-4000-8000-000000000001", r.dir, "Why is 0.29 off by a cent?", "A cast truncates.")
	r.session("00000000-0000-4000-8000-000000000002", filepath.Dir(r.dir), "Write the handbook's first chapter", "It begins well.")
	return map[string]string{
		"inbox": "/", "conversation": conversation, "approval": "/a/" + edit.ID, "history": "/h", "new": "/new", "cost": "/cost", "login": "/login", "logins": "/logins",
		"problem": "/nothing", "changes": conversation + "/changes",
	}
}

// Every screen is accessible, in light and dark, wide and on a phone, and nothing
// is wider than a phone.
func TestAccessible(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	screens := r.screens()
	edited := r.edited()
	check := func(name string) {
		t.Helper()
		for _, width := range []int{1200, 390} {
			for _, colours := range []string{"light", "dark"} {
				accessible(t, b, name, width, colours)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(screens)) {
		b.Load(t, r.http.URL+screens[name])
		check(name)
	}
	b.Load(t, r.http.URL+edited)
	check("conversation with edits")
	b.Eval(t, `document.querySelector(".item .rewind button").click()`)
	b.Wait(t, `document.documentElement.dataset.screen === "rewind"`)
	check("rewind")
	complaints(t, r, b, "404 (Not Found)")
}

// accessible checks the screen that is shown, at a width and in colours, with all its
// parts open and scrolled to its end.
func accessible(t *testing.T, b *browser.Browser, name string, width int, colours string) {
	t.Helper()
	b.Resize(width, 900, colours)
	b.Eval(t, `document.querySelectorAll("details:not(.me)").forEach(d => { d.open = true }); scrollTo(0, document.documentElement.scrollHeight)`)
	violations := b.Violations(t)
	for _, v := range violations {
		t.Errorf("%s, %s, %d: %s", name, colours, width, v)
	}
	t.Logf("axe-core %v: %-12s %5s %4d px: %d violations", b.Eval(t, `axe.version`), name, colours, width, len(violations))
	if wide := b.Eval(t, `document.documentElement.scrollWidth - innerWidth`).(float64); wide > 0 {
		t.Errorf("%s, %s: %v pixels wider than the window of %d", name, colours, wide, width)
	}
}

// However many decisions wait, and wherever the inbox is scrolled to, it is
// accessible.
func TestAccessibleInbox(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	rows := 0
	for _, n := range []int{1, 2, 3, 5} {
		for ; rows < n; rows++ {
			r.settled(r.begin("shop-api", "Summarise the open issues"))
			r.begin("docs", "Clean the build directory")
			r.pending(rows + 1)
		}
		b.Load(t, r.http.URL+"/")
		b.Wait(t, fmt.Sprintf(`document.querySelectorAll(".card").length === %d`, n))
		for _, width := range []int{1200, 390} {
			accessible(t, b, fmt.Sprintf("inbox of %d", n), width, "light")
		}
	}
	complaints(t, r, b)
}

// atHome makes the folders of a test look like those of a server.
func (r *rig) atHome(b *browser.Browser) {
	r.t.Helper()
	b.Eval(r.t, fmt.Sprintf(`(() => {
		const all = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		while (all.nextNode()) all.currentNode.data = all.currentNode.data.replaceAll(%q, "/srv");
	})()`, filepath.Dir(r.dir)))
	b.Want(r.t, `document.body.innerText.includes("/tmp")`, false)
}

// The pictures of the documents. With -update they are made again.
func TestPictures(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	screens := r.screens()
	take := func(name, path string, width, height int, colours, before string) {
		b.Resize(width, height, colours)
		b.Load(t, r.http.URL+path)
		b.Wait(t, `document.querySelector(".card")`)
		b.Eval(t, before+`;scrollTo(0, document.documentElement.dataset.screen === "conversation" ? document.documentElement.scrollHeight : 0)`)
		r.atHome(b)
		if *update {
			b.Screenshot(t, "../../docs/serve-"+name+".png")
		}
	}
	take("inbox", "/", 1100, 1000, "light", "0")
	take("phone", "/", 390, 844, "light", "0")
	take("dark", screens["conversation"], 1100, 900, "dark", `document.querySelector(".call").open = true`)
	take("diff", screens["approval"], 1100, 560, "light", "0")
	a := api.Decision{Decision: "allow"}
	for _, p := range r.pending(3) {
		if p.Tool == "Edit" {
			a.Digest = p.Digest
			if _, err := r.server.Service().Decide(t.Context(), ada, p.ID, a); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.settled(screens["conversation"])
	b.Resize(1200, 1160, "light")
	b.Load(t, r.http.URL+screens["conversation"])
	b.Wait(t, `document.querySelector(".markdown table") && document.querySelectorAll("#sidebar a[href^='/c/']").length === 4`)
	b.Eval(t, `document.querySelectorAll(".call")[1].open = true; scrollTo(0, document.documentElement.scrollHeight)`)
	r.atHome(b)
	if *update {
		b.Screenshot(t, "../../docs/serve-conversation.png")
	}
	b.Resize(1100, 690, "light")
	b.Load(t, r.http.URL+"/h")
	b.Wait(t, `document.querySelectorAll("form.session").length === 2`)
	r.atHome(b)
	if *update {
		b.Screenshot(t, "../../docs/serve-sessions.png")
	}
	b.Resize(390, 844, "light")
	b.Load(t, r.http.URL+"/h")
	b.Eval(t, `document.querySelector("h2.section").scrollIntoView({ block: "center" })`)
	r.atHome(b)
	if *update {
		b.Screenshot(t, "../../docs/serve-phone-sessions.png")
	}
}
