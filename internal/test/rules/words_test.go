package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// wording is a turn of phrase that a native reader stumbles over, and what to
// write instead.
type wording struct {
	hints   []string       // a text with none of them does not have it
	odd     *regexp.Regexp // in lower case, with single blanks
	fine    *regexp.Regexp // good English among what odd finds; nil: nothing
	instead string
}

// clumsyWordings are those that were the most frequent.
func clumsyWordings() []wording {
	rows := []struct{ hints, odd, fine, instead string }{
		{" no ", `(?:there (?:\w+ ){0,3})?\b(?:is|are|was|were|be|been) no \w+`, `^there |no (?:longer|more|less|fewer|better|different|match)$`, `"is not a …"`},
		{" none", `(?:there (?:\w+ ){0,3})?\b(?:is|are|was|were) none\b`, `^there `, `"is not one", "is not valid"`},
		{"tell|told", `\btells? [^.;:,()]{1,60}? from\b|\btold from\b`, ``, `"distinguishes … from"`},
		{"tell|told", `\b(?:tells?|telling|told) of\b`, ``, `"reports", "learns about"`},
		{"tells", `\btells\b(?: (?:the )?\w+)?`, `^tells (?:the (?:model|cli|server|client|peer|sdk|agent|user|program|test|hooks|session|shell|other)|you|it|them|people|everyone|claude|change)$`, `"says", "shows", "reports"`},
		{"told by", `\btold by how\b`, ``, `"recognised by how"`},
		{" on", `\b(?:goes|go|went) on\b`, ``, `"continues"`},
		{"of yours|of ours|of theirs|of mine|of the user's", `\bof (?:yours|ours|theirs|mine)\b|\bof the user's (?:that|for|is|starts)\b`, ``, `"your …", "a user's …"`},
		{"whoever", `\bwhoever\b`, ``, `"anyone who", or name them`},
		{"who wait", `\bwho waits?\b`, ``, `"waiting", "a waiter"`},
		{"one a ", `\bone a (?:line|prompt|turn|session|call|request|day|second|test|file)\b`, ``, `"one for each …"`},
		{"more so", `\bthe more so\b`, ``, `"especially"`},
		{"so d", `\bso (?:does|do|did) \w+`, ``, `"also"`},
		{"all the same", `\ball the same\b`, ``, `"anyway"`},
		{", too", `, too(?:[.,;:)]|$)`, ``, `"also", before the verb`},
		{"what ", `\bwhat (?:has |had )?(?:became|become|came|comes|come) of\b`, ``, `"the outcome of", "what happened to"`},
		{"also ", `\balso (?:when|if|while|where|after|without)\b`, ``, `"even when"`},
		{" of", `\b(?:says?|said) of\b(?: \w+)?`, `of which$`, `"says about"`},
		{"becomes of", `\bbecomes of\b`, ``, `"happens to"`},
		{"hear of|hears of|heard of", `\b(?:hears?|heard) of\b`, ``, `"learns about"`},
		{"without a word", `\bwithout a word\b`, ``, `"silently"`},
		{"stop", `\bstop(?:s|ped)? to (?:read|listen|work|write|wait|watch|ask|look)\b`, ``, `"stops reading"`},
		{"back |alone |twice |anew |again |down ", `\b(?:back|alone|twice|anew|again|down) (?:that|which|whose) (?:is|are|was|were|has|have|had|can|cannot|nobody|another)\b`, ``,
			`the clause after its noun: "leaves alone a prompt that has begun"`},
		{"stands in", `\bstands in(?: \w+)?`, `in for$`, `"is in"`},
	}
	var all []wording
	for _, r := range rows {
		w := wording{strings.Split(r.hints, "|"), regexp.MustCompile(r.odd), nil, r.instead}
		if r.fine != "" {
			w.fine = regexp.MustCompile(r.fine)
		}
		all = append(all, w)
	}
	return all
}

// find returns where the wording is in a text.
func (w *wording) find(text string) (at [][]int) {
	if !slices.ContainsFunc(w.hints, func(hint string) bool { return strings.Contains(text, hint) }) {
		return nil
	}
	return slices.DeleteFunc(w.odd.FindAllStringIndex(text, -1), func(at []int) bool {
		return w.fine != nil && w.fine.MatchString(text[at[0]:at[1]])
	})
}

// wordingExceptions are texts that must stay as they are, and why. Their number
// is bounded, so that a change of words stays easier than an entry here.
var wordingExceptions = [...]struct{ file, text string }{
	{"internal/test/rules/words_test.go", ""}, // it quotes all of them
}

const maxWordingExceptions = 8

