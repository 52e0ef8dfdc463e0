package jsonx

import (
	"bytes"
	"iter"
)

// Place is the position of a text or a number in its JSON.
type Place struct {
	// Name is true if the text is the name of a member.
	Name bool
	// Number is true if it is a number, not a text.
	Number bool
	// Member is the member that the text is the value of, also as an element
	// of a list; "" for names and at the top level.
	Member string
	// Parent is the member whose object, or list of objects, holds the text.
	Parent string

	open []level
}

// Ancestors yields the members whose objects or lists the text is in, the innermost
// first, each with the member whose object holds it. It may be used only while the
// text is replaced.
func (p Place) Ancestors() iter.Seq2[string, string] {
	return func(yield func(member, parent string) bool) {
		for i := len(p.open) - 1; i >= 0; i-- {
			if !yield(p.open[i].member, parentOf(p.open[:i])) {
				return
			}
		}
	}
}

// MapScalars returns a line with every text of its JSON, quotes included, and
// every number replaced by the result of replace. The line may be broken: an
// unterminated text stays as it is.
func MapScalars(line []byte, replace func(value []byte, at Place) []byte) []byte {
	return MapCut(line, replace, func(text []byte, _ Place) []byte { return text })
}

// MapCut is [MapScalars] for a line that may be cut off: an unterminated text,
// with its opening quote, is replaced by the result of cut.
func MapCut(line []byte, replace, cut func(value []byte, at Place) []byte) []byte {
	var out []byte
	w := scalarMapper{replace: replace}
	for {
		begin := bytes.IndexByte(line, '"')
		if begin < 0 {
			return w.between(out, line)
		}
		end := textEnd(line[begin:])
		if end < 0 {
			out = w.between(out, line[:begin])
			return append(out, cut(line[begin:], w.place(nil, nil))...)
		}
		out = w.between(out, line[:begin])
		text, rest := line[begin:begin+end], line[begin+end:]
		out = append(out, replace(text, w.place(text, rest))...)
		line = rest
	}
}

// MapTexts is [MapScalars] for texts alone.
func MapTexts(line []byte, replace func(text []byte, at Place) []byte) []byte {
	return MapScalars(line, func(value []byte, at Place) []byte {
		if at.Number {
			return value
		}
		return replace(value, at)
	})
}

// scalarMapper follows the brackets around texts.
type scalarMapper struct {
	replace func(value []byte, at Place) []byte
	open    []level
	next    string // the member whose value comes next
}

// level is an object or list that is open, and the member it is the value of.
type level struct {
	member string
	list   bool
}

// between takes what stands between two texts, and appends it with its numbers
// replaced.
func (w *scalarMapper) between(out, between []byte) []byte {
	for i := 0; i < len(between); i++ {
		c := between[i]
		if n := numberEnd(between[i:]); n > 0 {
			at := Place{Number: true, Member: w.member(), Parent: w.parent(), open: w.open}
			out = append(out, w.replace(between[i:i+n], at)...)
			i += n - 1
			continue
		}
		out = append(out, c)
		switch c {
		case '{', '[':
			w.open = append(w.open, level{w.member(), c == '['})
			w.next = ""
		case '}', ']':
			if n := len(w.open); n > 0 {
				w.open = w.open[:n-1]
			}
			w.next = ""
		case ',':
			w.next = ""
		}
	}
	return out
}

// numberEnd is the length of the number that text begins with, 0 if there is
// none.
func numberEnd(text []byte) int {
	if c := text[0]; c != '-' && (c < '0' || c > '9') {
		return 0
	}
	n := bytes.IndexFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && r != '-' && r != '+' && r != '.' && r != 'e' && r != 'E'
	})
	if n < 0 {
		return len(text)
	}
	return n
}

// member is the member whose value stands here.
func (w *scalarMapper) member() string {
	if n := len(w.open); w.next == "" && n > 0 && w.open[n-1].list {
		return w.open[n-1].member
	}
	return w.next
}

// parent is the member whose object holds what stands here.
func (w *scalarMapper) parent() string { return parentOf(w.open) }

// parentOf is the member of the innermost object.
func parentOf(open []level) string {
	for i := len(open) - 1; i >= 0; i-- {
		if !open[i].list {
			return open[i].member
		}
	}
	return ""
}

// place returns the position of a text, given what follows it.
func (w *scalarMapper) place(text, rest []byte) Place {
	at := Place{Parent: w.parent(), open: w.open}
	if at.Name = bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(":")); at.Name {
		w.next = Text(text)
		return at
	}
	at.Member, w.next = w.member(), ""
	return at
}

// textEnd is the length of the text that line begins with, -1 if it does not
// end.
func textEnd(line []byte) int {
	for i := 1; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}
