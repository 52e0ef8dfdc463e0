package colour

import (
	"path"
	"strings"
	"sync"
	"unicode/utf8"
)

// Language is how to read a language. It is not changed once it is made, so several
// goroutines may use it.
type Language struct {
	comments []string // what begins a comment that ends with the line
	spaced   bool     // such a comment stands at the beginning of a word only
	spans    []span   // texts, and comments with an end; the first that fits counts
	words    map[string]Class
	anyCase  bool   // words in capitals are the same; words are small
	letters  string // what names have besides letters, digits and _
	sigil    byte   // begins a variable; 0: nothing does
	keys     bool   // a name or a text before a colon is a key
	assigns  bool   // a name at the beginning of a line before an = is a key
	calls    bool   // a name before a parenthesis is a function
	upper    bool   // a name with a capital is a type
	markup   bool   // it has tags
	patch    bool   // it is a unified diff
}

// span is a text or a comment with an end of its own.
type span struct {
	open, close string
	class       Class
	escape      byte   // takes the next character along; 0: nothing does
	lines       bool   // it may have several lines; otherwise it ends with its line
	short       int    // one that has more bytes is not one; 0: any number
	letter      bool   // one with several characters is not one, but for an escaped one
	after       string // it stands only behind one of these, or first in its line; empty: anywhere
}

// fits reports whether a span can stand behind a text.
func (p *span) fits(before string) bool {
	before = strings.TrimRight(before, " \t")
	return p.after == "" || before == "" || strings.IndexByte(p.after, before[len(before)-1]) >= 0
}

// end returns where a span ends in a text, and whether it does. Everything before
// from belongs to it.
func (p *span) end(text string, from int) (int, bool) {
	for i := from; i < len(text); i++ {
		switch {
		case p.escape != 0 && text[i] == p.escape:
			i++
		case strings.HasPrefix(text[i:], p.close):
			return i + len(p.close), true
		}
	}
	return len(text), false
}

// holds reports whether a text that begins with the span has all that it needs.
func (p *span) holds(text string) bool {
	if p.short == 0 {
		return true
	}
	end, ok := p.end(text[:min(len(text), p.short)], len(p.open))
	inside := text[len(p.open):end]
	if ok {
		inside = strings.TrimSuffix(inside, p.close)
	}
	return ok && inside != "" && (!p.letter || inside[0] == p.escape || utf8.RuneCountInString(inside) == 1)
}

// ByName returns the language with a name that people give it, such as "go" or "sh",
// nil if there is none.
func ByName(name string) *Language { return table().names[strings.ToLower(name)] }

// ByPath returns the language of a file, nil if it is not known. The path is one of any
// system.
func ByPath(file string) *Language {
	name := strings.ToLower(path.Base(strings.ReplaceAll(file, `\`, "/")))
	if l := table().files[name]; l != nil {
		return l
	}
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
		return table().names[name[dot+1:]]
	}
	return nil
}

// languages finds languages by their names and extensions, and by names of files.
type languages struct{ names, files map[string]*Language }

// table is made when it is first needed.
var table = sync.OnceValue(makeTable)

// words makes a set of words of a class.
func words(class Class, list string) map[string]Class {
	all := make(map[string]Class)
	for word := range strings.FieldsSeq(list) {
		all[word] = class
	}
	return all
}

// with adds more words.
func with(all map[string]Class, class Class, list string) map[string]Class {
	for word := range strings.FieldsSeq(list) {
		all[word] = class
	}
	return all
}
