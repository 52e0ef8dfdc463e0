package markdown_test

import (
	"encoding/xml"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/claude-agent-go/claude/internal/markdown"
	"github.com/claude-agent-go/claude/internal/test/long"
)

const outside = ` rel="noopener noreferrer nofollow" target="_blank"`

func TestHTML(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"emphasis":            {"a **b** *c* ~~d~~", `<p>a <strong>b</strong> <em>c</em> <del>d</del></p>`},
		"heading":             {"## Plan", `<p class="heading">Plan</p>`},
		"lines":               {"a\nb", `<p>a<br/>b</p>`},
		"list":                {"- a\n- b\n  - c", `<ul><li>a</li><li>b<br/><ul><li>c</li></ul></li></ul>`},
		"numbers":             {"3. a\n4. b", `<ol start="3"><li>a</li><li>b</li></ol>`},
		"tasks":               {"- [x] a\n- [ ] b", `<ul><li>☑ a</li><li>☐ b</li></ul>`},
		"quote":               {"> a", `<blockquote><p>a</p></blockquote>`},
		"rule":                {"a\n\n---", `<p>a</p><hr/>`},
		"code":                {"`a < b`\n\n```go\nif a < b {\n```", "<p><code>a &lt; b</code></p><pre tabindex=\"0\"><span class=\"k\">if</span> a &lt; b {\n</pre>"},
		"code of no language": {"```\nif a < b {\n```", "<pre tabindex=\"0\">if a &lt; b {\n</pre>"},
		"table":               {"|a|b|\n|---|--:|\n|*c*|d|", `<table><thead><tr><th>a</th><th class="right">b</th></tr></thead><tbody><tr><td><em>c</em></td><td class="right">d</td></tr></tbody></table>`},
		"table without rows":  {"|a|\n|---|", `<table><thead><tr><th>a</th></tr></thead></table>`},
		"link":                {"[docs](https://example.com/x?a=1&b=2)", `<p><a href="https://example.com/x?a=1&amp;b=2"` + outside + `>docs</a> <span class="host">(example.com)</span></p>`},
		"bare address":        {"see https://example.com/a.", `<p>see <a href="https://example.com/a"` + outside + `>https://example.com/a</a>.</p>`},
		"mail":                {"<a@example.com>", `<p><a href="mailto:a@example.com"` + outside + `>a@example.com</a></p>`},
		"misleading link":     {"[https://good.example](https://evil.example/)", `<p><a href="https://evil.example/"` + outside + `>https://good.example</a> <span class="host">(evil.example)</span></p>`},
		"name in address":     {"[x](https://good.example@evil.example/)", `<p>x (<code>https://good.example@evil.example/</code>)</p>`},
		"image":               {"![secret](https://evil.example/?q=1)", `<p><a href="https://evil.example/?q=1"` + outside + `>secret</a> <span class="host">(evil.example)</span></p>`},
		"image in a link":     {"[![a](https://a.example)](https://b.example)", `<p><a href="https://b.example"` + outside + `>a</a> <span class="host">(b.example)</span></p>`},
		"script address":      {"[a](javascript:alert(1))", `<p>a (<code>javascript:alert(1)</code>)</p>`},
		"hidden script":       {"[a](java&#115;cript:x)", `<p>a (<code>javascript:x</code>)</p>`},
		"own path":            {"[a](/v1/login)", `<p>a (<code>/v1/login</code>)</p>`},
		"no scheme":           {"[a](//evil.example)", `<p>a (<code>//evil.example</code>)</p>`},
		"data":                {"![a](data:image/png;base64,x)", `<p>a (<code>data:image/png;base64,x</code>)</p>`},
		"HTML":                {"a <b onclick=x>c</b>", `<p>a &lt;b onclick=x&gt;c&lt;/b&gt;</p>`},
		"HTML block":          {"<script>\nx\n</script>", "<pre tabindex=\"0\">&lt;script&gt;\nx\n&lt;/script&gt;</pre>"},
		"backslash":           {`\*a\* \&amp; &amp; &copy;`, `<p>*a* &amp;amp; &amp; ©</p>`},
		"bidi":                {"a\u202eb", `<p>a\u202eb</p>`},
		"bidi by reference":   {"a&#x202e;b", `<p>a\u202eb</p>`},
		"colours":             {"\x1b[31mred", `<p>\x1b[31mred</p>`},
		"nothing":             {"", ""},
	} {
		if got := string(markdown.HTML(c.in)); got != c.want {
			t.Errorf("%s: %q became\n%s\nwant\n%s", name, c.in, got, c.want)
		}
	}
}

