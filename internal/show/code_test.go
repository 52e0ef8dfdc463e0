package show_test

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/colour"
	"github.com/claude-agent-go/claude/internal/show"
)

// drawn is the markup of a diff.
func drawn(t *testing.T, d *show.Diff) string {
	t.Helper()
	var out strings.Builder
	if err := template.Must(template.New("").Parse(show.Templates)).ExecuteTemplate(&out, "diff", d); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

var element = regexp.MustCompile(`<[^>]*>`)

// What was before a change and what is after it have their own colours, a mark stays one
// element, and the text stays what it is.
func TestColouredDiff(t *testing.T) {
	const text = "@@ -1,4 +1,4 @@\n-/* a <b>\n+a := \"<b>\"\n if x {\n-*/ y := 1 < 2\n+y := 2 < 2\n /* open\n@@ -9,1 +9,1 @@\n if z {\n"
	plain, d := drawn(t, show.Unified(text)), show.Unified(text)
	d.Colour("/srv/a.go")
	got := drawn(t, d)
	for _, want := range []string{
		`<span class="c">/* a </span></mark><span class="c">&lt;b&gt;</span>`, `<span class="s">&lt;b&gt;</span>`, `<mark><span class="c">*/</span> </mark>y`, // a comment was opened before, not after
		` <span class="k">if</span> x {`,
		`<mark><span class="n">2</span></mark> &lt; <span class="n">2</span>`,
		` <span class="k">if</span> z {`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
	if a, b := element.ReplaceAllString(got, ""), element.ReplaceAllString(plain, ""); a != b {
		t.Errorf("in colours it is\n%s\nwithout\n%s", html.UnescapeString(a), html.UnescapeString(b))
	}
	other := show.Unified(text)
	if other.Colour("/srv/a.unknown"); drawn(t, other) != plain {
		t.Error("a file in no language has colours")
	}
	(*show.Diff)(nil).Colour("a.go")
}

// light reports how bright a colour such as #1b1f26 is, as WCAG does.
func light(t *testing.T, c string) float64 {
	t.Helper()
	sum := 0.0
	for i, share := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(c[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		v := float64(n) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += share * v
	}
	return sum
}

// Every colour of code can be read wherever code stands: WCAG AA asks for 4.5 to 1.
func TestContrast(t *testing.T) {
	find := func(before string) [2]string {
		t.Helper()
		m := regexp.MustCompile(regexp.QuoteMeta(before) + `light-dark\((#\w{6}), (#\w{6})\)`).FindStringSubmatch(show.Style)
		if m == nil {
			t.Fatalf("the style lacks %q", before)
		}
		return [2]string{m[1], m[2]}
	}
	grounds := map[string][2]string{"code": find("--shade: "), "a card": find("--card: "), "an added line": find(".diff .add { background: "), "a removed line": find(".diff .del { background: ")}
	for _, class := range colour.Classes() {
		ink := find(fmt.Sprintf("pre .%s { color: ", class))
		for where, ground := range grounds {
			for i, scheme := range []string{"light", "dark"} {
				a, b := light(t, ink[i]), light(t, ground[i])
				if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < 4.5 {
					t.Errorf("%s in %s, in %s colours: %.2f to 1", class, where, scheme, ratio)
				}
			}
		}
	}
}
