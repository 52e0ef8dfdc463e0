package page_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// cardID finds the approvals on a screen.
var cardID = regexp.MustCompile(`<article class="card [^"]*" id="a-([^"]+)"`)

func cards(screen string) (ids []string) {
	for _, found := range cardID.FindAllStringSubmatch(screen, -1) {
		ids = append(ids, found[1])
	}
	return ids
}

// The inbox is filtered by a text, a preset and a kind, without a script, and never
// shows or counts what the user may not see. If a filter selects nothing, the page
// shows that and offers to clear it.
func TestFilterInbox(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bob := api.User{Name: "bob", Role: api.RoleOperator}
	names := make(map[string]string) // of approvals
	for _, c := range []struct{ name, preset, prompt string }{
		{"edit", "shop-api", "Fix the rounding"}, {"question", "shop-api", "Which database?"}, {"bash", "docs", "Clean the handbook"},
	} {
		r.begin(c.preset, c.prompt)
		for _, a := range r.pending(len(names) + 1) {
			if names[a.ID] == "" {
				names[a.ID] = c.name
			}
		}
	}
	if _, err := r.server.Service().Create(t.Context(), bob, api.NewConversation{Preset: "docs", Content: api.Text("Clean the secret cellar")}); err != nil {
		t.Fatal(err)
	}
	for _, a := range r.pending(4) { // ada is an admin
		if names[a.ID] == "" {
			names[a.ID] = "private"
		}
	}
	admin, eve := r.client(ada), r.client(api.User{Name: "eve", Role: api.RoleApprover})
	for _, c := range []struct{ query, admin, others string }{
		{"", "edit question bash private", "edit question bash"},
		{"q=ROUNDING", "edit", "edit"},                                           // the title
		{"q=+rounding+", "edit", "edit"},                                         // as people paste it
		{"q=bash", "bash private", "bash"},                                       // the tool
		{"q=make+all", "bash private", "bash"},                                   // the command
		{"q=price.go", "edit", "edit"},                                           // the file
		{"q=should+the+tests", "question", "question"},                           // the question
		{"preset=docs", "bash private", "bash"},                                  // of the conversation
		{"kind=tool", "edit bash private", "edit bash"},                          //
		{"kind=question", "question", "question"},                                //
		{"kind=tool&preset=shop-api", "edit", "edit"},                            // all of them together
		{"q=cellar", "private", ""},                                              // no other user knows that it exists
		{"q=&preset=&kind=", "edit question bash private", "edit question bash"}, // as an empty form sends it
		{"kind=plan", "", ""}, {"kind=nonsense", "", ""}, {"preset=nonsense", "", ""}, {"q=%ff%00", "", ""},
	} {
		for user, want := range map[*http.Client]string{admin: c.admin, eve: c.others} {
			status, screen := get(t, user, r.http.URL+"/?"+c.query)
			var got []string
			for _, id := range cards(screen) {
				got = append(got, names[id])
			}
			if status != http.StatusOK || !slices.Equal(got, strings.Fields(want)) {
				t.Errorf("?%s: %d %q, want %q", c.query, status, got, want)
			}
			if empty := strings.Contains(screen, "Nothing matches"); empty != (want == "") || empty != strings.Contains(screen, `href="/">Show all that waits`) {
				t.Errorf("?%s: says that nothing matches: %v", c.query, empty)
			}
			total := "4"
			if user == eve {
				total = "3"
			}
			if !strings.Contains(screen, `<title>(`+total+`) Inbox`) || !strings.Contains(screen, total+" decisions waiting") && want != "" {
				t.Errorf("?%s: does not count %s", c.query, total)
			}
			if user == eve && strings.Contains(screen, "secret") {
				t.Errorf("?%s: shows what is private", c.query)
			}
		}
	}
	_, screen := get(t, admin, r.http.URL+"/?"+url.Values{"q": {`"><script>x`}}.Encode())
	if strings.Contains(screen, "<script>x") || !strings.Contains(screen, `value="&#34;&gt;&lt;script&gt;x"`) {
		t.Error("the text of the filter is not shown as a text")
	}
}

