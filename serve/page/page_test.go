package page_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/serve/api"
)

func newJar(t *testing.T) http.CookieJar {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return jar
}

// get loads a screen.
func get(t *testing.T, c *http.Client, address string) (int, string) {
	t.Helper()
	reply, err := c.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, reply)
}

func read(t *testing.T, reply *http.Response) (int, string) {
	t.Helper()
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply.StatusCode, string(body)
}

// A person decides without a script: by the form of the list, and by that of a deep
// link. The second to decide learns who was first.
func TestDecideWithForms(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client(ada)
	path := r.begin("shop-api", "Fix the rounding")
	a := r.pending(1)[0]
	status, inbox := get(t, c, r.http.URL+"/")
	for _, want := range []string{`action="/a/` + a.ID + `"`, a.Digest, `<mark>math.<span class="f">Round</span>(</mark>`, "Allow"} {
		if status != http.StatusOK || !strings.Contains(inbox, want) {
			t.Errorf("%d: the inbox has no %q", status, want)
		}
	}
	if status, alone := get(t, c, r.http.URL+"/a/"+a.ID); status != http.StatusOK || !strings.Contains(alone, a.Digest) {
		t.Errorf("%d: the approval's own screen has no form", status)
	}
	form := url.Values{"digest": {a.Digest}, "decision": {"allow"}, "back": {"//evil.example/"}}
	reply, err := c.PostForm(r.http.URL+"/a/"+a.ID, form)
	if err != nil {
		t.Fatal(err)
	}
	if status, body := read(t, reply); status != http.StatusOK || reply.Request.URL.Path != "/" || !strings.Contains(body, "Allowed.") {
		t.Errorf("the decision ends with %d at %s", status, reply.Request.URL)
	}
	other := r.client(api.User{Name: "bob", Role: api.RoleApprover})
	form.Set("decision", "deny")
	if reply, err = other.PostForm(r.http.URL+"/a/"+a.ID, form); err != nil {
		t.Fatal(err)
	}
	if status, body := read(t, reply); status != http.StatusConflict || !strings.Contains(body, "ada") {
		t.Errorf("the second decision ends with %d: %s", status, body)
	}
	r.settled(path)
	if data, err := os.ReadFile(filepath.Join(r.dir, "price.go")); err != nil || !strings.Contains(string(data), "math.Round") {
		t.Errorf("the file is %q (%v)", data, err)
	}
	_, conversation := get(t, c, r.http.URL+path)
	for _, want := range []string{"The reason is in", `<span class="host">(go.dev)</span>`, "allowed by ada", `<td class="right">29</td>`} {
		if !strings.Contains(conversation, want) {
			t.Errorf("the conversation has no %q", want)
		}
	}
	if _, changes := get(t, c, r.http.URL+path+"/changes"); !strings.Contains(changes, "price.go") || !strings.Contains(changes, `<mark>math.<span class="f">Round</span>(</mark>`) {
		t.Error("the changes do not show the edit")
	}
}

// settled waits until a prompt of a conversation has ended and none is open. A prompt
// that was taken back has ended too, while others may not have begun.
func (r *rig) settled(path string) {
	r.t.Helper()
	r.ended(path, 1)
}

// ended waits until so many prompts of a conversation have ended and none is open.
func (r *rig) ended(path string, prompts int) {
	r.t.Helper()
	follow, err := r.server.Service().Follow(r.t.Context(), ada, strings.TrimPrefix(path, "/c/"), 0)
	if err != nil {
		r.t.Fatal(err)
	}
	open := make(map[string]bool)
	for e := range follow {
		switch e.Type {
		case api.EventPrompt:
			open[e.Prompt.ID] = true
		case api.EventTurn:
			prompts--
			if delete(open, e.Turn.Prompt); len(open) == 0 && prompts <= 0 {
				return
			}
		}
	}
	r.t.Fatal("the turn does not end")
}

// A question of the agent is answered by a form, and a form without an answer
// decides nothing.
func TestAnswerWithForms(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client(ada)
	path := r.begin("shop-api", "Which database?")
	a := r.pending(1)[0]
	if _, inbox := get(t, c, r.http.URL+"/"); !strings.Contains(inbox, `type="radio" name="q0" value="Postgres"`) {
		t.Error("the inbox does not offer the options")
	}
	form := url.Values{"digest": {a.Digest}, "decision": {"answer"}, "questions": {"1"}}
	reply, err := c.PostForm(r.http.URL+"/a/"+a.ID, form)
	if err != nil {
		t.Fatal(err)
	}
	if status, _ := read(t, reply); status != http.StatusBadRequest {
		t.Errorf("an empty answer ends with %d", status)
	}
	form.Set("q0", "Postgres")
	if reply, err = c.PostForm(r.http.URL+"/a/"+a.ID, form); err != nil {
		t.Fatal(err)
	}
	if status, body := read(t, reply); status != http.StatusOK {
		t.Errorf("the answer ends with %d: %s", status, body)
	}
	r.settled(path)
	if _, conversation := get(t, c, r.http.URL+path); !strings.Contains(conversation, "Good, Postgres it is.") {
		t.Error("the agent did not get the answer")
	}
}

