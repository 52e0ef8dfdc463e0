package colour

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Class is a kind of text, and its class in CSS.
type Class string

// The kinds of text.
const (
	Plain    Class = ""
	Keyword  Class = "k"
	Text     Class = "s" // in quotes
	Comment  Class = "c"
	Number   Class = "n"
	Function Class = "f"
	Type     Class = "t"
	Key      Class = "a" // of a value, a variable, or an attribute
)

// Classes lists the kinds of text that have a class in CSS.
func Classes() []Class { return []Class{Keyword, Text, Comment, Number, Function, Type, Key} }

// Piece is a part of a line.
type Piece struct {
	Text  string
	Class Class
}

// State is the construct that is open at the end of a line and continues in the next, such
// as a comment. The zero value is the beginning of a file.
type State int

// Line divides a line into pieces, which together are the line, without its line feed.
// before is the state after the line above it. A nil language has one plain piece.
func (l *Language) Line(text string, before State) (pieces []Piece, after State) {
	s := scanner{language: l, text: text, state: before}
	switch {
	case l == nil:
		s.at = len(text)
	case l.patch:
		s.patch()
	case l.markup:
		s.markup()
	default:
		s.code()
	}
	s.take(s.from, Plain)
	return s.pieces, s.state
}

// scanner reads a line.
type scanner struct {
	language *Language
	text     string
	state    State // the number of the open span, from 1
	at       int   // what is before it has been looked at
	from     int   // what is before it is in pieces
	first    int   // where the first word begins
	pieces   []Piece
}

// take makes pieces of what was looked at: plain up to a place, and of a class from there.
func (s *scanner) take(begin int, class Class) {
	if s.from < begin {
		s.pieces = append(s.pieces, Piece{s.text[s.from:begin], Plain})
	}
	if begin < s.at {
		s.pieces = append(s.pieces, Piece{s.text[begin:s.at], class})
	}
	s.from = s.at
}

func (s *scanner) rest() string { return s.text[s.at:] }

// patch reads a line of a unified diff.
func (s *scanner) patch() {
	s.at = len(s.text)
	for _, c := range []struct {
		prefix string
		class  Class
	}{{"@@", Function}, {"+++", Keyword}, {"---", Keyword}, {"diff ", Keyword}, {"index ", Comment}, {"+", Text}, {"-", Type}} {
		if strings.HasPrefix(s.text, c.prefix) {
			s.take(0, c.class)
			return
		}
	}
}

// code reads a line of a language with names, texts and comments.
func (s *scanner) code() {
	s.first = len(s.text) - len(strings.TrimLeft(s.text, " \t"))
	if s.state > 0 {
		s.span(0, 0)
	}
	for s.at < len(s.text) {
		c := s.text[s.at]
		switch {
		case c == ' ' || c == '\t':
			s.at++
		case s.comment(), s.opens(), s.variable():
		case c >= '0' && c <= '9':
			s.number()
		case s.letter(c):
			s.name()
		default:
			s.at++
		}
	}
}

// comment reads a comment that ends with the line.
func (s *scanner) comment() bool {
	for _, begin := range s.language.comments {
		spaced := !s.language.spaced || s.at == 0 || strings.ContainsRune(" \t;&|()", rune(s.text[s.at-1]))
		if spaced && strings.HasPrefix(s.rest(), begin) {
			begin := s.at
			s.at = len(s.text)
			s.take(begin, Comment)
			return true
		}
	}
	return false
}

// opens reads a text or a comment that has an end of its own.
func (s *scanner) opens() bool {
	for i, p := range s.language.spans {
		rest := s.rest()
		if !strings.HasPrefix(rest, p.open) || !p.fits(s.text[:s.at]) || !p.holds(rest) {
			continue
		}
		s.state = State(i + 1)
		s.span(s.at, len(p.open))
		return true
	}
	return false
}

// span reads what is open up to its end, or up to that of the line. opened is how much
// of it has been looked at.
func (s *scanner) span(begin, opened int) {
	p := s.language.spans[s.state-1]
	end, ok := p.end(s.text[begin:], opened)
	s.at = begin + end
	if ok || !p.lines {
		s.state = 0
	}
	class := p.class
	if s.language.keys && class == Text && ok && strings.HasPrefix(strings.TrimLeft(s.rest(), " \t"), ":") {
		class = Key
	}
	s.take(begin, class)
}

