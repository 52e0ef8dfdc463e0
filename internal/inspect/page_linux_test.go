package inspect_test

import (
	"bytes"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/claude-agent-go/claude/internal/inspect"
	"github.com/claude-agent-go/claude/internal/test/browser"
)

// Pictures for people to look at.
var (
	screenshots = flag.String("screenshots", "", "write screenshots of the page to this folder")
	update      = flag.Bool("update", false, "write docs/inspect.png")
)

// writePage makes a page of a recording and returns its address.
func writePage(t *testing.T, recording []byte, limits inspect.Limits) string {
	t.Helper()
	rep, err := inspect.Read(bytes.NewReader(recording), &inspect.Options{Source: "session.ndjson"})
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := rep.WriteHTML(&page, limits); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, page.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// TestPage looks at the page with a real browser.
func TestPage(t *testing.T) {
	b := browser.Open(t)
	address := writePage(t, sample(t), inspect.Limits{})
	t.Run("content", func(t *testing.T) { testContent(t, b, address) })
	t.Run("search", func(t *testing.T) { testSearch(t, b, address) })
	t.Run("places", func(t *testing.T) { testPlaces(t, b, address) })
	t.Run("keys", func(t *testing.T) { testKeys(t, b, address) })
	t.Run("bars", func(t *testing.T) { testBars(t, b, address) })
	t.Run("compared", func(t *testing.T) { testCompared(t, b) })
	t.Run("looks", func(t *testing.T) { testLooks(t, b, address) })
	t.Run("names", func(t *testing.T) { testNames(t, b, address) })
	t.Run("forms", func(t *testing.T) { testForms(t, b) })
	t.Run("phone", func(t *testing.T) { testPhone(t, b, address) })
	t.Run("lanes", func(t *testing.T) { testLanes(t, b) })
	t.Run("folded", func(t *testing.T) { testFolded(t, b) })
	t.Run("findings", func(t *testing.T) { testFindings(t, b) })
	t.Run("hostile", func(t *testing.T) { testHostilePage(t, b) })
	t.Run("large", func(t *testing.T) { testLargePage(t, b) })
}

func testContent(t *testing.T, b *browser.Browser, address string) {
	b.Load(t, address)
	for expression, want := range map[string]any{
		`document.querySelectorAll("article.turn").length`:                           3,
		`document.querySelectorAll(".item.tool").length`:                             5,
		`document.querySelectorAll("#requests tbody tr").length`:                     12,
		`document.querySelector("#turn2 .item.tool:has(.bad) b").textContent`:        "Bash",
		`document.querySelector("#turn2 .exchange.bad .answer").textContent`:         "denied: Pushing is done by a person.",
		`document.querySelectorAll(".chart .bar.turn").length`:                       3,
		`document.querySelectorAll(".chart .gap").length`:                            2,
		`document.querySelectorAll(".chart .mark").length`:                           1,
		`getComputedStyle(document.querySelector(".filter")).display`:                "flex",
		`document.querySelectorAll("script[src], link, img, iframe, object").length`: 0,
	} {
		b.Want(t, expression, want)
	}
	b.NoComplaints(t)
}

func testSearch(t *testing.T, b *browser.Browser, address string) {
	const shown = `document.querySelectorAll(".hit:not([hidden])").length`
	b.Load(t, address)
	all := b.Eval(t, shown).(float64)
	b.Press("/")
	b.Must("Input.insertText", map[string]any{"text": "NUMBER.GO"}, nil)
	b.Want(t, `new Promise(done => setTimeout(() => done(document.getElementById("q").value), 300))`, "NUMBER.GO")
	some := b.Eval(t, shown).(float64)
	if some == 0 || some >= all {
		t.Errorf("a search shows %v of %v", some, all)
	}
	b.Want(t, `[...document.querySelectorAll(".hit:not([hidden])")].every(h => h.textContent.toLowerCase().includes("number.go"))`, true)
	b.Want(t, `location.hash`, "#q=NUMBER.GO")
	b.Want(t, `document.getElementById("count").textContent`, fmt.Sprintf("%v of %v", some, all))
	b.Want(t, `document.getElementById("turn2").hidden`, true)
	b.Press("Escape")
	b.Want(t, shown, int(all))

	for hash, want := range map[string]string{
		"#kind=hook":            `document.querySelectorAll("#requests .hit:not([hidden])").length === 2 && !document.getElementById("turn1").hidden`,
		"#kind=prompt&turn=3":   `document.querySelectorAll("#frames .hit:not([hidden])").length === 1`,
		"#errors=1":             `document.querySelectorAll("#conversation .hit:not([hidden])").length === 1 && document.getElementById("errors").checked`,
		"#dir=in&kind=control":  `document.querySelectorAll("#requests .hit:not([hidden])").length === 3`,
		"#q=nothing-like-it":    `document.querySelectorAll(".nothing:not([hidden])").length === 3`,
		"#q=%3Cscript%3E&turn=": `document.getElementById("q").value === "<script>"`,
	} {
		b.Load(t, address+hash)
		b.Want(t, want, true)
	}
	b.NoComplaints(t)
}

func testPlaces(t *testing.T, b *browser.Browser, address string) {
	b.Load(t, address+"#f2")
	b.Want(t, `document.getElementById("f2").open`, true)
	b.Want(t, `document.getElementById("f2").getBoundingClientRect().top < innerHeight`, true)
	if *screenshots != "" {
		b.Screenshot(t, filepath.Join(*screenshots, "inspect-frame.png"))
	}
	// Line 17 is inside a run of pieces.
	b.Load(t, address+"#f17")
	b.Want(t, `document.querySelector(".frame[open] .what").textContent.includes("pieces of an answer")`, true)
	// A place that a filter hides is shown again.
	b.Load(t, address+"#q=nothing-like-it")
	b.Eval(t, `location.hash = "#turn1"`)
	b.Want(t, `new Promise(done => setTimeout(() => done(document.getElementById("turn1").hidden), 50))`, false)
	b.NoComplaints(t)
}

func testKeys(t *testing.T, b *browser.Browser, address string) {
	const here = `document.querySelector(".here")?.id ?? ""`
	b.Load(t, address)
	b.Press("j")
	first := b.Eval(t, here)
	b.Press("j")
	if second := b.Eval(t, here); first == "" || second == first {
		t.Errorf("j goes to %v, then to %v", first, second)
	}
	b.Press("k")
	b.Want(t, here, first)
	b.Want(t, `document.activeElement === document.querySelector(".here")`, true)
	b.Eval(t, `location.hash = "#" + document.querySelector("#turn1 .item.tool").id`)
	b.Want(t, `new Promise(done => setTimeout(() => done(document.querySelector(".here").classList.contains("tool")), 50))`, true)
	b.Press("Enter")
	b.Want(t, `document.querySelector(".here details").open`, true)
	b.Press("e")
	b.Want(t, `document.getElementById("errors").checked`, true)
	b.Press("Escape")
	b.Want(t, `document.getElementById("errors").checked`, false)
	b.Press("t")
	b.Want(t, `document.documentElement.dataset.theme`, "light")
	b.Press("t")
	b.Want(t, `document.documentElement.dataset.theme`, "dark")
	b.Press("t")
	b.Want(t, `document.documentElement.dataset.theme ?? "system"`, "system")
	b.Press("?")
	b.Want(t, `document.getElementById("keys").open`, true)
	b.NoComplaints(t)
}

// A bar of the timeline leads to what it shows, and with f or Shift to its frame. Keys reach
// all of them, in the order of time.
func testBars(t *testing.T, b *browser.Browser, address string) {
	const at, opened = `document.activeElement.dataset.frame ?? ""`, `[...document.querySelectorAll(".frame[open]")].map(f => f.id).join()`
	soon := func(expression string) string {
		return `new Promise(done => setTimeout(() => done(` + expression + `), 50))`
	}
	b.Load(t, address)
	b.Press("ArrowRight") // means nothing outside the bars
	b.Want(t, at, "")
	b.Press("b")
	b.Want(t, `document.activeElement === document.querySelector(".bar")`, true)
	b.Eval(t, `document.querySelector(".bar.tool").focus()`)
	tool := b.Eval(t, at).(string)
	b.Press("f")
	b.Want(t, soon(opened), tool)
	b.Want(t, `document.querySelector(".frame[open] .what").textContent.includes("Bash")`, true)
	b.Want(t, `document.querySelector(".frame.here").getBoundingClientRect().top < innerHeight`, true)

	b.Load(t, address)
	b.Eval(t, `document.querySelector(".bar.tool").focus()`)
	b.Press("ArrowRight")
	b.Press("ArrowLeft")
	b.Want(t, at, tool)
	b.Press("Enter")
	b.Want(t, soon(`document.querySelector(".here").id`), "i"+tool[1:])
	b.Press("f") // from there as well
	b.Want(t, soon(opened), tool)

	// The model's bar leads to its call in the list, which unfolds.
	b.Load(t, address)
	b.Want(t, `/context \S+.*≈ \$/.test(document.querySelector(".bar.model title").textContent)`, true)
	b.Eval(t, `document.querySelector(".bar.model").dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }))`)
	b.Want(t, soon(`document.querySelector(".calls tr.here").checkVisibility()`), true)
	b.Eval(t, `document.querySelector(".bar.model").dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, shiftKey: true }))`)
	b.Want(t, soon(`document.querySelectorAll(".frame[open]").length`), 1)
	b.NoComplaints(t)
}

// Two recordings side by side: what differs stands out, can be shown alone, and is as good
// to use as the rest, without a script.
func testCompared(t *testing.T, b *browser.Browser) {
	other := bytes.ReplaceAll(sample(t), []byte("refused a leading plus sign"), []byte("took no sign at all"))
	var reports []*inspect.Report
	for _, recording := range [][]byte{sample(t), other} {
		rep, err := inspect.Read(bytes.NewReader(recording), &inspect.Options{Source: "session.ndjson"})
		if err != nil {
			t.Fatal(err)
		}
		reports = append(reports, rep)
	}
	path := filepath.Join(t.TempDir(), "compared.html")
	var page bytes.Buffer
	if err := inspect.Compare(reports[0], reports[1]).WriteHTML(&page, inspect.Limits{}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, page.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	address := (&url.URL{Scheme: "file", Path: path}).String()
	for _, colours := range []string{"light", "dark"} {
		for name, width := range map[string]int{"wide": 1280, "narrow": 390} {
			b.Resize(width, 1180, colours)
			b.Load(t, address)
			b.Eval(t, `document.querySelectorAll("details").forEach(d => d.open = true)`)
			b.Want(t, `document.documentElement.scrollWidth <= innerWidth`, true)
			for _, v := range b.Violations(t) {
				t.Errorf("%s, %s: %s", name, colours, v)
			}
			if *screenshots != "" {
				b.Screenshot(t, filepath.Join(*screenshots, "compared-"+name+"-"+colours+".png"))
			}
		}
	}
	b.Resize(1280, 1180, "light")
	b.Load(t, address)
	b.Want(t, `[...document.querySelectorAll("article")].map(a => a.classList.contains("same")).join()`, "false,true,true")
	b.Want(t, `[...document.querySelectorAll(".pair:not(.same)")].map(p => p.querySelector(".hidden").textContent).join()`, "changed")
	b.Eval(t, `document.getElementById("only").click()`)
	b.Want(t, `[...document.querySelectorAll(".pair, article")].filter(e => e.checkVisibility()).length`, 2)
	b.NoComplaints(t)
}

// lowContrast lists texts that are hard to read against their background.
const lowContrast = `(() => {
	const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
	const rgba = (c) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
	const light = (c) => { const [r, g, b] = c.slice(0, 3).map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
	const bad = new Set();
	for (const e of document.querySelectorAll("body *:not(script):not(svg *)")) {
		if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !e.checkVisibility()) continue;
		let at = e, back = [0, 0, 0, 0];
		while (at && (back = rgba(getComputedStyle(at).backgroundColor))[3] < 255) at = at.parentElement;
		const [a, b] = [light(rgba(getComputedStyle(e).color)), light(at ? back : [255, 255, 255])].sort((x, y) => y - x);
		const ratio = (a + .05) / (b + .05);
		if (ratio < 4.5) bad.add(e.tagName + "." + e.className + " " + ratio.toFixed(2));
	}
	return [...bad].join(", ");
})()`

func testLooks(t *testing.T, b *browser.Browser, address string) {
	for _, tt := range []struct {
		name          string
		width, height int
		colours       string
	}{{"desktop", 1280, 1180, "light"}, {"dark", 1280, 1180, "dark"}, {"narrow", 390, 1400, "light"}, {"narrow-dark", 390, 1400, "dark"}} {
		b.Resize(tt.width, tt.height, tt.colours)
		b.Load(t, address)
		b.Want(t, `document.documentElement.scrollWidth <= innerWidth`, true)
		if low := b.Eval(t, lowContrast); low != "" {
			t.Errorf("%s: hard to read: %v", tt.name, low)
		}
		if pale := b.Eval(t, paleBars); pale != "" {
			t.Errorf("%s: bars that are hard to read: %v", tt.name, pale)
		}
		if *screenshots != "" {
			b.Screenshot(t, filepath.Join(*screenshots, "inspect-"+tt.name+".png"))
		}
		// The page is accessible, including the parts that are folded at first.
		b.Eval(t, `document.querySelectorAll("details").forEach(d => d.open = true)`)
		for _, v := range b.Violations(t) {
			t.Errorf("%s: %s", tt.name, v)
		}
		if *screenshots != "" {
			b.Screenshot(t, filepath.Join(*screenshots, "inspect-"+tt.name+"-open.png"))
		}
		b.Load(t, address)
		if *update && tt.name == "desktop" {
			b.Screenshot(t, "../../docs/inspect.png")
		}
	}
	b.Resize(1280, 1180, "light")
	b.NoComplaints(t)
}

// Bars whose text is hard to read on them.
const paleBars = `(() => {
	const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
	const light = (css) => {
		canvas.fillStyle = css; canvas.fillRect(0, 0, 1, 1);
		const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
		return .2126 * r + .7152 * g + .0722 * b;
	};
	return [...document.querySelectorAll(".bar:has(text)")].map(bar => {
		const [a, b] = [bar.querySelector("text"), bar.querySelector("rect")].map(e => light(getComputedStyle(e).fill)).sort((x, y) => y - x);
		return (a + .05) / (b + .05) < 4.5 ? bar.className.baseVal : "";
	}).filter(Boolean).join(", ");
})()`

// smallTargets lists what a finger can miss. Links in the flow of a text, and bars of the
// timeline, whose facts are in the lists below it, may be smaller.
const smallTargets = `[...new Set([...document.querySelectorAll("a, button, summary, input, select")]
	.filter(e => e.checkVisibility() && !e.closest("svg, .markdown, .skip, label.check"))
	.map(e => [e, e.getBoundingClientRect()])
	.filter(([e, r]) => r.height < 24 || r.width < 24)
	.map(([e, r]) => e.tagName + "." + e.className + " in " + e.parentElement.className + " " + r.width.toFixed() + "x" + r.height.toFixed()))].join(", ")`

// On a phone the rows of a list begin at the same place, whatever is behind them, and
// a word of a table is not broken: the table can be moved instead.
func testPhone(t *testing.T, b *browser.Browser, address string) {
	b.Resize(390, 1400, "light")
	b.Load(t, address)
	b.Want(t, `new Set([...document.querySelectorAll(".frame .line")].map(e => {
		const range = document.createRange();
		range.selectNodeContents(e);
		return Math.round(range.getBoundingClientRect().left);
	})).size`, 1)
	b.Want(t, `(() => {
		const range = document.createRange(), broken = [];
		for (const cell of document.querySelectorAll("#requests td:nth-child(3), #requests td:nth-child(5)")) {
			const text = cell.lastChild;
			for (const word of text.data.matchAll(/\S+/g)) {
				range.setStart(text, word.index); range.setEnd(text, word.index + word[0].length);
				if (range.getClientRects().length > 1) broken.push(word[0]);
			}
		}
		return broken.join(", ");
	})()`, "")
	for _, page := range []string{address, writePage(t, []byte(rich), inspect.Limits{}), writePage(t, []byte(troubled), inspect.Limits{})} {
		b.Load(t, page)
		b.Eval(t, `document.querySelectorAll("details").forEach(d => d.open = true)`)
		b.Want(t, smallTargets, "")
	}
	b.Load(t, address)
	b.Want(t, `[...document.querySelectorAll(".bar svg")].filter(s => s.checkVisibility() && s.querySelector("text").checkVisibility() && s.querySelector("text").getBBox().width + 6 > s.previousElementSibling.getBoundingClientRect().width).length`, 0)
	b.Resize(1280, 1180, "light")
	b.NoComplaints(t)
}

// What has a form of its own is as good to look at and to use as the rest.
func testForms(t *testing.T, b *browser.Browser) {
	address := writePage(t, []byte(rich), inspect.Limits{})
	b.Load(t, address)
	b.Want(t, `[...document.querySelectorAll(".question")].map(q => q.checkVisibility()).join()`, "true,true") // without a click
	b.Want(t, `document.querySelector(".markdown").textContent.includes("**")`, false)
	b.Want(t, `document.querySelectorAll(".markdown :is(ul, ol, table, blockquote, pre, strong, em)").length`, 7)
	b.Want(t, `[...document.querySelectorAll(".call .add, .call .del")].map(e => e.textContent[0]).join("")`, "-++")
	for _, colours := range []string{"light", "dark"} {
		for name, width := range map[string]int{"wide": 1280, "narrow": 390} {
			b.Resize(width, 1600, colours)
			b.Load(t, address)
			b.Eval(t, `document.querySelectorAll("details").forEach(d => d.open = true)`)
			b.Want(t, `document.documentElement.scrollWidth <= innerWidth`, true)
			for _, v := range b.Violations(t) {
				t.Errorf("%s, %s: %s", name, colours, v)
			}
			if *screenshots != "" {
				b.Screenshot(t, filepath.Join(*screenshots, "forms-"+name+"-"+colours+".png"))
			}
		}
	}
	b.Resize(1280, 1180, "light")
	b.NoComplaints(t)
}

// lanes lists the bars beside each name of a lane, by their first class.
const lanes = `(() => {
	const top = document.querySelector(".chart").getBoundingClientRect().top;
	return [...document.querySelectorAll(".lane-names span")].map(name => {
		const from = name.getBoundingClientRect(), kinds = new Set();
		for (const bar of document.querySelectorAll(".chart .bar")) {
			const y = bar.querySelector("rect").getBoundingClientRect().top;
			if (y >= from.top - 3 && y < from.bottom) kinds.add(bar.classList[1]);
		}
		return name.textContent + ": " + [...kinds].sort().join(" ");
	}).join(", ");
})()`

// overlaps counts the tools that seem to run while they wait for permission.
const overlaps = `(() => {
	const all = kind => [...document.querySelectorAll(".chart .bar." + kind + " > rect")].map(r => r.getBoundingClientRect());
	return all("tool").filter(t => all("permission").some(p => t.left < p.right - 1 && p.left < t.right - 1)).length;
})()`

// alike lists keys of the legend whose colours are hard to distinguish.
const alike = `(() => {
	const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
	const rgb = e => { canvas.fillStyle = getComputedStyle(e, "::before").backgroundColor; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3); };
	const keys = [...document.querySelectorAll(".key")], found = [];
	keys.forEach((a, i) => keys.slice(i + 1).forEach(b => {
		const [x, y] = [rgb(a), rgb(b)];
		if (Math.hypot(...x.map((v, n) => v - y[n])) < 40) found.push(a.textContent + " and " + b.textContent);
	}));
	return found.join(", ");
})()`

// The model's own time has a lane, and so has the wait for permission, which is not
// drawn as if the tool ran.
func testLanes(t *testing.T, b *browser.Browser) {
	b.Load(t, writePage(t, []byte(rich), inspect.Limits{}))
	b.Want(t, lanes, "turns: turn, model: model, tools run: tool, permission: permission, hooks, MCP: hook")
	b.Want(t, overlaps, 0)
	// Each kind has its own colour, which the legend explains. No two look alike.
	b.Want(t, `(() => {
		const of = kind => getComputedStyle(document.querySelector(".bar." + kind + " > rect")).fill;
		const key = kind => getComputedStyle(document.querySelector(".key." + kind), "::before").backgroundColor;
		const kinds = ["turn", "model", "permission", "hook"];
		return kinds.every(k => of(k) === key(k));
	})()`, true)
	for _, colours := range []string{"light", "dark"} {
		b.Resize(1280, 1180, colours)
		b.Want(t, alike, "")
	}
	b.Resize(1280, 1180, "light")
	b.NoComplaints(t)
}

// Hooks without an opinion are one line until the reader unfolds them.
func testFolded(t *testing.T, b *browser.Browser) {
	b.Load(t, writePage(t, []byte(rich), inspect.Limits{}))
	const shown = `[...document.querySelectorAll("#conversation .hooks .exchange")].filter(e => e.checkVisibility()).length`
	b.Want(t, `document.querySelectorAll("#conversation .hooks").length`, 1)
	b.Want(t, shown, 0)
	b.Eval(t, `document.querySelector("#conversation .hooks summary").click()`)
	b.Want(t, shown, 2)
	b.NoComplaints(t)
}

// The findings are in order, can be understood at a glance, and link to their
// frames.
func testFindings(t *testing.T, b *browser.Browser) {
	b.Load(t, writePage(t, []byte(troubled), inspect.Limits{}))
	b.Want(t, `document.title + ", " + document.querySelector("h1").textContent`, "Ship the release, Ship the release")
	b.Want(t, `[...document.querySelectorAll("#findings .badge, #findings details summary")].map(e => e.textContent.trim()).join(", ")`,
		"denied, failed, interrupted, retried, line 4, 1 name that this build does not know (the JSON is kept)")
	b.Want(t, `[...document.querySelectorAll("#findings li a")].every(a => document.getElementById(a.hash.slice(1)))`, true)
	b.Eval(t, `document.querySelector("#findings li a").click()`)
	b.Want(t, `new Promise(done => setTimeout(() => done(document.querySelector(".here b").textContent + " " + document.querySelector(".here code").textContent), 50))`, "Bash git push")
	b.NoComplaints(t)
}

// Every control has a name for users who cannot see it.
func testNames(t *testing.T, b *browser.Browser, address string) {
	b.Load(t, address)
	var tree struct {
		Nodes []struct {
			Ignored    bool
			Role, Name struct{ Value any }
		}
	}
	b.Must("Accessibility.enable", nil, nil)
	b.Must("Accessibility.getFullAXTree", nil, &tree)
	found := make(map[any]int)
	for _, n := range tree.Nodes {
		switch role := n.Role.Value; role {
		case "button", "searchbox", "combobox", "checkbox", "link", "table", "image", "heading", "region", "article":
			if n.Ignored {
				continue
			}
			found[role]++
			if n.Name.Value == nil || n.Name.Value == "" {
				t.Errorf("a %v has no name", role)
			}
		}
	}
	for _, role := range []string{"button", "searchbox", "combobox", "checkbox", "link", "heading", "article"} {
		if found[role] == 0 {
			t.Errorf("no %s in the tree of names, which has %v", role, found)
		}
	}
}

func testHostilePage(t *testing.T, b *browser.Browser) {
	address := writePage(t, hostileRecording(t), inspect.Limits{})
	b.Load(t, address)
	b.Want(t, `typeof window.pwned`, "undefined")
	b.Want(t, `document.querySelectorAll("img, iframe, script").length`, 1) // ours
	b.Want(t, `[...document.querySelectorAll("a")].every(a => a.getAttribute("href").startsWith("#"))`, true)
	b.Want(t, `document.querySelector(".item.prompt .text").textContent.includes("<script>window.pwned=1</script>")`, true)
	b.Want(t, `[...document.querySelectorAll("details")].map(d => d.open = true) && typeof window.pwned`, "undefined")
	b.NoComplaints(t)
	// The policy holds even if a text would get out.
	b.Eval(t, `document.body.append(Object.assign(document.createElement("script"), { textContent: "window.pwned = 1" }))`)
	b.Want(t, `typeof window.pwned`, "undefined")
	b.Complaints()
}

func testLargePage(t *testing.T, b *browser.Browser) {
	b.Load(t, writePage(t, large(10_000), inspect.Limits{}))
	b.Want(t, `document.querySelectorAll(".frame").length`, 5000)
	b.Want(t, `document.querySelector(".cuts").textContent.includes("5001 of 10001 frames are not listed")`, true)
	b.Want(t, `(() => { const q = document.getElementById("q"); q.value = "number 4321 "; q.dispatchEvent(new Event("input", { bubbles: true })); return new Promise(done => setTimeout(() => done(document.querySelectorAll(".frame:not([hidden])").length), 500)) })()`, 1)
	b.NoComplaints(t)
}
