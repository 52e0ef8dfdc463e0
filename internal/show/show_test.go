package show_test

import (
	"encoding/json"
	"fmt"
	"html/template"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/edit"
	"github.com/claude-agent-go/claude/internal/show"
)

// text writes a diff as the page does, with the marks in brackets.
func text(d *show.Diff) string {
	if d == nil {
		return "none"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "+%d -%d\n", d.Added, d.Removed)
	for _, l := range d.Lines {
		shown := l.Text
		if l.Parts != nil {
			shown = ""
		}
		for _, part := range l.Parts {
			if part.Mark {
				part.Text = "[" + part.Text + "]"
			}
			shown += part.Text
		}
		fmt.Fprintf(&b, "%d%s%s\n", l.Number, l.Sign, shown)
	}
	return b.String()
}

func TestDiff(t *testing.T) {
	unified := edit.Unified("f", "a\nold line\nc\n", "a\nnew line\nc\nd\n", 1<<20)
	for name, c := range map[string]struct {
		got  *show.Diff
		want string
	}{
		"edit":         {show.Edit("Edit", json.RawMessage(`{"file_path":"f","old_string":"return 1","new_string":"return 23"}`), 100), "+1 -1\n0-return [1]\n0+return [23]\n"},
		"little alike": {show.Edit("Edit", json.RawMessage(`{"old_string":"abcdef","new_string":"abuvwxyz"}`), 100), "+1 -1\n0-abcdef\n0+abuvwxyz\n"},
		"words":        {show.Edit("Edit", json.RawMessage(`{"old_string":"Run the tests with go test","new_string":"Run the linter with go vet"}`), 100), "+1 -1\n0-Run the [tests] with go [test]\n0+Run the [linter] with go [vet]\n"},
		"added words":  {show.Edit("Edit", json.RawMessage(`{"old_string":"\treturn int(sum * 100)","new_string":"\treturn int(math.Round(sum * 100))"}`), 100), "+1 -1\n0-\treturn int(sum * 100)\n0+\treturn int([math.Round(]sum * 100)[)]\n"},
		"many words":   {show.Edit("Edit", json.RawMessage(`{"old_string":"`+strings.Repeat("a ", 200)+`b","new_string":"`+strings.Repeat("a ", 200)+`c"}`), 10000), "+1 -1\n0-" + strings.Repeat("a ", 200) + "b\n0+" + strings.Repeat("a ", 200) + "c\n"},
		"not alike":    {show.Edit("Edit", json.RawMessage(`{"old_string":"x1234567890","new_string":"xabcdefghij"}`), 100), "+1 -1\n0-x1234567890\n0+xabcdefghij\n"},
		"characters":   {show.Edit("Edit", json.RawMessage(`{"old_string":"aaa é","new_string":"aaa è"}`), 100), "+1 -1\n0-aaa [é]\n0+aaa [è]\n"},
		"cut":          {show.Edit("Write", json.RawMessage(`{"content":"ab\ncd\n"}`), 4), "+2 -0\n0+ab\n0+c\n0⋯ the rest is not shown\n"},
		"other tool":   {show.Edit("Bash", json.RawMessage(`{}`), 4), "none"},
		"bidi":         {show.Edit("Write", json.RawMessage(`{"content":"a\u202eb\u001b[1m"}`), 100), "+1 -0\n0+a\\u202eb\\x1b[1m\n"},
		"unified":      {show.Unified(unified), "+2 -1\n1 a\n2-[old] line\n2+[new] line\n3 c\n4+d\n"},
		"cut before":   {show.Unified(edit.Unified("f", "", strings.Repeat("line\n", 20), 42)), "+2 -0\n1+line\n2+line\n0⋯ the rest is not shown\n"},
		"no diff":      {show.Unified("--- a\n+++ b\n"), "none"},
		"not a diff":   {show.Unified("anything\n-x\n+y"), "none"},
		"two hunks":    {show.Unified("@@ -1,1 +1,1 @@\n-a\n+b\n@@ -9,1 +9,1 @@\n x\n\\ No newline at end of file\n"), "+1 -1\n1-a\n1+b\n0⋯\n9 x\n0No newline at end of file\n"},
		"patch":        {show.Patch(json.RawMessage(`{"structuredPatch":[{"oldStart":3,"oldLines":1,"newStart":3,"newLines":2,"lines":[" k","+n"]}]}`)), "+1 -0\n3 k\n4+n\n"},
		"no patch":     {show.Patch(json.RawMessage(`{"structuredPatch":[]}`)), "none"},
	} {
		if got := text(c.got); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// FuzzUnified reads what claims to be a diff, and loses no line of a hunk.
func FuzzUnified(f *testing.F) {
	f.Add(edit.Unified("f", "a\nb\n", "b\nc\n", 1<<20))
	f.Add("@@ -1,1 +1,1 @@\n-é\n+è\xff\n\\ x")
	f.Fuzz(func(t *testing.T, in string) {
		d := show.Unified(in)
		if d == nil {
			return
		}
		for _, l := range d.Lines {
			whole := ""
			for _, part := range l.Parts {
				whole += part.Text
			}
			if strings.ContainsAny(l.Text, "\n\x1b") || l.Parts != nil && whole != l.Text {
				t.Errorf("%q has the line %+v", in, l)
			}
		}
	})
}

func TestQuestions(t *testing.T) {
	input := json.RawMessage(`{"questions":[{"question":"Which?","header":"W","multiSelect":true,"options":[{"label":"A","description":"first"},{"label":"B"}]},{"question":"Why?","header":"Y","options":[{"label":"C"},{"label":"D"}]}]}`)
	got := show.Questions("AskUserQuestion", input, map[string]string{"Which?": "B, A", "Why?": "because"})
	if len(got) != 2 || !got[0].Options[0].Chosen || !got[0].Options[1].Chosen || got[0].Answer != "" || got[1].Answer != "because" {
		t.Errorf("%+v", got)
	}
	if show.Questions("Bash", input, nil) != nil {
		t.Error("another tool asks questions")
	}
}

// The text of a question is safe to show, and the answer is the model's own text.
func TestHostileQuestion(t *testing.T) {
	input, err := json.Marshal(map[string]any{"questions": []any{map[string]any{"question": "a\u202e?", "header": "\x1b[31m", "options": []any{
		map[string]any{"label": "x\u202ey", "description": strings.Repeat("d", 1<<20)}, map[string]any{"label": "z", "description": "\r"},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	q := show.Questions("AskUserQuestion", input, map[string]string{"a\u202e?": "mine\u202e"})[0]
	if q.Text != `a\u202e?` || q.Header != `\x1b[31m` || q.Options[0].Label != `x\u202ey` || q.Options[0].Value != "x\u202ey" || len(q.Options[0].Description) > 2<<10 || q.Options[1].Description != `\r` || q.Answer != `mine\u202e` {
		t.Errorf("%.300v", q)
	}
}

func TestText(t *testing.T) {
	if shown, rest := show.Text("aé\x1b[0m\u202e", 3); shown != "aé" || rest != "7 bytes more are not shown" {
		t.Errorf("%q, %q", shown, rest)
	}
	if shown, rest := show.Text("\x1b\u202e\n", 99); shown != "\\x1b\\u202e\n" || rest != "" {
		t.Errorf("%q, %q", shown, rest)
	}
	for input, want := range map[string]string{
		`{"command":"make","description":"Builds it"}`:        "make",
		`{"notebook_path":"/a.ipynb","new_source":"1"}`:       "/a.ipynb",
		`{"path":"/repo","pattern":"TODO"}`:                   "TODO",
		`{"path":"/repo"}`:                                    "/repo",
		`{"prompt":"Look at all of it","description":"Look"}`: "Look",
		`{"prompt":"What does it say?","url":"https://a.b"}`:  "https://a.b",
		`{"x":1}`:  "",
		`not JSON`: "",
	} {
		if got := show.About(json.RawMessage(input)); got != want {
			t.Errorf("%s is about %q, want %q", input, got, want)
		}
	}
	if got := show.Subject(json.RawMessage(`{"x":1,"url":"u","command":""}`)); got != "u" {
		t.Errorf("the subject is %q", got)
	}
}

func TestTemplates(t *testing.T) {
	page := template.Must(template.New("").Parse(show.Templates + `{{template "diff" .}}`))
	var b strings.Builder
	if err := page.Execute(&b, show.Edit("Edit", json.RawMessage(`{"old_string":"a = 1","new_string":"a = <b>"}`), 100)); err != nil {
		t.Fatal(err)
	}
	if want := `<span class="add">&#43;a = <mark>&lt;b&gt;</mark>`; !strings.Contains(b.String(), want) {
		t.Errorf("%s has no %s", b.String(), want)
	}
}
