package page_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// keyOf is the key in the fleet of the conversation at a path.
func keyOf(path string) string {
	return strings.Replace(strings.TrimPrefix(path, "/c/"), "~", "/", 1)
}

// ask asks a person about a command of a conversation that has no process, so that
// nothing but the test changes the question.
func (r *rig) ask(path, command string) string {
	r.t.Helper()
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		r.t.Fatal(err)
	}
	q, err := approval.NewQuestions(r.db, "p").Ask(r.t.Context(), approval.Question{
		Conversation: keyOf(path), Tool: "Bash", ToolUseID: "toolu_" + strings.ReplaceAll(command, " ", "_"), Input: input, Suggestions: []string{"Bash(make:*)"},
	}, store.Fence{})
	if err != nil {
		r.t.Fatal(err)
	}
	return q.ID
}

// Text typed on a card stays when the card is updated. When the card disappears,
// because another user was faster, the page shows that, and the rest of the sentence is
// not taken for keys that decide the next card.
func TestTypingOnACard(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	path := r.begin("shop-api", "hello")
	r.settled(path)
	zero, first := r.ask(path, "make zero"), r.ask(path, "make one")
	r.ask(path, "make two")
	r.pending(3)
	r.open(b)
	decide := func(id string) { // elsewhere
		t.Helper()
		a, err := r.server.Service().Approval(t.Context(), ada, id)
		if err == nil {
			_, err = r.server.Service().Decide(t.Context(), api.User{Name: "bob", Role: api.RoleAdmin}, id, api.Decision{Decision: "allow", Digest: a.Digest})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const one, reason = `document.querySelectorAll(".card")[0]`, `document.querySelector(".card textarea[name=message]")`
	b.Wait(t, `document.querySelectorAll(".card").length === 3`)
	b.Press("j")
	b.Press("j")
	b.Press("d")
	b.Wait(t, `document.activeElement.name === "message"`)
	b.Type("not to")
	decide(zero)
	b.Wait(t, `document.querySelectorAll(".card").length === 2`)
	b.Press("d")
	b.Want(t, `document.activeElement === `+reason+` && `+reason+`.value`, "not tod")
	b.Eval(t, one+`.querySelector("[name=stop]").checked = true`)
	b.Want(t, one+`.querySelector(".meta").textContent.includes("the agent waits")`, true)

	if _, err := approval.NewQuestions(r.db, "p").Defer(t.Context(), first, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	r.settled(r.begin("shop-api", "something else happens"))
	b.Wait(t, one+`.querySelector(".meta").textContent.includes("asleep until you answer")`)
	b.Press("a")
	b.Press("y")
	b.Want(t, `document.activeElement === `+reason+` && `+reason+`.value`, "not today")
	b.Want(t, one+`.querySelector("[name=stop]").checked && `+one+`.querySelector("details.deny").open`, true)

	decide(first)
	b.Wait(t, `document.querySelectorAll(".card").length === 1`)
	b.Wait(t, `document.querySelector(".flash")?.textContent.includes("What you were typing was not sent")`)
	b.Eval(t, `new Promise(done => setTimeout(done, 450))`) // a card that has just come ignores keys for 400 ms
	for _, key := range []string{"j", "u", "s", "t", " ", "a"} {
		b.Press(key)
	}
	b.Want(t, one+`.querySelector("form").ariaBusy`, nil)
	b.Want(t, `!!document.querySelector(".here")`, false)
	b.Eval(t, `document.dispatchEvent(new Event("pointerdown"))`) // the hands rest, or take the mouse
	b.Press("j")
	b.Want(t, one+`.classList.contains("here")`, true)
	complaints(t, r, b)
}
