package jsonx

import "iter"

// Structure yields the brackets and commas of JSON that are not inside a text,
// each with the number of brackets that are open: an opening bracket counts, a
// closing one no longer does. It does not check whether they match.
func Structure(data []byte) iter.Seq2[byte, int] {
	return func(yield func(byte, int) bool) {
		depth, inText := 0, false
		for i := 0; i < len(data); i++ {
			c := data[i]
			switch {
			case inText && c == '\\':
				i++
				continue
			case c == '"':
				inText = !inText
				continue
			case inText:
				continue
			case c == '{' || c == '[':
				depth++
			case c == '}' || c == ']':
				depth--
			case c != ',':
				continue
			}
			if !yield(c, depth) {
				return
			}
		}
	}
}
