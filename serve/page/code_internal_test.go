package page

import (
	"html"
	"html/template"
	"regexp"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/colour"
)

var tags = regexp.MustCompile(`<[^>]*>`)

// The numbers of a file that was read are not code, and nothing is lost.
func TestNumbered(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"arrows":          {"     1→if a {\n     2→}\n", "     1→<span class=\"k\">if</span> a {\n     2→}\n"},
		"tabs":            {"1\tif a {\n2\t\treturn", "1\t<span class=\"k\">if</span> a {\n2\t\t<span class=\"k\">return</span>"},
		"over lines":      {"1\t/* <a>\n2\tb */ c", "1\t<span class=\"c\">/* &lt;a&gt;</span>\n2\t<span class=\"c\">b */</span> c"},
		"an empty end":    {"1\tif\n2\t", "1\t<span class=\"k\">if</span>\n2\t"},
		"a word at last":  {"1\tif\n\n<note>", "1\t<span class=\"k\">if</span>\n\n&lt;note&gt;"},
		"without numbers": {"if a {", "if a {"},
		"nothing":         {"", ""},
	} {
		got := string(numbered(colour.ByName("go"), c.in))
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if text := html.UnescapeString(tags.ReplaceAllString(got, "")); text != c.in {
			t.Errorf("%s: the text became %q", name, text)
		}
	}
	if got := numbered(nil, "1\tif <a>"); got != "1\tif &lt;a&gt;" {
		t.Errorf("in no language it is %q", got)
	}
}

// A call shows its input, its diff and the file that it has read in colours, a card its
// command.
func TestColouredCalls(t *testing.T) {
	if got, want := codeOf("Bash", "echo 'a' && b"), template.HTML(`<span class="f">echo</span> <span class="s">&#39;a&#39;</span> &amp;&amp; b`); got != want {
		t.Errorf("a command is %s, want %s", got, want)
	}
	if got := codeOf("WebFetch", "echo 'a'"); strings.Contains(string(got), "<") {
		t.Errorf("an address is %s", got)
	}
	row := &toolRow{Name: "Read", State: "ok", input: []byte(`{"file_path":"/srv/a.py"}`), Input: `{"a": 1}`, Output: "1\timport a"}
	row.colour()
	if row.InputCode != `{<span class="a">&#34;a&#34;</span>: <span class="n">1</span>}` || row.OutputCode != "1\t<span class=\"k\">import</span> a" {
		t.Errorf("a call is %s and %s", row.InputCode, row.OutputCode)
	}
	row.State = "failed"
	if row.colour(); row.OutputCode != "1\timport a" {
		t.Errorf("a failure is %s", row.OutputCode)
	}
}