func wordRules() []rule {
	return []rule{{
		name:  "plain words",
		check: checkWords,
		bad: fstest.MapFS{
			"a.go": source("package claude",
				"// It is no UUID, there is no doubt, and it is no longer one.",
				"//",
				"// There may well be no answer; the end of the line is",
				"// no obstacle.",
				"var a = errors.New(\"x: the session goes on\")",
				"var told = 1 // Tells limits from errors. It tells the model.",
				"var b = `json:\"goes on\"`"),
			"README.md":    source("A tool of yours, and so does this.", "`goes on` is code.", "```", "goes on", "```", "One a line, too."),
			"z/a.txt":      source("It hears of what becomes of it without a word, and stops to listen. It leaves a prompt alone that has begun."),
			"x/ledger.txt": source("F1 | whoever comes | TestX"),
			"y/go.mod":     source("module example.com/y"),
			"y/b.go":       source("package y", "// It goes on."),
		},
		want: []string{
			`a.go:2: "is no UUID"`, `a.go:4: "is no obstacle"`, `a.go:6: "goes on"`, `a.go:7: "Tells limits from"`,
			`a.go:7: "Tells limits": `, `a.go:8: "goes on"`,
			`README.md:1: "of yours"`, `README.md:1: "so does this"`, `README.md:6: "One a line"`, `README.md:6: ", too."`,
			`x/ledger.txt:1: "whoever"`, `y/b.go:2: "goes on"`,
			`z/a.txt:1: "hears of"`, `z/a.txt:1: "becomes of"`, `z/a.txt:1: "without a word"`, `z/a.txt:1: "stops to listen"`, `z/a.txt:1: "alone that has"`,
		},
	}}
}

// checkWords looks for odd wordings in comments, in texts of the code, and in
// documents, also in the modules nested in this one.
func checkWords(m *module) []string {
	complaints := m.clumsy()
	nested, err := m.nested()
	if err != nil {
		complaints = append(complaints, err.Error())
	}
	for dir, inner := range nested {
		for _, complaint := range inner.clumsy() {
			complaints = append(complaints, path.Join(dir, complaint))
		}
	}
	slices.Sort(complaints)
	return complaints
}

// clumsy lists the odd wordings of one module.
func (m *module) clumsy() []string {
	var complaints []string
	all := clumsyWordings()
	m.words(func(file string, line int, text string) {
		for _, e := range wordingExceptions {
			if e.file == file && strings.Contains(text, e.text) {
				return
			}
		}
		plain := strings.ReplaceAll(lower(text), "\n", " ")
		for _, w := range all {
			for _, at := range w.find(plain) {
				n := line + strings.Count(text[:at[0]], "\n")
				found := strings.ReplaceAll(text[at[0]:at[1]], "\n", " ")
				complaints = append(complaints, fmt.Sprintf("%s:%d: %q: write %s", file, n, found, w.instead))
			}
		}
	})
	return complaints
}

// lower is a text in lower case, byte for byte where it was.
func lower(text string) string {
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

func TestWordingExceptions(t *testing.T) {
	if n := len(wordingExceptions); n > maxWordingExceptions {
		t.Errorf("%d exceptions, at most %d: change the words", n, maxWordingExceptions)
	}
}

var codeForm = regexp.MustCompile("`[^`\n]*`")

// words calls fn with every text that people wrote, and the line it begins in:
// comments, strings, documents and lists.
func (m *module) words(fn func(file string, line int, text string)) {
	for _, f := range m.files {
		for _, group := range f.ast.Comments {
			var text strings.Builder
			for line := range strings.SplitSeq(string(f.src[group.Pos()-f.ast.FileStart:group.End()-f.ast.FileStart]), "\n") {
				line = strings.TrimPrefix(strings.TrimLeft(line, " \t"), "//")
				text.WriteString(strings.TrimPrefix(line, " ") + "\n")
			}
			fn(f.path, m.fset.Position(group.Pos()).Line, text.String())
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					fn(f.path, m.fset.Position(lit.Pos()).Line, text)
				}
			}
			return true
		})
	}
	m.prose(func(name string, n int, line string) {
		fn(name, n, codeForm.ReplaceAllString(strings.TrimRight(line, "\n"), "`"))
	})
	for _, name := range m.lists() {
		text, err := fs.ReadFile(m.fsys, name)
		if err != nil {
			continue
		}
		fn(name, 1, string(text))
	}
}

// lists are text files that documents are made from.
func (m *module) lists() []string {
	var found []string
	_ = fs.WalkDir(m.fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return enter(m.fsys, name, d.Name())
		}
		if path.Ext(name) == ".txt" && name != apiFile {
			found = append(found, name)
		}
		return nil
	})
	return found
}