// variable reads a variable of a shell.
func (s *scanner) variable() bool {
	if s.language.sigil == 0 || s.text[s.at] != s.language.sigil {
		return false
	}
	begin, rest := s.at, s.text[s.at+1:]
	n := 0
	if strings.HasPrefix(rest, "{") {
		n = strings.IndexByte(rest[:min(len(rest), 80)], '}') + 1
	} else {
		for n < len(rest) && (s.letter(rest[n]) || rest[n] >= '0' && rest[n] <= '9') {
			n++
		}
	}
	s.at += 1 + n
	if n > 0 {
		s.take(begin, Key)
	}
	return true
}

func (s *scanner) number() {
	begin := s.at
	for s.at < len(s.text) {
		c := s.text[s.at]
		digit := c >= '0' && c <= '9' || c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '%'
		point := c == '.' && s.at+1 < len(s.text) && s.text[s.at+1] >= '0' && s.text[s.at+1] <= '9'
		if !digit && !point {
			break
		}
		s.at++
	}
	s.take(begin, Number)
}

// letter reports whether a name can begin with a byte. All of a character outside ASCII
// counts as letters.
func (s *scanner) letter(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf || strings.IndexByte(s.language.letters, c) >= 0
}

func (s *scanner) name() {
	begin := s.at
	for s.at < len(s.text) && (s.letter(s.text[s.at]) || s.text[s.at] >= '0' && s.text[s.at] <= '9') {
		s.at++
	}
	if class := s.classOf(s.text[begin:s.at], begin); class != Plain {
		s.take(begin, class)
	}
}

func (s *scanner) classOf(word string, begin int) Class {
	l := s.language
	known := word
	if l.anyCase {
		known = strings.ToLower(word)
	}
	rest := strings.TrimLeft(s.rest(), " \t")
	switch class := l.words[known]; {
	case l.keys && strings.HasPrefix(rest, ":") && !strings.HasPrefix(rest, "::") && !strings.HasPrefix(rest, "://"),
		l.assigns && strings.HasPrefix(rest, "=") && begin == s.first:
		return Key
	case class != Plain:
		return class
	case l.calls && strings.HasPrefix(s.rest(), "("):
		return Function
	}
	if first, _ := utf8.DecodeRuneInString(word); l.upper && unicode.IsUpper(first) && len(word) > 1 {
		return Type
	}
	return Plain
}

// markup reads a line of HTML or XML. Its spans are comments, and texts in tags; the state
// behind them is a tag.
func (s *scanner) markup() {
	inTag := State(len(s.language.spans) + 1)
	if s.state > 0 && s.state < inTag {
		tag := s.language.spans[s.state-1].class == Text
		if s.span(0, 0); s.state == 0 && tag {
			s.state = inTag
		}
	}
	for s.at < len(s.text) {
		if s.state != inTag {
			s.outside(inTag)
			continue
		}
		begin, c := s.at, s.text[s.at]
		switch {
		case c == '>':
			s.at++
			s.state = 0
		case c == '"' || c == '\'':
			if s.opens(); s.state == 0 {
				s.state = inTag
			}
		case s.letter(c):
			for s.at < len(s.text) && (s.letter(s.text[s.at]) || s.text[s.at] >= '0' && s.text[s.at] <= '9') {
				s.at++
			}
			s.take(begin, Key)
		default:
			s.at++
		}
	}
}

// outside reads markup up to the next tag, with the tag's name, or a comment.
func (s *scanner) outside(inTag State) {
	next := strings.IndexByte(s.rest(), '<')
	if next < 0 {
		s.at = len(s.text)
		return
	}
	s.at += next
	if strings.HasPrefix(s.rest(), "<!--") {
		s.opens()
		return
	}
	s.at++
	begin := s.at
	for s.at < len(s.text) && (s.letter(s.text[s.at]) || strings.IndexByte("/!?", s.text[s.at]) >= 0 || s.text[s.at] >= '0' && s.text[s.at] <= '9') {
		s.at++
	}
	if s.at > begin {
		s.take(begin, Keyword)
		s.state = inTag
	}
}
