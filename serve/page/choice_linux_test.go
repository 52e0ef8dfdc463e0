package page_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
)

// controls returns the values shown in the lists of a conversation, and whether it
// takes prompts.
const controls = `[...document.querySelectorAll(".controls select")].map(s => s.name + "=" + s.value + (s.selectedOptions.length === 1 ? "" : "?")).join() + (document.querySelector("form.prompt") ? "" : " ended")`

// Whatever changes a conversation, and from where, its controls show the values
// of the API: the browser's own memory of a list's value is not enough.
func TestControlsShowWhatHolds(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	path := r.begin("docs", "Say hello")
	r.settled(path)
	id := strings.TrimPrefix(path, "/c/")
	b.Load(t, r.http.URL+path)
	same := func(what string) {
		t.Helper()
		c, err := r.server.Service().Conversation(t.Context(), ada, id)
		if err != nil {
			t.Fatal(err)
		}
		mode := c.Mode
		if mode == "default" { // which the preset has
			mode = ""
		}
		want := "model=" + c.Model + ",mode=" + mode
		if c.Archived {
			want += " ended"
		}
		t.Logf("%s: %s", what, want)
		b.Wait(t, fmt.Sprintf(`(%s) === %q`, controls, want))
	}
	change := func(ch api.Change) {
		t.Helper()
		if _, err := r.server.Service().Change(t.Context(), ada, id, ch, ""); err != nil {
			t.Fatal(err)
		}
	}
	choose := func(name, value string) {
		t.Helper()
		b.Eval(t, fmt.Sprintf(`(() => { const s = document.querySelector("[name=%s]"); s.focus(); s.value = %q; s.dispatchEvent(new Event("change", { bubbles: true })) })()`, name, value))
	}
	chosen := func(name, value string) {
		t.Helper()
		choose(name, value)
		b.Wait(t, fmt.Sprintf(`document.querySelector("[name=%s] [selected]")?.value === %q`, name, value))
		same("chosen " + name + " " + value)
		c, err := r.server.Service().Conversation(t.Context(), ada, id)
		if got := map[string]string{"model": c.Model, "mode": strings.TrimPrefix(c.Mode, "default")}[name]; err != nil || got != value {
			t.Errorf("chosen was %s %q, and it is %q, %v", name, value, got, err)
		}
	}
	same("at first")
	b.Want(t, `document.querySelector("[name=mode]").selectedOptions[0].text`, "Default (Ask before acting)")
	yes, no, plan, edits, opus, none := true, false, "plan", "acceptEdits", "opus", ""
	change(api.Change{Mode: &plan})
	same("plan by the API")
	chosen("mode", "acceptEdits")
	chosen("mode", "")
	chosen("model", "sonnet")
	change(api.Change{Model: &opus, Mode: &edits}) // while the list has the focus
	same("both by the API")
	change(api.Change{Model: &none, Mode: &none})
	same("taken back by the API")
	chosen("mode", "plan")
	b.Load(t, r.http.URL+path)
	same("loaded again")

	// A change that is refused, or does not arrive, is not shown.
	refuse := func(w http.ResponseWriter, req *http.Request) bool {
		if !strings.HasSuffix(req.URL.Path, "/choose") {
			return false
		}
		w.WriteHeader(http.StatusBadGateway)
		return true
	}
	r.front.Store(&refuse)
	choose("mode", "acceptEdits")
	b.Wait(t, `document.querySelector(".flash")?.textContent.startsWith("Not sent")`)
	same("refused")
	r.front.Store(nil)
	b.Offline(true)
	choose("mode", "")
	b.Wait(t, `document.querySelector(".flash")?.textContent.includes("there is no connection")`)
	b.Offline(false)
	b.Eval(t, `dispatchEvent(new Event("online"))`)
	same("not arrived")

	change(api.Change{Archived: &yes})
	same("ended by the API")
	change(api.Change{Archived: &no})
	same("reopened by the API")
	b.Eval(t, `document.getElementById("prompt").focus()`)
	b.Type("Say it again")
	b.Press("Enter")
	b.Wait(t, `document.querySelectorAll(".item.text").length === 2`)
	same("after a turn")
	complaints(t, r, b, "ERR_INTERNET_DISCONNECTED", "502 (Bad Gateway)")
}
