package colour_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/colour"
	"github.com/claude-agent-go/claude/internal/test/long"
)

// read returns the pieces of a text that are coloured, each as its class and its text.
func read(l *colour.Language, text string) string {
	var out []string
	var state colour.State
	for line := range strings.SplitSeq(text, "\n") {
		var pieces []colour.Piece
		pieces, state = l.Line(line, state)
		for _, p := range pieces {
			if p.Class != colour.Plain {
				out = append(out, string(p.Class)+":"+p.Text)
			}
		}
	}
	return strings.Join(out, " ¦ ")
}

func TestLine(t *testing.T) {
	for name, c := range map[string]struct{ language, in, want string }{
		"go":                   {"go", "func f(n int) string { return `a\nb` + \"\\\"c\" } // d", "k:func ¦ f:f ¦ t:int ¦ t:string ¦ k:return ¦ s:`a ¦ s:b` ¦ s:\"\\\"c\" ¦ c:// d"},
		"go runes":             {"golang", `x := '\'' + 'é' + 0x1F + 1.5`, `s:'\'' ¦ s:'é' ¦ n:0x1F ¦ n:1.5`},
		"a comment over lines": {"c", "int a; /* b\nc */ int d;", "t:int ¦ c:/* b ¦ c:c */ ¦ t:int"},
		"python":               {"py", "@cache\ndef f(a=None):\n  '''a\n  b''' # c", "k:def ¦ f:f ¦ n:None ¦ s:'''a ¦ s:  b''' ¦ c:# c"},
		"lifetimes":            {"rust", `fn f<'a>(x: &'a str) -> char { 'x' }`, "k:fn ¦ t:str ¦ t:char ¦ s:'x'"},
		"script":               {"ts", "const a: string = `b${c}\nd`; x.replace(/\"/g, 1 / 2)", "k:const ¦ t:string ¦ s:`b${c} ¦ s:d` ¦ f:replace ¦ s:/\"/ ¦ n:1 ¦ n:2"},
		"shell":                {"bash", "A=1 # b\nif [ \"$A\" = 'x#' ]; then echo ${A}#1; fi", "a:A ¦ n:1 ¦ c:# b ¦ k:if ¦ s:\"$A\" ¦ s:'x#' ¦ k:then ¦ f:echo ¦ a:${A} ¦ n:1 ¦ k:fi"},
		"json":                 {"json", `{"a": ["b", 1.5, true], "c": null}`, `a:"a" ¦ s:"b" ¦ n:1.5 ¦ n:true ¦ a:"c" ¦ n:null`},
		"yaml":                 {"yml", "a-b: 'c' # d\n- e: don't\n  u: https://x.example", "a:a-b ¦ s:'c' ¦ c:# d ¦ a:e ¦ a:u"},
		"toml":                 {"toml", "[a]\nb = \"c\"", `t:[a] ¦ a:b ¦ s:"c"`},
		"html":                 {"html", "<a href=\"b\nc\" d>e 'f'</a><!-- g\nh --> i", "k:a ¦ a:href ¦ s:\"b ¦ s:c\" ¦ a:d ¦ k:/a ¦ c:<!-- g ¦ c:h -->"},
		"css":                  {"css", "a { color: red; /* b */ }", "a:color ¦ c:/* b */"},
		"sql":                  {"sql", "SELECT a FROM b WHERE c = 'd' -- e", "k:SELECT ¦ k:FROM ¦ k:WHERE ¦ s:'d' ¦ c:-- e"},
		"diff":                 {"diff", "@@ -1 +1 @@\n-a\n+b\n c", "f:@@ -1 +1 @@ ¦ t:-a ¦ s:+b"},
		"dockerfile":           {"dockerfile", "FROM a:b AS c\nENV D=$E", "k:FROM ¦ k:AS ¦ k:ENV ¦ a:$E"},
	} {
		l := colour.ByName(c.language)
		if l == nil {
			t.Errorf("%s: there is no %s", name, c.language)
			continue
		}
		if got := read(l, c.in); got != c.want {
			t.Errorf("%s: %q has\n%s\nwant\n%s", name, c.in, got, c.want)
		}
	}
}

func TestLanguages(t *testing.T) {
	for path, name := range map[string]string{
		"a/b.go": "go", `C:\a\B.PY`: "python", "Dockerfile": "dockerfile", "x/Makefile": "makefile", "a.tar.gz": "", "README": "", "": "", ".": "", "a.": "", "go.mod": "gomod", ".env": "sh",
		"a.test.tsx": "typescript", "a/.b/c": "",
	} {
		if got := colour.ByPath(path); got != colour.ByName(name) || name != "" && got == nil {
			t.Errorf("%s is not in %q", path, name)
		}
	}
	if colour.ByName("text") != nil {
		t.Error("a text has a language")
	}
}

