package policy

import (
	"slices"
	"strings"
)

// splitter cuts a command line into commands and words, without quotes. It
// knows the shell well enough to find what might run, and cuts rather once too
// often.
type splitter struct {
	text     string
	comments bool // what follows a # is no command
	pos      int
	pieces   []piece

	piece
	word    strings.Builder
	inWord  bool
	into    byte   // the next word is the file of this redirection
	quoted  bool   // inside double quotes
	braces  []bool // those around, and whether they may spell a command
	outside []bool // quoted of the substitutions around
	ticks   []bool // quoted of the backquotes around
}

// piece is one command: its words, and the files it is redirected from and to.
type piece struct {
	words         []string
	reads, writes []string
}

// split reports whether the text could be read.
func (s *splitter) split() bool {
	for ; s.pos < len(s.text); s.pos++ {
		if !s.char(s.text[s.pos]) {
			return false
		}
	}
	s.endPiece()
	return !s.quoted && len(s.outside) == 0 && len(s.ticks) == 0
}

func (s *splitter) peek() byte {
	if s.pos+1 < len(s.text) {
		return s.text[s.pos+1]
	}
	return 0
}

// char takes one character and reports whether it could be read.
func (s *splitter) char(c byte) bool {
	switch {
	case c == '\\':
		s.pos++
		if s.pos < len(s.text) && s.text[s.pos] != '\n' {
			s.add(s.text[s.pos])
		}
	case c == '$' && s.peek() == '\'' && !s.quoted:
		return false // a quotation that can spell anything
	case c == '$' && s.peek() == '"' && !s.quoted: // a quotation to be translated
	case c == '$' && s.peek() == '{': // a variable: what is around it counts
	case c == '"':
		s.quoted, s.inWord = !s.quoted, true
	case c == '$' && s.peek() == '(':
		s.pos++
		s.open()
	case c == '`':
		s.endPiece()
		if n := len(s.ticks); n > 0 {
			s.quoted, s.ticks = s.ticks[n-1], s.ticks[:n-1]
		} else {
			s.ticks, s.quoted = append(s.ticks, s.quoted), false
		}
	case s.quoted:
		s.add(c)
	default:
		return s.bare(c)
	}
	return true
}

// bare takes a character outside of quotes.
func (s *splitter) bare(c byte) bool {
	switch c {
	case '\'':
		n := strings.IndexByte(s.text[s.pos+1:], '\'')
		if n < 0 {
			return false
		}
		s.word.WriteString(s.text[s.pos+1 : s.pos+1+n])
		s.inWord = true
		s.pos += n + 1
	case ' ', '\t', '\r':
		s.endWord()
	case '(':
		s.open()
	case ')':
		s.endPiece()
		if n := len(s.outside); n > 0 { // else the end of a pattern of case
			s.quoted, s.outside = s.outside[n-1], s.outside[:n-1]
		}
	case '#':
		if s.comments && s.begins() {
			s.pos += len(s.line())
			s.endPiece()
			return true
		}
		s.add(c)
	case '{':
		switch {
		case s.peek() == '}': // means nothing to a shell
			s.add('{')
			s.add('}')
			s.pos++
			return true
		case s.inWord && !s.after("$") && s.starts():
			return false // the braces spell a command
		}
		s.braces = append(s.braces, !s.after("$") && s.starts())
		s.endPiece()
	case ',':
		if len(s.braces) > 0 && s.starts() {
			s.endWord() // perhaps between braces, where it parts words
			return true
		}
		s.add(c)
	case '}':
		s.endPiece()
		if n := len(s.braces); n > 0 {
			spell := s.braces[n-1]
			s.braces = s.braces[:n-1]
			return !spell || strings.IndexByte(" \t\r\n;|&()<>}\x00", s.peek()) >= 0
		}
	case ';', '\n':
		s.endPiece()
	case '|', '&':
		if !s.after("<>") { // as in >| and <&
			s.endPiece()
		}
	case '<', '>':
		if strings.Trim(s.word.String(), "0123456789") == "" {
			s.word.Reset() // the number of a file
			s.inWord = false
		}
		s.endWord()
		s.into = c
		if s.peek() == '(' {
			s.into = 0
		}
	default:
		s.add(c)
	}
	return true
}

func (s *splitter) add(c byte) {
	s.word.WriteByte(c)
	s.inWord = true
}

// open begins a substitution or a subshell.
func (s *splitter) open() {
	s.endPiece()
	s.outside, s.quoted = append(s.outside, s.quoted), false
}

func (s *splitter) endWord() {
	if !s.inWord {
		return
	}
	switch word := s.word.String(); s.into {
	case '<':
		s.reads = append(s.reads, word)
	case '>':
		s.writes = append(s.writes, word)
	default:
		s.words = append(s.words, word)
	}
	s.into, s.inWord = 0, false
	s.word.Reset()
}

func (s *splitter) endPiece() {
	s.endWord()
	s.into = 0
	if len(s.words)+len(s.reads)+len(s.writes) > 0 {
		s.pieces = append(s.pieces, s.piece)
	}
	s.piece = piece{}
}

// after reports whether the character before is one of these.
func (s *splitter) after(chars string) bool {
	return s.pos > 0 && strings.IndexByte(chars, s.text[s.pos-1]) >= 0
}

// begins reports whether a word begins here.
func (s *splitter) begins() bool {
	return !s.inWord && (s.pos == 0 || s.after(" \t\r\n;|&()<>"))
}

// line is what is left of the line.
func (s *splitter) line() string {
	line, _, _ := strings.Cut(s.text[s.pos:], "\n")
	return line
}

// starts reports whether the word here may name the command that runs.
func (s *splitter) starts() bool {
	return !slices.ContainsFunc(s.words, func(w string) bool { return !strings.Contains(w, "=") }) ||
		slices.ContainsFunc(s.words, startsOthers)
}

// joined takes out the line breaks that a backslash hides.
func joined(text string) string {
	if !strings.Contains(text, "\\\n") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		if text[i] != '\n' {
			b.WriteString(text[i-1 : i+1])
		}
	}
	return b.String()
}
