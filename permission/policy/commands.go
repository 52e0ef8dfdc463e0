package policy

import (
	"path"
	"slices"
	"strings"
)

// everyCommand lists every command that a shell might run, its words without
// quotes: also inside substitutions, and behind words that start another
// command. It is not ok if the text cannot be read.
func everyCommand(text string) (commands []string, ok bool) {
	f := finder{left: 64<<10 + 16*len(text)}
	ok = f.find(text)
	return f.commands, ok
}

// finder collects commands. Text that is made to keep it busy, such as a long
// row of words that each may start the rest, uses up what is left and cannot
// be read then.
type finder struct {
	commands []string
	left     int // bytes of commands
}

func (f *finder) find(text string) bool {
	s := splitter{text: text}
	if !s.split() {
		return false
	}
	for _, words := range s.pieces {
		starter := false
		for i, word := range words {
			name := path.Base(word)
			rest := words[i+1:]
			for _, first := range []string{word, name} {
				command := strings.Join(append([]string{first}, rest...), " ")
				if f.left -= len(command); f.left < 0 {
					return false
				}
				f.commands = append(f.commands, command)
			}
			if inner := script(name, rest); inner != "" && !f.find(inner) {
				return false
			}
			// Which words after a starter are its own, and where the command
			// begins, depends on its options: every word may be the one.
			starter = starter || slices.Contains(starters[:], name)
			if !starter && !strings.Contains(word, "=") {
				break
			}
		}
	}
	return true
}

// starters are words that come before a command.
var starters = [...]string{
	"!", "if", "then", "elif", "else", "while", "until", "do", "time",
	"env", "sudo", "doas", "su", "nohup", "nice", "ionice", "stdbuf", "setsid", "chroot", "flock",
	"command", "builtin", "exec", "xargs", "parallel", "timeout", "watch", "busybox", "find",
}

// script is the text that a command hands to a shell.
func script(name string, args []string) string {
	switch {
	case name == "eval":
		return strings.Join(args, " ")
	case slices.Contains([]string{"sh", "bash", "zsh", "dash", "ksh"}, name):
		i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") && strings.HasSuffix(a, "c") })
		if i >= 0 && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}

// splitter cuts a command line into commands and words, without quotes. It
// knows the shell well enough to find what might run, and cuts rather once too
// often.
type splitter struct {
	text   string
	pos    int
	pieces [][]string

	words   []string
	word    strings.Builder
	inWord  bool
	drop    bool   // the next word is the file of a redirection
	quoted  bool   // inside double quotes
	outside []bool // quoted of the substitutions around
	ticks   []bool // quoted of the backquotes around
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
	case '{', '}', ';', '\n', '|':
		s.endPiece()
	case '&':
		if s.pos == 0 || s.text[s.pos-1] != '>' {
			s.endPiece()
		}
	case '<', '>':
		if strings.Trim(s.word.String(), "0123456789") == "" {
			s.word.Reset() // the number of a file
			s.inWord = false
		}
		s.endWord()
		s.drop = s.peek() != '('
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
	if !s.drop {
		s.words = append(s.words, s.word.String())
	}
	s.drop, s.inWord = false, false
	s.word.Reset()
}

func (s *splitter) endPiece() {
	s.endWord()
	s.drop = false
	if len(s.words) > 0 {
		s.pieces = append(s.pieces, s.words)
	}
	s.words = nil
}
