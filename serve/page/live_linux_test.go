package page_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/claude-agent-go/claude/internal/markdown"
	"github.com/claude-agent-go/claude/serve/api"
)

// Text is shown as Markdown while it is written. A screen that was loaded before it was
// finished, and arrives afterwards, does not take it away: it stays until its final
// form is there, which looks the same and is in the same place.
func TestTextStaysUntilItsFinalForm(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	path := r.begin("shop-api", "Explain the rounding")
	b.Load(t, r.http.URL+path)
	b.Wait(t, `document.querySelector("#live .markdown strong")?.textContent === "truncates"`)

	// From here on the text is always there, once.
	b.Eval(t, `(() => {
		window.seen = new Set();
		const look = () => window.seen.add(document.getElementById("main").textContent.split("The cast").length - 1);
		new MutationObserver(look).observe(document.getElementById("main"), { subtree: true, childList: true, characterData: true });
		look();
	})()`)
	var old atomic.Int64
	arrive := make(chan struct{})
	front := func(w http.ResponseWriter, req *http.Request) bool {
		if req.URL.Path != path || old.Add(1) > 1 {
			return false
		}
		screen := httptest.NewRecorder()
		r.server.ServeHTTP(screen, req) // as it is now
		<-arrive
		w.WriteHeader(screen.Code)
		_, _ = screen.Body.WriteTo(w)
		return true
	}
	r.front.Store(&front)
	title := "Rounding"
	if _, err := r.server.Service().Change(t.Context(), ada, strings.TrimPrefix(path, "/c/"), api.Change{Title: &title}, ""); err != nil {
		t.Fatal(err)
	}
	until(t, b, "the old screen", func() bool { return old.Load() > 0 })
	close(r.hold)
	b.Wait(t, `document.querySelector("#live .markdown") && !document.querySelector("#live .open")`) // the stream has brought its end
	streamed := b.Eval(t, `document.querySelector("#live .markdown").innerHTML`)
	if want := asBrowser(explained); streamed != want {
		t.Errorf("when it is written it is\n%s\nwant\n%s", streamed, want)
	}
	place := b.Eval(t, `document.querySelector("#live .markdown").getBoundingClientRect().top + scrollY`)
	height := b.Eval(t, `document.querySelector("#live .markdown").getBoundingClientRect().height`)
	close(arrive)
	b.Wait(t, `document.querySelector(".item.text .markdown") && document.getElementById("live").textContent === ""`)
	b.Want(t, `[...window.seen].sort().join()`, "1")
	if shown := b.Eval(t, `document.querySelector(".item.text .markdown").innerHTML`).(string); coloured.ReplaceAllString(shown, "$1") != streamed || shown == streamed {
		t.Errorf("on the screen it is\n%s\nwant colours in\n%s", shown, streamed)
	}
	b.Want(t, `document.querySelector(".item.text").getBoundingClientRect().top + scrollY`, place)
	b.Want(t, `document.querySelector(".item.text").getBoundingClientRect().height`, height)
	complaints(t, r, b)
}

// asBrowser is the server's markup of a text as a browser writes it, without the colours
// of code: those come with the screen.
func asBrowser(text string) string {
	plain := coloured.ReplaceAllString(string(markdown.HTML(text)), "$1")
	return strings.NewReplacer("<br/>", "<br>", "<hr/>", "<hr>", "&#34;", `"`, "&#39;", "'").Replace(plain)
}

// coloured matches a piece of code that has a colour.
var coloured = regexp.MustCompile(`<span class="[kscnfta]">([^<]*)</span>`)

// The script shows Markdown as the server does, also at every place at which a text may
// be cut, and brings no element that the server would not.
func TestMarkdownInTheBrowser(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	b.Load(t, r.http.URL+"/login")
	show := func(text string) string {
		t.Helper()
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return b.Eval(t, `(() => { const e = document.createElement("div"); markdown(e, `+string(quoted)+`); return e.innerHTML })()`).(string)
	}
	for _, text := range []string{
		explained, "a **b** *c* ~~d~~ `e`", "# One\n## Two\ntext\nmore", "- a\n- b\n  - c\n  - d\n- e", "3. a\n4. b", "- [x] a\n- [ ] b", "> a\n> b\n\nc", "a\n\n---\n\nb",
		"```\nif a < b {\n```", "```go\nnot closed", "~~~\n```\n~~~", "|a|b|c|\n|---|:-:|--:|\n|*d*|`e`|f|", "|a|\n|---|", "[docs](https://example.com/x?a=1&b=2)", "see https://example.com/a.",
		"[https://good.example](https://evil.example/)", "![secret](https://evil.example/?q=1)", "[a](javascript:alert(1))", "[a](/v1/login)", "a <b onclick=x>c</b>", `\*a\* snake_case_name 2 * 3 * 4`,
		"1. one\n\n2. two\n\n   more of two\n", "* a\n\n* b", "para\n- item\n- item\n\nafter", "**bold *and italic* text**", "__bold__ _italic_", "a\u202eb", "\x1b[31mred", "",
	} {
		if got, want := show(text), asBrowser(text); got != want {
			t.Errorf("%q is\n%s\nwant\n%s", text, got, want)
		}
	}
	for i := range explained {
		show(explained[:i])
	}
	b.Eval(t, `window.shown = document.createElement("div")`)
	for _, text := range []string{hostile, strings.Repeat("**a", 5000), strings.Repeat("> ", 3000), strings.Repeat("- ", 2000), strings.Repeat("[", 9000), strings.Repeat("a\n", 20000), strings.Repeat("`", 9000)} {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		b.Want(t, `(() => {
			markdown(window.shown, `+string(quoted)+`);
			document.body.append(window.shown);
			return [...new Set([...window.shown.querySelectorAll("*")].flatMap(e => [e.localName, ...[...e.attributes].map(a => e.localName + "." + a.name + (a.name === "href" ? new URL(a.value).protocol : ""))]))]
				.filter(n => !/^(p|br|hr|ul|ol|li|blockquote|table|thead|tbody|tr|th|td|pre|code|em|strong|del|span|a)$|^(p|th|td|span)\.class$|^pre\.tabindex$|^ol\.start$|^a\.(rel|target|hrefhttps?:)$/.test(n)).join();
		})()`, "")
		b.Want(t, `typeof window.pwned`, "undefined")
	}
	complaints(t, r, b)
}
