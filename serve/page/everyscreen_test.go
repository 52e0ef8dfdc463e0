package page_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/serve/api"
)

// still is a browser that shows where a form leads instead of following it.
func still(c *http.Client) *http.Client {
	own := *c
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// post sends a form, and returns the status, where it leads and what it shows.
func (r *rig) post(c *http.Client, path string, form url.Values) (status int, to, body string) {
	r.t.Helper()
	reply, err := c.PostForm(r.http.URL+path, form)
	if err != nil {
		r.t.Fatal(err)
	}
	status, body = read(r.t, reply)
	return status, reply.Header.Get("Location"), body
}

// Anyone who is not logged in gets the login instead of any screen, and no form that they send
// does anything. A screen is not cached.
func TestEveryScreen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	path := r.begin("shop-api", "Fix the rounding")
	a := r.pending(1)[0]
	screens := map[string]string{ // with something that each has
		"/": "<title>", "/a/" + a.ID: a.ID, "/a/" + a.ID + "/full": "math.Round", "/h": "Fix the rounding", "/new": "shop-api", "/new?preset=docs": "The handbook",
		"/cost": "<title>", "/cost?by=user": "<title>", "/cost?by=nothing": "<title>", "/logins": "<title>", path: "Fix the rounding", path + "/changes": "<title>",
	}
	forms := []string{
		"/a/" + a.ID, "/new", "/logins/none/end", "/s/none", path + "/prompt", path + "/take-back", path + "/interrupt", path + "/release",
		path + "/retry", path + "/rewind", path + "/fork", path + "/choose", path + "/delete", path + "/read", path + "/prewarm",
	}
	viewer := r.client(api.User{Name: "eve", Role: api.RoleViewer})
	none := still(&http.Client{})
	for screen, has := range screens {
		status, body := get(t, viewer, r.http.URL+screen)
		if status != http.StatusOK || !strings.Contains(body, has) {
			t.Errorf("%s: status %d, lacks %q", screen, status, has)
		}
		reply, err := none.Get(r.http.URL + screen)
		if err != nil {
			t.Fatal(err)
		}
		status, body = read(t, reply)
		if status != http.StatusUnauthorized || !strings.Contains(body, `name="token"`) || strings.Contains(body, "rounding") || strings.Contains(body, a.ID) && !strings.Contains(screen, a.ID) {
			t.Errorf("%s without a login: status %d\n%s", screen, status, body)
		}
		if h := reply.Header; h.Get("Cache-Control") != "no-store" || h.Get("Content-Type") != "text/html; charset=utf-8" || h.Get("X-Frame-Options") != "DENY" || !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %v", screen, reply.Header)
		}
	}
	for _, form := range forms {
		values := url.Values{"decision": {"allow"}, "digest": {a.Digest}, "preset": {"shop-api"}, "prompt": {"x"}, "seq": {"1"}, "shared": {"no"}}
		if status, to, body := r.post(none, form, values); status != http.StatusUnauthorized || to != "" || !strings.Contains(body, `name="token"`) {
			t.Errorf("%s without a login: status %d to %q", form, status, to)
		}
	}
	if still := r.pending(1)[0]; still.State != api.ApprovalPending {
		t.Errorf("the approval is %s", still.State)
	}
	for _, nowhere := range []string{"/none", "/c/ada~none", "/a/none", "/c/ada~none/changes"} {
		if status, body := get(t, viewer, r.http.URL+nowhere); status != http.StatusNotFound || !strings.Contains(body, "<title>") {
			t.Errorf("%s: status %d", nowhere, status)
		}
	}
}

