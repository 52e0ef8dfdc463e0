package proc

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// redacted stands in the place of a secret.
	redacted = "[redacted]"

	// minSecret is the length from which a value is worth hiding. Shorter ones
	// are switches and numbers, and occur in any text.
	minSecret = 8

	// minPart is the length from which the beginning of a secret at the very
	// end of a text is hidden too.
	minPart = 4

	// keyPrefix starts every key of the API.
	keyPrefix = "sk-ant-"
)

// redactor hides secrets: the values that the child got in its environment under
// telling names, and API keys, which are known by their form.
type redactor struct {
	secrets [][]byte
	longest int
}

func newRedactor(env []string) *redactor {
	var r redactor
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if !tellsSecret(name) {
			continue
		}
		r.add(value)
		// Callbacks see one line at a time, so a key file in a variable has to
		// be known by its lines.
		if strings.Contains(value, "\n") {
			for line := range strings.Lines(value) {
				r.add(strings.TrimRight(line, "\r\n"))
			}
		}
	}
	return &r
}

func (r *redactor) add(secret string) {
	if len(secret) >= minSecret {
		r.secrets = append(r.secrets, []byte(secret))
		r.longest = max(r.longest, len(secret))
	}
}

// tellsSecret reports whether the name of a variable says that its value is not
// for everybody.
func tellsSecret(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "COOKIE", "HEADERS", "AUTH"}, func(word string) bool {
		return strings.Contains(name, word)
	})
}

// span is a secret inside a text.
type span struct{ start, end int }

// spans returns the secrets in text, in order and merged where they overlap.
func (r *redactor) spans(text []byte) []span {
	var all []span
	for _, secret := range r.secrets {
		for from := 0; ; {
			i := bytes.Index(text[from:], secret)
			if i < 0 {
				break
			}
			all = append(all, span{from + i, from + i + len(secret)})
			from += i + 1
		}
		if n := partAtEnd(text, secret); n > 0 {
			all = append(all, span{len(text) - n, len(text)})
		}
	}
	for from := 0; ; {
		i := bytes.Index(text[from:], []byte(keyPrefix))
		if i < 0 {
			break
		}
		end := from + i + len(keyPrefix)
		for end < len(text) && isKeyByte(text[end]) {
			end++
		}
		all = append(all, span{from + i, end})
		from = end
	}
	return merge(all)
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

// partAtEnd returns how many bytes at the end of text are the beginning of
// secret, as happens when a write was cut short.
func partAtEnd(text, secret []byte) int {
	for n := min(len(secret)-1, len(text)); n >= minPart; n-- {
		if bytes.HasSuffix(text, secret[:n]) {
			return n
		}
	}
	return 0
}

// isKeyByte reports whether b may be part of an API key.
func isKeyByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '-' || b == '_'
}

// text returns b as valid text without its secrets.
func (r *redactor) text(b []byte) string {
	var out strings.Builder
	at := 0
	for _, s := range r.spans(b) {
		out.Write(b[at:s.start])
		out.WriteString(redacted)
		at = s.end
	}
	out.Write(b[at:])
	return strings.ToValidUTF8(out.String(), string(utf8.RuneError))
}

// afterCut returns where a text that lost its beginning may start to be shown:
// past anything that could be the rest of a secret, at a line if there is one.
func (r *redactor) afterCut(b []byte) int {
	at := min(r.longest, len(b))
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
	for _, s := range r.spans(b) {
		if s.start < at && at < s.end {
			at = s.end
		}
	}
	return at
}