// Every bad form is answered with words that explain what is wrong, and without a
// login nothing can be seen or done.
func TestBadForms(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client(ada)
	r.begin("shop-api", "Clean up")
	a := r.pending(1)[0]
	for name, form := range map[string]url.Values{
		"no decision":    {"digest": {a.Digest}},
		"bad edit":       {"digest": {a.Digest}, "decision": {"edit"}, "input": {"{"}},
		"bad remember":   {"digest": {a.Digest}, "decision": {"remember x"}},
		"no such rule":   {"digest": {a.Digest}, "decision": {"remember 99"}},
		"no questions":   {"digest": {a.Digest}, "decision": {"answer"}},
		"another digest": {"digest": {"x"}, "decision": {"allow"}},
	} {
		reply, err := c.PostForm(r.http.URL+"/a/"+a.ID, form)
		if err != nil {
			t.Fatal(err)
		}
		if status, body := read(t, reply); status != http.StatusBadRequest && status != http.StatusConflict || !strings.Contains(body, "<h1>") {
			t.Errorf("%s: %d", name, status)
		}
	}
	if now := r.pending(1)[0]; now.State != api.ApprovalPending {
		t.Errorf("the approval is %s", now.State)
	}
	nobody := &http.Client{Jar: newJar(t)}
	for _, path := range []string{"/", "/h", "/cost", "/logins", "/new", "/a/" + a.ID, "/a/" + a.ID + "/full", "/c/" + a.Conversation, "/nothing/here"} {
		if status, body := get(t, nobody, r.http.URL+path); status != http.StatusUnauthorized || strings.Contains(body, "rm -rf") || !strings.Contains(body, `name="token"`) {
			t.Errorf("%s without a login: %d", path, status)
		}
	}
	for _, path := range []string{"/nothing", "/c/nothing", "/a/nothing", "/a/nothing/full"} {
		if status, _ := get(t, c, r.http.URL+path); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
	if status, text := get(t, c, r.http.URL+"/a/"+a.ID+"/full"); status != http.StatusOK || !strings.Contains(text, "rm -rf build && make all") || strings.Contains(text, "<") {
		t.Errorf("the full text is %d, %s", status, text)
	}
	viewer := r.client(api.User{Name: "eve", Role: api.RoleViewer})
	reply, err := viewer.PostForm(r.http.URL+"/a/"+a.ID, url.Values{"digest": {a.Digest}, "decision": {"allow"}})
	if err != nil {
		t.Fatal(err)
	}
	if status, _ := read(t, reply); status != http.StatusForbidden {
		t.Errorf("a viewer decides: %d", status)
	}
}

// Text from models and tools stays text, and a long output is cut.
func TestHostileText(t *testing.T) { hostileText(t, "long", "KiB more are not shown") }

// The same with ten megabytes. The race detector would take minutes to copy them.
func TestHugeOutput(t *testing.T) {
	t.Parallel()
	long.Test(t, "writes ten megabytes")
	hostileText(t, "huge", "10.0 MiB more are not shown")
}

func hostileText(t *testing.T, size, rest string) {
	r := newRig(t)
	c := r.client(ada)
	path := r.begin("shop-api", "hostile "+size+" "+hostile)
	r.settled(path)
	_, body := get(t, c, r.http.URL+path)
	for _, bad := range []string{"<script>window", "<img", "onload=window.pwned=1>", "\x1b", "\u202e", `href="javascript`} {
		if i := strings.Index(body, bad); i >= 0 {
			t.Errorf("the page has %q: %.200s", bad, body[max(0, i-100):])
		}
	}
	if !strings.Contains(body, rest) || len(body) > 400<<10 {
		t.Errorf("the page has %d bytes, and does not say what it leaves out", len(body))
	}
	if !regexp.MustCompile(`\\x1b\[31m`).MatchString(body) || !strings.Contains(body, `\u202e`) {
		t.Error("what is not seen is not shown")
	}
}

// The first load of a screen is small, and the assets are kept by the browser.
func TestWireSize(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client(ada)
	r.begin("shop-api", "Fix the rounding")
	r.pending(1)
	_, body := get(t, c, r.http.URL+"/")
	total := len(body)
	for _, m := range regexp.MustCompile(`(?:src|href)="(/static/[^"]+)"`).FindAllStringSubmatch(body, -1) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.http.URL+strings.ReplaceAll(m[1], "&amp;", "&"), nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept-Encoding", "gzip")
		reply, err := c.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_, asset := read(t, reply)
		total += len(asset)
		if reply.StatusCode != http.StatusOK || !strings.Contains(reply.Header.Get("Cache-Control"), "immutable") || reply.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: %d, %v", m[1], reply.StatusCode, reply.Header)
		}
	}
	if total > 60_000 {
		t.Errorf("the page has %d bytes on the wire, want at most 60,000", total)
	}
	t.Logf("%d bytes on the wire", total)
}
