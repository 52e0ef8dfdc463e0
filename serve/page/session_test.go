package page_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
)

// session puts a session of the CLI on the server's disk.
func (r *rig) session(id, dir, prompt, answer string) {
	r.t.Helper()
	file := filepath.Join(r.config, "projects", "-work", id+".jsonl")
	text := fmt.Sprintf(`{"parentUuid":null,"isSidechain":false,"type":"user","uuid":"b%[5]s","timestamp":"2026-01-01T00:00:00Z","sessionId":%[1]q,"cwd":%[2]q,"version":"2.1.325","message":{"role":"user","content":%[3]q}}
{"parentUuid":"b%[5]s","isSidechain":false,"type":"assistant","uuid":"a%[5]s","timestamp":"2026-01-01T00:00:01Z","sessionId":%[1]q,"cwd":%[2]q,"version":"2.1.325","message":{"id":"msg_1","role":"assistant","content":[{"type":"text","text":%[4]q}]}}
`, id, dir, prompt, answer, id[1:])
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// Sessions on the server's disk are resumed and forked without a script. A session that
// already is a conversation leads there.
func TestSessionsWithForms(t *testing.T) {
	t.Parallel()
	const talk, other, away = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002", "00000000-0000-4000-8000-000000000003"
	r := newRig(t)
	r.session(talk, r.dir, "Why is <b>0.29</b> off?", "A cast truncates.")
	r.session(other, filepath.Dir(r.dir), "Write the handbook", "It begins well.")
	r.session(away, t.TempDir(), "Somewhere else", "Yes.")
	browser := r.client(ada)
	post := func(c *http.Client, id string, form url.Values) (int, string, string) {
		t.Helper()
		reply, err := c.PostForm(r.http.URL+"/s/"+id, form)
		if err != nil {
			t.Fatal(err)
		}
		status, body := read(t, reply)
		return status, reply.Request.URL.Path, body
	}
	_, list := get(t, browser, r.http.URL+"/h")
	for _, want := range []string{`action="/s/` + talk + `"`, `action="/s/` + other + `"`, "&lt;b&gt;0.29", "<option>shop-api</option><option>docs</option>", `name="preset" value="docs"`} {
		if !strings.Contains(list, want) {
			t.Errorf("the list has no %q", want)
		}
	}
	if strings.Contains(list, away) {
		t.Error("the list has a session of a directory that no preset has")
	}
	eve := r.client(api.User{Name: "eve", Role: api.RoleOperator})
	if _, list := get(t, eve, r.http.URL+"/h"); strings.Contains(list, talk) {
		t.Error("an operator sees the sessions of the person whose disk it is")
	}
	for name, c := range map[string]struct {
		by   *http.Client
		id   string
		form url.Values
		want int
	}{
		"an operator":       {eve, talk, url.Values{"preset": {"shop-api"}, "do": {"resume"}}, http.StatusForbidden},
		"no button":         {browser, talk, url.Values{"preset": {"shop-api"}}, http.StatusBadRequest},
		"another directory": {browser, away, url.Values{"preset": {"docs"}, "do": {"resume"}}, http.StatusUnprocessableEntity},
		"unknown":           {browser, "none", url.Values{"preset": {"docs"}, "do": {"fork"}}, http.StatusNotFound},
	} {
		if status, at, body := post(c.by, c.id, c.form); status != c.want {
			t.Errorf("%s: %d at %s\n%s", name, status, at, body)
		}
	}

	status, copied, body := post(browser, talk, url.Values{"preset": {"shop-api"}, "do": {"fork"}})
	if status != http.StatusOK || !strings.HasPrefix(copied, "/c/") || !strings.Contains(body, "The copy is a conversation of its own.") || !strings.Contains(body, "Copy of Why is") {
		t.Errorf("the copy: %d at %s\n%s", status, copied, body)
	}
	status, at, body := post(browser, talk, url.Values{"preset": {"shop-api"}, "do": {"resume"}})
	if status != http.StatusOK || !strings.HasPrefix(at, "/c/") || at == copied || !strings.Contains(body, "The session is now a conversation.") {
		t.Errorf("the session: %d at %s\n%s", status, at, body)
	}
	if !strings.Contains(body, "A cast truncates.") || !strings.Contains(body, "&lt;b&gt;0.29") {
		t.Errorf("the page does not show what was said:\n%s", body)
	}
	if status, again, body := post(browser, talk, url.Values{"preset": {"shop-api"}, "do": {"resume"}}); status != http.StatusOK || again != at || !strings.Contains(body, "was a conversation already") {
		t.Errorf("a second time: %d at %s", status, again)
	}
	if _, list := get(t, browser, r.http.URL+"/h"); strings.Contains(list, `action="/s/`+talk+`"`) || !strings.Contains(list, `href="`+at+`">Open`) {
		t.Error("the list does not lead to the conversation")
	}
}

// deep is a directory far below the one in which conversations work.
func (r *rig) deep(i int) string {
	r.t.Helper()
	dir := filepath.Join(r.dir, "services", "accounting-and-billing", "internal", "reconciliation", fmt.Sprint("statement_importer_", i))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		r.t.Fatal(err)
	}
	return dir
}
