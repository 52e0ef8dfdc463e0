package page_test

import (
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/browser"
	"github.com/claude-agent-go/claude/serve/api"
)

// endLogins logs all users out.
func (r *rig) endLogins() {
	r.t.Helper()
	list, err := r.server.Service().Logins(r.t.Context(), ada)
	if err != nil || len(list.Items) == 0 {
		r.t.Fatalf("%+v, %v", list, err)
	}
	for _, l := range list.Items {
		if err := r.server.Service().EndLogin(r.t.Context(), ada, l.ID); err != nil {
			r.t.Fatal(err)
		}
	}
}

// logIn pastes the link for a user into the login form that is shown.
func (r *rig) logIn(b *browser.Browser, u api.User) {
	r.t.Helper()
	b.Wait(r.t, `document.documentElement.dataset.screen === "login" && document.getElementById("token")`)
	b.Eval(r.t, `document.getElementById("token").focus()`)
	b.Type(r.link(u))
	b.Eval(r.t, `document.getElementById("token").form.requestSubmit()`)
	b.Wait(r.t, `document.body.dataset.user === "`+u.Name+`"`)
}

// A prompt that is sent, or just typed, after the login has ended is there again after
// the next login of the same person, and can be sent. Another user who logs in
// there does not see it, and then it is gone for good.
func TestTypedWhenTheLoginEnds(t *testing.T) {
	bob := api.User{Name: "bob", Role: api.RoleOperator}
	r := newRig(t)
	path := r.begin("shop-api", "hello")
	r.settled(path)
	const prompt = `document.getElementById("prompt")`
	typeIn := func(b *browser.Browser, where, text string) {
		t.Helper()
		b.Load(t, r.http.URL+where)
		b.Want(t, prompt+`.value`, "")
		b.Eval(t, prompt+`.focus()`)
		b.Type(text)
	}
	sendIt := func(b *browser.Browser) { b.Eval(t, prompt+`.form.requestSubmit()`) }
	for name, c := range map[string]struct {
		where string
		out   func(b *browser.Browser)
	}{
		"sent":      {path, sendIt},
		"typed":     {path, func(*browser.Browser) { r.settled(r.begin("shop-api", "something else happens")) }},
		"beginning": {"/new", sendIt},
	} {
		t.Run(name, func(t *testing.T) {
			text := "Remember this: " + name
			b := chromium.Open(t)
			r.open(b)
			typeIn(b, c.where, text)
			r.endLogins()
			c.out(b)
			r.logIn(b, ada)
			if b.Eval(t, `location.pathname`) != c.where { // a form that begins something does not lead back
				b.Load(t, r.http.URL+c.where)
			}
			b.Wait(t, `document.querySelector(".flash")?.textContent.includes("here again, and was not sent")`)
			b.Want(t, prompt+`.value`, text)
			sendIt(b)
			b.Wait(t, `location.pathname.startsWith("/c/") && [...document.querySelectorAll(".item.prompt")].some(p => p.textContent.includes("`+text+`"))`)
			b.Load(t, r.http.URL+c.where)
			b.Want(t, prompt+`.value`, "")

			typeIn(b, c.where, "ada's secret")
			r.endLogins()
			c.out(b)
			r.logIn(b, bob)
			b.Want(t, prompt+`?.value ?? ""`, "") // where the login leads
			for _, u := range []api.User{bob, ada} {
				b.Load(t, r.http.URL+c.where)
				b.Wait(t, `document.body.dataset.user === "`+u.Name+`"`)
				b.Want(t, prompt+`.value`, "")
				b.Want(t, `sessionStorage.length`, 0.0)
				if u == bob {
					r.endLogins()
					b.Load(t, r.http.URL+c.where)
					r.logIn(b, ada)
				}
			}
			for _, complaint := range b.Complaints() { // the answers to those who are not logged in
				if !strings.Contains(complaint, "401") && !strings.Contains(complaint, r.http.URL) {
					t.Errorf("the browser complains: %s", complaint)
				}
			}
		})
	}
}

// If another user logs in in another tab, the screen is theirs with the next
// change, not a mixture: text typed here is gone, and text they type is not kept as
// the first user's draft.
func TestSomebodyElseLogsInElsewhere(t *testing.T) {
	r := newRig(t)
	path := r.begin("shop-api", "hello")
	r.settled(path)
	b := chromium.Open(t)
	r.open(b)
	b.Load(t, r.http.URL+path)
	b.Eval(t, `document.getElementById("prompt").focus()`)
	b.Type("ada's secret")
	b.Eval(t, `fetch("/login", {method: "POST", body: new URLSearchParams({token: "`+r.link(api.User{Name: "bob", Role: api.RoleOperator})+`", sure: "1"}), redirect: "manual"})`)
	title := "Something happens"
	if _, err := r.server.Service().Change(t.Context(), ada, strings.TrimPrefix(path, "/c/"), api.Change{Title: &title}, ""); err != nil {
		t.Fatal(err)
	}
	b.Wait(t, `document.body?.dataset.user === "bob"`)
	b.Want(t, `document.getElementById("prompt")?.value ?? ""`, "")
	b.Want(t, `sessionStorage.length`, 0.0)
}

// A refused first prompt of a conversation is restored, and the page does not claim
// that the user was logged out.
func TestTypedAndRefused(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	b.Load(t, r.http.URL+"/new")
	b.Eval(t, `document.getElementById("prompt").focus()`)
	b.Type("Remember this")
	b.Eval(t, `document.querySelector("[name=preset]:checked").value = "gone"`)
	b.Eval(t, `document.getElementById("prompt").form.requestSubmit()`)
	b.Wait(t, `document.documentElement.dataset.screen === "problem"`)
	b.Load(t, r.http.URL+"/new")
	b.Wait(t, `document.querySelector(".flash")?.textContent.includes("here again")`)
	b.Want(t, `document.getElementById("prompt").value`, "Remember this")
	b.Want(t, `document.querySelector(".flash").textContent.includes("logged out")`, false)
}
