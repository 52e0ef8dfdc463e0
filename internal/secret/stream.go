package secret

import "bytes"

// Stream hides secrets in a text that comes in pieces, also those that are cut
// by the pieces if they are known by their value or are API keys; other forms
// are found where a piece has them whole. It is for one goroutine.
type Stream struct {
	set  *Set
	held []byte // the end of the text so far, which may begin a secret
}

// NewStream returns a stream that hides the secrets of the set.
func NewStream(s *Set) *Stream { return &Stream{set: s} }

// Next takes a piece and returns what can be shown now.
func (t *Stream) Next(piece string) string {
	t.held = append(t.held, piece...)
	n := len(t.held) - t.set.openSuffix(t.held)
	for _, s := range t.set.spans(t.held) {
		if s.start < n && n < s.end { // what ends one secret may begin another
			n = s.start
		}
	}
	return t.show(n)
}

// Rest returns the text that was held back, once no more will come.
func (t *Stream) Rest() string { return t.show(len(t.held)) }

func (t *Stream) show(n int) string {
	text := string(maskSpans(t.held[:n], t.set.spans(t.held[:n])))
	t.held = append(t.held[:0], t.held[n:]...)
	return text
}

// openSuffix returns how many bytes at the end of text may be the beginning of a
// secret that continues, or an API key whose end is not seen.
func (s *Set) openSuffix(text []byte) int {
	n := prefixAtEnd(text, []byte(keyPrefix))
	if i := bytes.LastIndex(text, []byte(keyPrefix)); i >= 0 && !bytes.ContainsFunc(text[i:], func(c rune) bool { return c > 0x7f || !isKeyByte(byte(c)) }) {
		n = max(n, len(text)-i)
	}
	for _, value := range s.knownValues() {
		n = max(n, prefixAtEnd(text, value))
	}
	return n
}