// The login takes a token or a whole link, leads to where people wanted to go and nowhere
// else, and ends with the logout.
func TestLoginForm(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	service := r.server.Service()
	if status, body := get(t, &http.Client{}, r.http.URL+"/login?to=%2Fh%3Fq%3Dx"); status != http.StatusOK || !strings.Contains(body, `value="/h?q=x"`) {
		t.Errorf("the login: status %d\n%s", status, body)
	}
	jar := newJar(t)
	c := still(&http.Client{Jar: jar})
	if status, to, body := r.post(c, "/login", url.Values{"token": {"ccl_0123456789abcdef.wrong"}, "to": {"/h"}}); status != http.StatusUnauthorized || to != "" || !strings.Contains(body, `value="/h"`) || strings.Contains(body, "wrong\"") {
		t.Errorf("a wrong token: status %d to %q\n%s", status, to, body)
	}
	if status, _ := get(t, c, r.http.URL+"/"); status != http.StatusUnauthorized {
		t.Errorf("logged in with a wrong token: status %d", status)
	}
	for to, want := range map[string]string{
		"/h": "/h", "/h?q=x": "/h?q=x", "": "/", "h": "/", "https://evil.example/": "/", "//evil.example": "/", `/\evil.example`: "/", "/\t/evil.example": "/", "javascript:alert(1)": "/",
	} {
		link := r.link(ada)
		status, got, _ := r.post(c, "/login", url.Values{"token": {" " + link + " "}, "to": {to}})
		if status != http.StatusSeeOther || got != want {
			t.Errorf("to %q: status %d to %q", to, status, got)
		}
	}
	for _, to := range []string{"/%2Fevil.example", "/%2F%2Fevil.example", "/%5Cevil.example", "/.//evil.example", "/x/..//evil.example"} {
		_, got, _ := r.post(c, "/login", url.Values{"token": {r.link(ada)}, "to": {to}})
		base, err := url.Parse(r.http.URL)
		if err != nil {
			t.Fatal(err)
		}
		if at, err := base.Parse(got); err != nil || at.Host != base.Host || strings.HasPrefix(got, "//") || strings.HasPrefix(got, `/\`) {
			t.Errorf("to %q: %q leads to %v, %v", to, got, at, err)
		}
	}
	if status, _ := get(t, c, r.http.URL+"/"); status != http.StatusOK {
		t.Errorf("after the login: status %d", status)
	}
	list, err := service.Logins(t.Context(), ada)
	if err != nil || len(list.Items) == 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	at, err := url.Parse(r.http.URL)
	if err != nil {
		t.Fatal(err)
	}
	old := jar.Cookies(at)
	if status, to, _ := r.post(c, "/logout", nil); status != http.StatusSeeOther || to != "/login" || len(jar.Cookies(at)) != 0 {
		t.Errorf("the logout: status %d to %q, cookies %v", status, to, jar.Cookies(at))
	}
	jar.SetCookies(at, old)
	if status, _ := get(t, c, r.http.URL+"/"); status != http.StatusUnauthorized {
		t.Errorf("after the logout: status %d", status)
	}
	if after, err := service.Logins(t.Context(), ada); err != nil || len(after.Items) != len(list.Items)-1 {
		t.Errorf("%d logins, were %d, %v", len(after.Items), len(list.Items), err)
	}
	if status, _, _ := r.post(c, "/login", url.Values{"token": {strings.Repeat("x", 100<<10)}}); status == http.StatusOK || status == http.StatusSeeOther {
		t.Errorf("a token of 100 KiB: status %d", status)
	}
}

// Each form does what its button says, leads back to the conversation, and reports
// what it did.
func TestEveryForm(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	service, ctx := r.server.Service(), t.Context()
	c := still(r.client(ada))
	status, to, _ := r.post(c, "/new", url.Values{"preset": {"shop-api"}, "prompt": {"slow"}, "shared": {"yes"}})
	id, ok := strings.CutPrefix(to, "/c/")
	if status != http.StatusSeeOther || !ok {
		t.Fatalf("begun: status %d to %q", status, to)
	}
	conversation := func() api.Conversation {
		t.Helper()
		v, err := service.Conversation(ctx, ada, id)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if v := conversation(); !v.Shared || v.Preset != "shop-api" || v.Owner != "ada" {
		t.Errorf("begun: %+v", v)
	}
	form := func(path, did string, values url.Values) {
		t.Helper()
		if status, to, body := r.post(c, "/c/"+id+path, values); status != http.StatusSeeOther || to != "/c/"+id+"?did="+did {
			t.Errorf("%s: status %d to %q\n%s", path, status, to, body)
		} else if status, body := get(t, c, r.http.URL+to); status != http.StatusOK || !strings.Contains(body, "<main") {
			t.Errorf("%s: status %d", to, status)
		}
	}
	refused := func(path string, values url.Values) {
		t.Helper()
		if status, to, _ := r.post(c, "/c/"+id+path, values); status != http.StatusBadRequest || to != "" {
			t.Errorf("%s with %v: status %d to %q", path, values, status, to)
		}
	}
	queued := uuid.New()
	for range 2 { // a second tap
		form("/prompt", "sent", url.Values{"prompt": {"and <then>"}, "id": {queued}})
	}
	form("/prompt", "sent", url.Values{"prompt": {"later"}, "id": {uuid.New()}, "delivery": {"queue"}})
	refused("/prompt", url.Values{"prompt": {" \n"}, "id": {uuid.New()}})
	refused("/prompt", url.Values{"id": {uuid.New()}})
	refused("/prompt", url.Values{"prompt": {"x"}, "delivery": {"now"}})
	prompts, err := service.Prompts(ctx, ada, id)
	if err != nil || len(prompts) != 3 || prompts[1].ID != queued || prompts[1].Text != "and <then>" {
		t.Errorf("the prompts are %+v, %v", prompts, err)
	}
	form("/take-back", "back", url.Values{"prompt": {queued}})
	if ticket, err := r.fleet.Prompt(ctx, strings.Replace(id, "~", "/", 1), queued); err != nil || ticket.Status != fleet.PromptCancelled {
		t.Errorf("after it was taken back: %+v, %v", ticket, err)
	}
	form("/retry", "retry", nil)
	for _, change := range []struct {
		name, value string
		holds       func(api.Conversation) bool
	}{
		{"model", "claude-opus-4-5", func(v api.Conversation) bool { return v.Model == "claude-opus-4-5" }},
		{"mode", "plan", func(v api.Conversation) bool { return v.Mode == "plan" }},
		{"shared", "no", func(v api.Conversation) bool { return !v.Shared }},
		{"shared", "yes", func(v api.Conversation) bool { return v.Shared }},
	} {
		before := conversation()
		form("/choose", "chosen", url.Values{change.name: {change.value}})
		after := conversation()
		if !change.holds(after) || after.Archived != before.Archived || change.name != "model" && after.Model != before.Model || change.name != "mode" && after.Mode != before.Mode || change.name != "shared" && after.Shared != before.Shared {
			t.Errorf("%s %s: %+v, before %+v", change.name, change.value, after, before)
		}
	}
	if status, _, _ := r.post(c, "/c/"+id+"/choose", url.Values{"mode": {"bypassPermissions"}}); status != http.StatusUnprocessableEntity {
		t.Errorf("a mode that the preset lacks: status %d", status)
	}
	form("/interrupt", "interrupt", nil)
	r.settled("/c/" + id)
	for _, seq := range []string{"", "x", "0", "-1"} {
		refused("/read", url.Values{"seq": {seq}})
	}
	form("/read", "read", url.Values{"seq": {"1"}})
	status, to, _ = r.post(c, "/c/"+id+"/fork", nil)
	if copied, ok := strings.CutPrefix(to, "/c/"); status != http.StatusSeeOther || !ok || copied == id {
		t.Errorf("copied: status %d to %q", status, to)
	} else if v, err := service.Conversation(ctx, ada, copied); err != nil || v.Preset != "shop-api" || v.Dir != conversation().Dir || !strings.HasPrefix(v.Title, "Copy of ") || v.Shared {
		t.Errorf("the copy is %+v, %v", v, err)
	}
}

// An unreadable decision decides nothing, and the page explains what to do.
func TestBadDecisions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	path := r.begin("shop-api", "Fix the rounding")
	a := r.pending(1)[0]
	c := still(r.client(ada))
	for name, values := range map[string]url.Values{
		"nothing":        {},
		"another verb":   {"decision": {"maybe"}},
		"another case":   {"decision": {"Allow"}},
		"no number":      {"decision": {"remember"}},
		"not a number":   {"decision": {"remember x"}},
		"a large number": {"decision": {"remember 99"}},
		"a negative":     {"decision": {"remember -1"}},
		"not JSON":       {"decision": {"edit"}, "input": {"{"}},
		"no input":       {"decision": {"edit"}},
		"a list":         {"decision": {"edit"}, "input": {"[]"}},
		"an answer":      {"decision": {"answer"}, "content": {"{"}},
		"no questions":   {"decision": {"answer"}},
		"questions":      {"decision": {"answer"}, "questions": {"101"}},
		"no answer":      {"decision": {"answer"}, "questions": {"1"}},
		"not a question": {"decision": {"answer"}, "questions": {"1"}, "q0": {"x"}},
	} {
		values.Set("digest", a.Digest)
		if status, to, body := r.post(c, "/a/"+a.ID, values); status != http.StatusBadRequest || to != "" || !strings.Contains(body, "<title>") {
			t.Errorf("%s: status %d to %q", name, status, to)
		}
	}
	if status, _, _ := r.post(c, "/a/"+a.ID, url.Values{"digest": {a.Digest}, "decision": {"deny"}, "message": {strings.Repeat("x", 5<<20)}}); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a form of 5 MiB: status %d", status)
	}
	if now := r.pending(1)[0]; now.ID != a.ID || now.State != api.ApprovalPending {
		t.Fatalf("%+v", now)
	}
	for back, want := range map[string]string{"": "/?did=deny"} {
		if status, to, _ := r.post(c, "/a/"+a.ID, url.Values{"digest": {a.Digest}, "decision": {"deny"}, "message": {"not so"}, "back": {back}}); status != http.StatusSeeOther || to != want {
			t.Errorf("denied: status %d to %q", status, to)
		}
	}
	r.settled(path)
	got, err := r.server.Service().Approval(t.Context(), ada, a.ID)
	if err != nil || got.State != api.ApprovalDenied || got.DecidedBy != "ada" || got.Message != "not so" {
		t.Errorf("%+v, %v", got, err)
	}
}

// An input that a person edits is the one that the tool gets, and what leads back keeps its
// query.
func TestEditWithForm(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	path := r.begin("shop-api", "Clean the build")
	a := r.pending(1)[0]
	input, err := json.Marshal(map[string]string{"command": "make clean"})
	if err != nil {
		t.Fatal(err)
	}
	status, to, body := r.post(still(r.client(ada)), "/a/"+a.ID, url.Values{"digest": {a.Digest}, "decision": {"edit"}, "input": {string(input)}, "back": {"/?q=make"}})
	if status != http.StatusSeeOther || to != "/?did=allow&q=make" {
		t.Fatalf("status %d to %q\n%s", status, to, body)
	}
	r.settled(path)
	got, err := r.server.Service().Approval(t.Context(), ada, a.ID)
	if err != nil || got.State != api.ApprovalAllowed || got.DecidedAt.IsZero() || time.Since(got.DecidedAt) > time.Hour {
		t.Errorf("%+v, %v", got, err)
	}
	q, err := r.fleet.Approvals().Get(t.Context(), a.ID)
	if err != nil || q.Answer == nil {
		t.Fatalf("%+v, %v", q, err)
	}
	if edited, changed := q.Answer.Decision.Input(); !changed || fmt.Sprintf("%s", edited) != string(input) {
		t.Errorf("the tool got %s", edited)
	}
}
