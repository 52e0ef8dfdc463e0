package secret

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

const (
	// Mask replaces a secret.
	Mask = "[redacted]"

	// minValue is the length from which the value of a variable is worth
	// hiding. Shorter ones are switches and numbers, and occur in any text.
	minValue = 8

	// minPart is the length from which the beginning of a secret at the very
	// end of a text is hidden too.
	minPart = 4
)

// Set holds known secrets. The zero value, and a nil pointer, recognise secrets
// by their form only. Adding is not safe for concurrent use, everything else is.
type Set struct {
	values  [][]byte
	has     map[string]bool
	longest int
	matcher atomic.Pointer[matcher] // of all values, nil until it is needed
}

// FromEnv returns a Set with the values of the variables, in the form of
// os.Environ, whose names say that they are secret.
func FromEnv(env []string) *Set {
	var s Set
	for _, entry := range env {
		if name, value, _ := strings.Cut(entry, "="); IsSecretName(name) {
			s.AddValues(value)
		}
	}
	return &s
}

// AddValues adds values that are secret if they are long enough to be one. Text is
// often seen one line at a time, so a key file is known by its lines too.
func (s *Set) AddValues(values ...string) {
	for _, value := range values {
		s.learn(value)
		if strings.Contains(value, "\n") {
			for line := range strings.Lines(value) {
				s.learn(strings.TrimRight(line, "\r\n"))
			}
		}
	}
}

// Add adds texts that are secret whatever their length.
func (s *Set) Add(texts ...string) {
	for _, text := range texts {
		if text != "" {
			s.add(text)
		}
	}
}

// learn adds a value, unless it is too short to be a secret or
// already masked.
func (s *Set) learn(value string) {
	if len(value) >= minValue && !strings.Contains(value, Mask) {
		s.add(value)
	}
}

func (s *Set) add(text string) {
	for _, spelling := range spellings(text) {
		if s.has[spelling] {
			continue
		}
		if s.has == nil {
			s.has = make(map[string]bool)
		}
		s.has[spelling] = true
		s.values = append(s.values, []byte(spelling))
		s.longest = max(s.longest, len(spelling))
		s.matcher.Store(nil)
	}
}

// Longest returns the length of the longest secret that is known by its value.
func (s *Set) Longest() int {
	if s == nil {
		return 0
	}
	return s.longest
}

// Hide returns text without its secrets.
func (s *Set) Hide(text string) string {
	return string(maskSpans([]byte(text), s.spans([]byte(text))))
}

// HideWords is Hide for text that a person has to judge, such as a command. It
// hides every known value, but recognises by form only single words of letters,
// digits and the marks of keys: the commands in KEY="$(command)" and KEY=command;
// $KEY must stay visible.
func (s *Set) HideWords(text string) string {
	all := s.valueSpans([]byte(text))
	for _, sp := range patternSpans([]byte(text)) {
		if !strings.ContainsFunc(text[sp.start:sp.end], isNotWord) {
			all = append(all, sp)
		}
	}
	return string(maskSpans([]byte(text), merge(all)))
}

func isNotWord(r rune) bool {
	return r >= utf8.RuneSelf || !isKeyByte(byte(r)) && !strings.ContainsRune(".~+/=", r)
}

// knownValues returns the secrets that are known by their value.
func (s *Set) knownValues() [][]byte {
	if s == nil {
		return nil
	}
	return s.values
}

// Tail returns b, which may end inside a secret, as valid text without its
// secrets.
func (s *Set) Tail(b []byte) string {
	return strings.ToValidUTF8(string(maskSpans(b, s.tailSpans(b))), string(utf8.RuneError))
}

// cutMargin is how far behind a cut is looked for the end of a secret that
// begins before it.
const cutMargin = 64 << 10

// Head returns the beginning of a text, n bytes at most, without its secrets. One
// that the cut would leave a part of is also hidden.
func (s *Set) Head(text []byte, n int) string {
	n = min(n, len(text))
	seen := text[:min(len(text), n+max(cutMargin, s.Longest()))]
	var before []span
	for _, sp := range s.spans(seen) {
		if sp.start < n {
			before = append(before, span{sp.start, min(sp.end, n)})
		}
	}
	return strings.ToValidUTF8(string(maskSpans(text[:n], before)), string(utf8.RuneError))
}

// HeadJSON is Head for JSON, whole or broken.
func (s *Set) HeadJSON(line []byte, n int) string {
	seen := line[:min(len(line), n+max(cutMargin, s.Longest()))]
	hidden := s.JSON(seen)
	if n >= len(line) {
		return s.Head(hidden, len(hidden))
	}
	// What was hidden has made it shorter: what lies behind the cut stays there.
	return s.Head(hidden, max(min(n, n-len(seen)+len(hidden)), 0))
}

// AfterCut returns where a text that lost its beginning may start to be shown:
// past anything that could be the rest of a secret, at a line if there is one.
func (s *Set) AfterCut(b []byte) int {
	at := min(s.Longest(), len(b))
	if i := bytes.IndexByte(b[at:], '\n'); i >= 0 {
		at += i + 1
	} else {
		// An API key has no known length.
		for at < len(b) && isKeyByte(b[at]) {
			at++
		}
		for at < len(b) && !utf8.RuneStart(b[at]) {
			at++
		}
	}
	for _, sp := range s.tailSpans(b) {
		if sp.start < at && at < sp.end {
			at = sp.end
		}
	}
	return at
}

// tailSpans are the secrets in b, and the beginning of one at its end.
func (s *Set) tailSpans(b []byte) []span {
	all := s.spans(b)
	for _, value := range s.knownValues() {
		if n := prefixAtEnd(b, value); n >= minPart {
			all = append(all, span{len(b) - n, len(b)})
		}
	}
	return merge(all)
}

// span is a secret inside a text.
type span struct{ start, end int }

// spans returns the secrets in text, in order and merged where they overlap.
func (s *Set) spans(text []byte) []span {
	return merge(slices.Concat(s.valueSpans(text), patternSpans(text), memberSpans(text), assignedSpans(text)))
}

// merge sorts spans and joins those that overlap or touch.
func merge(all []span) []span {
	slices.SortFunc(all, func(a, b span) int { return a.start - b.start })
	var merged []span
	for _, s := range all {
		if last := len(merged) - 1; last >= 0 && s.start <= merged[last].end {
			merged[last].end = max(merged[last].end, s.end)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// maskSpans puts the mask over spans.
func maskSpans(text []byte, secrets []span) []byte {
	if len(secrets) == 0 {
		return text
	}
	var out []byte
	at := 0
	for _, s := range secrets {
		out = append(append(out, text[at:s.start]...), Mask...)
		at = s.end
	}
	return append(out, text[at:]...)
}

// prefixAtEnd returns how many bytes at the end of text are the beginning of
// secret, as happens when a write was cut short.
func prefixAtEnd(text, secret []byte) int {
	for n := min(len(secret)-1, len(text)); n > 0; n-- {
		if bytes.HasSuffix(text, secret[:n]) {
			return n
		}
	}
	return 0
}

// Clone returns a Set that can be added to without changing s.
func (s *Set) Clone() *Set {
	if s == nil {
		return new(Set)
	}
	return &Set{values: slices.Clone(s.values), has: maps.Clone(s.has), longest: s.longest}
}