// A decision and a login both lead back to the filter.
func TestFilterStays(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client(ada)
	for i, prompt := range []string{"Clean one", "Clean two", "Fix the rounding"} {
		r.begin("shop-api", prompt)
		r.pending(i + 1)
	}
	_, screen := get(t, c, r.http.URL+"/?kind=tool&q=clean&preset=")
	back := regexp.MustCompile(`name="back" value="([^"]*)"`).FindStringSubmatch(screen)
	if back == nil || back[1] != "/?kind=tool&amp;q=clean" {
		t.Fatalf("a decision leads to %q", back)
	}
	ids := cards(screen)
	if len(ids) != 2 {
		t.Fatalf("%d cards", len(ids))
	}
	a, err := r.server.Service().Approval(t.Context(), ada, ids[0])
	if err != nil {
		t.Fatal(err)
	}
	reply, err := c.PostForm(r.http.URL+"/a/"+a.ID, url.Values{"digest": {a.Digest}, "decision": {"deny"}, "back": {"/?kind=tool&q=clean"}})
	if err != nil {
		t.Fatal(err)
	}
	_, screen = read(t, reply)
	if got := reply.Request.URL.RequestURI(); got != "/?did=deny&kind=tool&q=clean" {
		t.Errorf("the decision leads to %s", got)
	}
	if got := cards(screen); len(got) != 1 || got[0] != ids[1] || !strings.Contains(screen, "Denied.") {
		t.Errorf("after the decision the cards are %q", got)
	}
	if status, screen := get(t, &http.Client{Jar: newJar(t)}, r.http.URL+"/?q=clean&kind=tool"); status != http.StatusUnauthorized || !strings.Contains(screen, `name="to" value="/?kind=tool&amp;q=clean"`) {
		t.Errorf("%d: the login does not lead back to the filter", status)
	}
}

// asks puts a call of a conversation before people, without an agent that makes it.
func (r *rig) asks(path string, n int, suggestions ...string) (id string) {
	r.t.Helper()
	q, err := approval.NewQuestions(r.db, "p").Ask(r.t.Context(), approval.Question{
		Conversation: strings.Replace(strings.TrimPrefix(path, "/c/"), "~", "/", 1), Tool: "Bash", ToolUseID: fmt.Sprint("toolu_", n), Cwd: r.dir,
		Input: json.RawMessage(fmt.Sprintf(`{"command":"make part-%d"}`, n)), Suggestions: suggestions,
	}, store.Fence{})
	if err != nil {
		r.t.Fatal(err)
	}
	return q.ID
}

// However many decisions wait, the screens of the inbox have each of them once, with the
// total, and lead to each other. A decision leads back to its screen.
func TestInboxOfMany(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const all = 401
	paths := make([]string, 3)
	for i := range paths {
		paths[i] = r.begin("shop-api", fmt.Sprint("hello ", i))
		r.settled(paths[i])
	}
	for i := range all {
		r.asks(paths[i%len(paths)], i)
	}
	for range r.fleet.Approvals().Watch(t.Context(), approval.Filter{}) {
		if in, err := r.server.Service().Inbox(t.Context(), ada, api.ApprovalQuery{}); err != nil || in.Total == all {
			break
		}
	}
	c, seen := r.client(ada), make(map[string]int)
	link := regexp.MustCompile(`<a href="([^"]+)" rel="next">`)
	at := "/"
	for _, want := range []string{"1 to 200", "201 to 400", "401 to 401"} {
		_, screen := get(t, c, r.http.URL+at)
		if !strings.Contains(screen, fmt.Sprintf("<title>(%d) Inbox", all)) || !strings.Contains(screen, fmt.Sprintf("%d decisions waiting, %s here", all, want)) {
			t.Errorf("%s does not count: %.3000s", at, screen)
		}
		ids := cards(screen)
		for _, id := range ids {
			seen[id]++
		}
		if back := `name="back" value="` + html.EscapeString(at) + `"`; strings.Count(screen, back) < len(ids) {
			t.Errorf("%d of the decisions of %s lead back", strings.Count(screen, back), at)
		}
		if heads := strings.Count(screen, `class="section group"`); (heads > 0) != (len(ids) > 1) {
			t.Errorf("%s has %d cards and %d headings of conversations", at, len(ids), heads)
		}
		at = ""
		if next := link.FindStringSubmatch(screen); next != nil {
			at = html.UnescapeString(next[1])
		}
	}
	if at != "" {
		t.Errorf("the last screen leads to %s", at)
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s is there %d times", id, n)
		}
	}
	if len(seen) != all {
		t.Errorf("%d of %d are there", len(seen), all)
	}
}

// Each rule that an approval can remember is described in words that are on the screen:
// a phone shows no titles of buttons.
func TestWordsOfRules(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	path := r.begin("shop-api", "hello")
	r.settled(path)
	id := r.asks(path, 1, "Bash(make part-1)", "Bash(make:*)", "Bash")
	r.pending(1)
	_, screen := get(t, r.client(ada), r.http.URL+"/a/"+id)
	text := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(screen, ""))
	for _, want := range []string{"run exactly this command", "run commands that begin with \u201cmake\u201d", "use Bash with any input"} {
		if strings.Count(text, want+" in this conversation without asking.") != 1 {
			t.Errorf("the screen does not say %q: %s", want, text)
		}
	}
	for i := range 3 {
		if strings.Count(screen, fmt.Sprintf(`value="remember %d"`, i)) != 1 {
			t.Errorf("no button remembers rule %d", i)
		}
	}
}