// names has a name of every language.
var names = []string{"go", "gomod", "rust", "c", "cpp", "java", "kotlin", "swift", "csharp", "protobuf", "python", "javascript", "typescript", "sh", "ruby", "php", "lua", "sql", "json", "yaml", "toml", "hcl", "html", "css", "dockerfile", "makefile", "cmake", "diff", ""}

// bits are what code is made of, and what could confuse a reader of it.
var bits = strings.Split("a|B|_|1|0x|.5|é|\U0001F600|\xff|\"|'|`|\"\"\"|'''|\\|/*|*/|//|#|--|<!--|-->|<|>|</|/>|&|<b>|=|==|:|::|://|$|${|}|{|(|)|[|]|[[|]]|r#\"|\"#|@\"|#[|=begin|=end|if|func|SELECT|+|-|@@|%| |\t|  |\n|\n\n|;", "|")

// Colours change nothing but the elements around the text, whatever the text is.
func TestTheTextStays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range long.Pick(30, 2000) {
		var text strings.Builder
		for range r.IntN(60) {
			text.WriteString(bits[r.IntN(len(bits))])
		}
		for _, name := range names {
			checkText(t, name, text.String())
		}
	}
}

func checkText(t *testing.T, name, text string) {
	t.Helper()
	l := colour.ByName(name)
	var state colour.State
	for line := range strings.SplitSeq(text, "\n") {
		var pieces []colour.Piece
		pieces, state = l.Line(line, state)
		var whole strings.Builder
		for _, p := range pieces {
			if p.Text == "" {
				t.Fatalf("%s: %q has an empty piece", name, line)
			}
			whole.WriteString(p.Text)
		}
		if whole.String() != line {
			t.Fatalf("%s: %q became %q", name, line, whole.String())
		}
		for n := 0; n <= len(line); n += 1 + len(line)/5 {
			head, tail := colour.Cut(pieces, n)
			var a, b strings.Builder
			for _, p := range head {
				a.WriteString(p.Text)
			}
			for _, p := range tail {
				b.WriteString(p.Text)
			}
			if a.String() != line[:n] || b.String() != line[n:] {
				t.Fatalf("%s: %q is cut at %d into %q and %q", name, line, n, a.String(), b.String())
			}
		}
	}
	var none *colour.Language
	html := string(l.HTML(text))
	for _, class := range colour.Classes() {
		html = strings.ReplaceAll(html, `<span class="`+string(class)+`">`, "")
	}
	if got, want := strings.ReplaceAll(html, "</span>", ""), string(none.HTML(text)); got != want {
		t.Fatalf("%s: %q without its elements is\n%s\nwant\n%s", name, text, got, want)
	}
}

// Text that is made to keep a reader busy takes no longer than any other: each byte is
// looked at a few times, so a line of 64 KiB takes about as long as 64 lines of 1 KiB. A
// reader that begins again at each quote takes 64 times as long.
func TestTimeGrowsWithTheText(t *testing.T) {
	long.Test(t, "it reads 64 KiB of many texts in every language")
	took := func(l *colour.Language, line string, times int) time.Duration {
		best := time.Hour
		for range 3 {
			begin := time.Now()
			for range times {
				l.Line(line, 0)
			}
			best = min(best, time.Since(begin))
		}
		return best
	}
	for _, unit := range []string{"(", "[{", "\"\\", "'\\", "/*", "/ ", "<a ", "<", "`${", "'''", "=begin", "a=", "$", "${", "#[", "(/", "\\\"", "1.", " a"} {
		for _, name := range names {
			l := colour.ByName(name)
			short, whole := strings.Repeat(unit, 1<<10/len(unit)), strings.Repeat(" ", 16<<10)+strings.Repeat(unit, 48<<10/len(unit))
			if a, b := took(l, short, 64), took(l, whole, 1); b > 16*a+20*time.Millisecond {
				t.Errorf("%s: 64 KiB of %q took %v, and as much in short lines %v", name, unit, b, a)
			}
		}
	}
}

func TestHTML(t *testing.T) {
	if got, want := string(colour.ByName("go").HTML("if a < \"<b>\" {\n")), "<span class=\"k\">if</span> a &lt; <span class=\"s\">&#34;&lt;b&gt;&#34;</span> {\n"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	huge := strings.Repeat("if ", 64<<10)
	if got := string(colour.ByName("go").HTML(huge)); got != huge {
		t.Errorf("a huge text became %d bytes", len(got))
	}
}

func FuzzHTML(f *testing.F) {
	for _, name := range names {
		f.Add(name, strings.Join(bits, " "))
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		if len(text) < 1<<10 {
			checkText(t, name, text)
		}
	})
}

func BenchmarkHTML(b *testing.B) {
	text := strings.Repeat("func f(n int) (string, error) {\n\treturn fmt.Sprintf(\"%d < %d\", n, 12), nil // a comment\n}\n\n", 140)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		colour.ByName("go").HTML(text)
	}
}