// A long text is shown as it is, and a very long one is cut.
func TestLimits(t *testing.T) {
	for _, long := range []string{strings.Repeat("**é** ", 2_000), strings.Repeat("**é** \n\n", 10_000)} {
		if got := string(markdown.HTML(long)); got != `<pre tabindex="0">`+long+`</pre>` {
			t.Errorf("a long text became %d bytes that begin with %q", len(got), got[:60])
		}
	}
	if got := string(markdown.HTML(strings.Repeat("**a**\n\n", 5_000))); !strings.HasPrefix(got, "<p><strong>a</strong></p>") {
		t.Errorf("many paragraphs became %q…", got[:60])
	}
	huge := string(markdown.HTML(strings.Repeat("é<", 5<<20)))
	if !strings.HasSuffix(huge, "more bytes are not shown</p>") || len(huge) > 8<<20 {
		t.Errorf("a huge text became %d bytes that end with %q", len(huge), huge[len(huge)-60:])
	}
	checkElements(t, huge)
}

// Text that is made to keep a parser busy, as much of it as is parsed.
func TestNestedText(t *testing.T) {
	for _, unit := range []string{"> ", "- ", "[", "![", "*a ", "**a", "`", "<", "|", "1. ", "[a](", "_a*", "~~", "\\", "&#", "<a ", "[a]: b\n", "a | b\n-|-\n"} {
		text := strings.Repeat(strings.Repeat(unit, 9<<10/len(unit))+"\n\n", long.Pick(1, 6))
		checkElements(t, string(markdown.HTML(text)))
	}
}

// allowed are the elements of a rendered text and their attributes.
var allowed = map[string][]string{
	"p": {"class=heading"}, "br": nil, "hr": nil, "ul": nil, "ol": {"start"}, "li": nil, "blockquote": nil,
	"table": nil, "thead": nil, "tbody": nil, "tr": nil, "th": {"class=right", "class=center"}, "td": {"class=right", "class=center"},
	"pre": {"tabindex=0"}, "code": nil, "em": nil, "strong": nil, "del": nil, "span": {"class=host", "class=k", "class=s", "class=c", "class=n", "class=f", "class=t", "class=a"},
	"a": {"href", "rel=noopener noreferrer nofollow", "target=_blank"},
}

// checkElements parses HTML and compares it with the list. The parser is a strict
// one, so any other reads the same.
func checkElements(t *testing.T, html string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader("<body>" + html + "</body>"))
	links := 0
	for {
		token, err := d.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", html, err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if token.Name.Local == "body" {
				continue
			}
			if token.Name.Local == "a" {
				links++
			}
			if links > 1 {
				t.Fatalf("%q has a link in a link", html)
			}
			checkElement(t, html, token)
		case xml.EndElement:
			if token.Name.Local == "a" {
				links--
			}
		case xml.CharData:
			if i := strings.IndexFunc(string(token), hidden); i >= 0 {
				t.Fatalf("%q has a character that is not seen at %d", html, i)
			}
		default:
			t.Fatalf("%q has a %T", html, token)
		}
	}
}

func hidden(r rune) bool {
	return r != '\n' && r != '\t' && unicode.IsControl(r) || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' || r == '\u200b'
}

func checkElement(t *testing.T, html string, e xml.StartElement) {
	t.Helper()
	attributes, ok := allowed[e.Name.Local]
	if !ok || e.Name.Space != "" {
		t.Fatalf("%q has <%s>", html, e.Name.Local)
	}
	for _, a := range e.Attr {
		if !slices.Contains(attributes, a.Name.Local) && !slices.Contains(attributes, a.Name.Local+"="+a.Value) {
			t.Fatalf("%q has <%s %s=%q>", html, e.Name.Local, a.Name.Local, a.Value)
		}
		if a.Name.Local == "href" {
			to, err := url.Parse(a.Value)
			if err != nil || !slices.Contains([]string{"http", "https", "mailto"}, to.Scheme) {
				t.Fatalf("%q links to %q", html, a.Value)
			}
		}
	}
}

func FuzzHTML(f *testing.F) {
	for _, seed := range []string{
		`</script></style></pre><script>x</script><img src=x onerror="x"><svg/onload=x>{{.}}"'` + "` **<b onclick=x>** [a](javascript:x) ![b](data:text/html,x) `<script>` | <i>",
		"```\n</pre><script>", "| <a> |\n|---|\n| <b> |", "[<x>](<y>)", "# <h1>", "- <li>\n  1. **<b>**", "> `<q>`", "**a*b**c*", "\r\n\x00\xff",
		"[a](https://x.example \"t\")", "[www.a.example](https://b.example)", "<https://a.example/\"onx=>", "&lt;b&gt; &#60;b&#62; &#x202e;", "\\<b\\>", "[r]\n\n[r]: javascript:x",
		"<!-- a -->", "<![CDATA[x]]>", "<?php x ?>", "- [x] <b>", "a\u2028b\u202e", "~~<x>~~", "http://a.example/<b>",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 4<<10 {
			checkElements(t, string(markdown.HTML(text)))
		}
	})
}

func BenchmarkHTML(b *testing.B) {
	for _, n := range []int{1, 20} {
		text := strings.Repeat("# Plan\n\nFirst **read** `a.go`, then:\n\n- run it\n- fix it\n\n", n)
		b.Run(strconv.Itoa(len(text)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				markdown.HTML(text)
			}
		})
	}
}
