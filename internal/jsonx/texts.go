package jsonx

import "bytes"

// Place says where a text stands in its JSON.
type Place struct {
	// Name says that the text is the name of a member.
	Name bool
	// Member is the member that the text is the value of, also as an element
	// of a list; "" for names and at the top level.
	Member string
	// Parent is the member whose object, or list of objects, holds the text.
	Parent string
}

// MapTexts returns a line in which every text of its JSON, quotes included, is
// what replace makes of it. The line may be broken: a text that does not end
// stays as it is.
func MapTexts(line []byte, replace func(text []byte, at Place) []byte) []byte {
	var out []byte
	w := texts{}
	for {
		begin := bytes.IndexByte(line, '"')
		if begin < 0 {
			return append(out, line...)
		}
		end := textEnd(line[begin:])
		if end < 0 {
			return append(out, line...)
		}
		w.brackets(line[:begin])
		text, rest := line[begin:begin+end], line[begin+end:]
		out = append(append(out, line[:begin]...), replace(text, w.place(text, rest))...)
		line = rest
	}
}

// texts follows the brackets around texts.
type texts struct {
	open []level
	next string // the member whose value comes next
}

// level is an object or list that is open, and the member it is the value of.
type level struct {
	member string
	list   bool
}

// brackets takes what stands between two texts.
func (w *texts) brackets(between []byte) {
	for _, c := range between {
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
}

// member is the member whose value stands here.
func (w *texts) member() string {
	if n := len(w.open); w.next == "" && n > 0 && w.open[n-1].list {
		return w.open[n-1].member
	}
	return w.next
}

// place says where a text stands, given what follows it.
func (w *texts) place(text, rest []byte) Place {
	var at Place
	for i := len(w.open) - 1; i >= 0; i-- {
		if !w.open[i].list {
			at.Parent = w.open[i].member
			break
		}
	}
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
