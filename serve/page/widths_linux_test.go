package page_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/browser"
	"github.com/claude-agent-go/claude/serve/api"
)

// narrow lists the texts that are broken over lines in a column of fewer than twelve
// characters, or cut off in one.
const narrow = `(() => {
	document.querySelectorAll("details:not(.me)").forEach(d => { d.open = true });
	const found = new Set(), walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), blocks = new Map();
	while (walk.nextNode()) {
		const node = walk.currentNode, text = node.data.trim();
		let block = node.parentElement;
		if (!text || !block.checkVisibility({ visibilityProperty: true }) || block.closest(".hidden, .skip, script, style, textarea, option")) continue;
		while (getComputedStyle(block).display.startsWith("inline") && !getComputedStyle(block).display.includes("-")) block = block.parentElement;
		const range = document.createRange();
		range.selectNodeContents(node);
		const had = blocks.get(block) ?? { text: "", lines: new Map() };
		had.text += text + " ";
		for (const r of range.getClientRects()) if (r.width > 0) had.lines.set(Math.round(r.top / 4), true);
		had.node ??= node;
		blocks.set(block, had);
	}
	const ruler = document.createElement("canvas").getContext("2d");
	for (const [block, { text, lines }] of blocks) {
		const style = getComputedStyle(block), cut = style.overflowX !== "visible" && block.scrollWidth > block.clientWidth;
		if (lines.size < 2 && !cut || text.length < 13) continue;
		ruler.font = style.font;
		const letter = ruler.measureText("abcdefghijklmnopqrstuvwxyz").width / 26;
		const width = block.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
		if (width < 12 * letter) found.add(Math.round(width) + " px, " + (width / letter).toFixed(1) + " characters in " + lines.size + " lines: " + text.slice(0, 60));
	}
	return [...found].join("\n");
})()`

// readable checks every screen of a map at five widths.
func readable(t *testing.T, b *browser.Browser, base string, screens map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(screens)) {
		b.Load(t, base+screens[name])
		for _, width := range []int{320, 390, 600, 768, 1280} {
			b.Resize(width, 900, "light")
			if found := b.Eval(t, narrow).(string); found != "" {
				t.Errorf("%s at %d px has narrow columns:\n%s", name, width, found)
			}
			if wide := b.Eval(t, `document.documentElement.scrollWidth - innerWidth`).(float64); wide > 0 {
				t.Errorf("%s is %v px wider than the window of %d", name, wide, width)
			}
			if *shots != "" {
				b.Screenshot(t, fmt.Sprintf("%s/%s-%d.png", *shots, name, width))
			}
		}
	}
}

// No text column is narrower than twelve characters, on any screen and at any usual
// width, however long titles, paths and names are.
func TestReadableAtAllWidths(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	screens := r.screens()
	words := "Summarise all open issues of the shop and say which of them a customer would notice first, and why that is so"
	long := strings.Repeat("issue_", 20) + "end " + words
	for i, title := range []string{words, long} {
		path := r.begin("shop-api", title)
		r.settled(path)
		screens[fmt.Sprintf("long conversation %d", i)] = path
		r.session(fmt.Sprintf("00000000-0000-4000-8000-00000000001%d", i), r.deep(i), title, "It begins well.")
	}
	for _, name := range []string{"bartholomew.featherstonehaugh@accounting.example.com", "eve"} {
		r.client(api.User{Name: name, Role: api.RoleOperator})
		b2 := chromium.Open(t) // with the long name of a real browser
		b2.Must("Page.navigate", map[string]any{"url": r.link(api.User{Name: name, Role: api.RoleViewer})}, nil)
		b2.Wait(t, `document.documentElement.dataset.screen === "inbox"`)
	}
	screens["rewind"] = r.edited()
	readable(t, b, r.http.URL, screens)
	complaints(t, r, b, "404 (Not Found)")
}

// On a phone nobody agrees because it is easier: "Allow" or "Answer" and "Deny" are beside
// each other, equally large, and large enough for a thumb.
func TestEqualReach(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	r.begin("shop-api", "Fix the rounding")
	r.begin("docs", "Clean the build directory")
	r.begin("docs", "Which database?")
	r.pending(3)
	for _, width := range []int{320, 390} {
		b.Resize(width, 844, "light")
		b.Load(t, r.http.URL+"/")
		b.Wait(t, `document.querySelectorAll(".card").length === 3`)
		b.Want(t, `[...document.querySelectorAll(".card")].map(card => {
			const [allow, deny] = ["[data-key-a]", "[value=deny]"].map(button => card.querySelector("form.decide > .buttons " + button)?.getBoundingClientRect() ?? {});
			return allow.top === deny.top && allow.height === deny.height && Math.abs(allow.width - deny.width) < 1 && deny.height >= 44 && deny.width > innerWidth / 3;
		}).join()`, "true,true,true")
	}
	complaints(t, r, b)
}
