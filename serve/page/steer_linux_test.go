package page_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
)

// begun waits until a CLI has a prompt.
func (r *rig) begun(path, text string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	follow, err := r.server.Service().Follow(ctx, ada, strings.TrimPrefix(path, "/c/"), 0)
	if err != nil {
		r.t.Fatal(err)
	}
	for e := range follow {
		if e.Type == api.EventPrompt && e.Prompt.Text == text && e.Prompt.State == "running" {
			return
		}
	}
	r.t.Fatalf("no CLI has the prompt %q", text)
}

// With the script, the button that steers is there while a turn runs. That turn reads
// its prompt; a prompt from the other button waits for the end of the turn.
func TestSteerInBrowser(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	path := r.begin("shop-api", "Clean up")
	b.Load(t, r.http.URL+path)
	b.Wait(t, `document.querySelector(".card [data-key-a]") && document.querySelector("[value=steer]")`)
	for _, button := range []string{"#send", "[value=steer]"} {
		b.Eval(t, `document.getElementById("prompt").focus()`)
		b.Type("Sent by " + button)
		b.Eval(t, fmt.Sprintf(`document.querySelector(%q).click()`, button))
		b.Wait(t, `document.getElementById("prompt").value === ""`)
	}
	b.Wait(t, `document.getElementById("polite").textContent === "Sent to the running turn."`)
	r.begun(path, "Sent by [value=steer]")
	b.Wait(t, `[...document.querySelectorAll(".queue li span")].map(s => s.textContent).join() === "Sent by #send"`)
	b.Eval(t, `document.querySelector(".card [data-key-a]").click()`)
	b.Wait(t, `document.querySelectorAll(".end").length === 3 && !document.querySelector("[value=steer]")`)
	b.Want(t, `[...document.querySelectorAll(".bubble, .item.text")].map(e => e.textContent.trim()).join(" | ")`,
		"Clean up | Sent by [value=steer] | The build directory is gone. | Sent by #send | You said: Sent by #send")
	b.Want(t, `[...document.querySelectorAll(".end")].filter(e => e.textContent.startsWith("answered in the turn that it steers")).length`, 1)
	complaints(t, r, b)
}
