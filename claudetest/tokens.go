package claudetest

import "bytes"

// mapTexts returns a line in which every text of its JSON, quotes included, is
// what replace makes of it; name says that it is the name of a member. The
// line may be broken: a text that does not end stays as it is.
func mapTexts(line []byte, replace func(text []byte, name bool) []byte) []byte {
	var out []byte
	for {
		begin := bytes.IndexByte(line, '"')
		if begin < 0 {
			return append(out, line...)
		}
		end := textEnd(line[begin:])
		if end < 0 {
			return append(out, line...)
		}
		text, rest := line[begin:begin+end], line[begin+end:]
		name := bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(":"))
		out = append(append(out, line[:begin]...), replace(text, name)...)
		line = rest
	}
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
