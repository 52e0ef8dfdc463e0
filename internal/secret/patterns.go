package secret

import (
	"bytes"
	"regexp"
	"strings"
)

// keyPrefix starts every key of the API.
const keyPrefix = "sk-ant-"

// isKeyByte reports whether b may be part of an API key.
func isKeyByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '-' || b == '_'
}

// pattern is how a kind of secret looks. A text without the needle has none, which
// is cheap to see. The last group of the expression is the secret.
type pattern struct {
	needle string
	expr   *regexp.Regexp
}

// patterns are the kinds that are recognised by their form alone. "Bearer
// authentication" is not a secret: the word after "Bearer" has no digits and is
// short.
var patterns = [...]pattern{
	{"earer ", regexp.MustCompile(`(?i)\bbearer +([\w.~+/=-]{24,}|[a-z.~+/=-]{7,}[0-9][\w.~+/=-]*|[a-z.~+/=-]{0,6}[0-9][\w.~+/=-]{4,})`)},
	{"uthorization", regexp.MustCompile(`(?i)authorization["']?\s*[:=]\s*["']?(?:basic|token|digest) +([\w.~+/=-]{8,})`)},
	{"gh", regexp.MustCompile(`\b(gh[pousr]_\w{20,}|github_pat_\w{20,})`)},
	{"xox", regexp.MustCompile(`\b(xox[abeprs]-[\w-]{10,})`)},
	{"AKIA", regexp.MustCompile(`\b(AKIA[0-9A-Z]{16})\b`)},
	{"sk-", regexp.MustCompile(`\b(sk-(?:proj-|live_|test_)?[\w-]{20,})`)},
	{"eyJ", regexp.MustCompile(`\b(eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]*)`)},
	{"PRIVATE KEY", regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----(.+?)(?:-----END|$)`)},
	{"://", regexp.MustCompile(`://[^\s/:@"']+:([^\s/@"']{3,})@`)},
}

// assignment is a variable that is set in a text, as a shell does.
var assignment = regexp.MustCompile(`\b([A-Za-z_][A-Za-z0-9_]*)=("[^"\n]{8,}"|'[^'\n]{8,}'|[^\s"'$;&|)]{8,})`)

// quotedMember is a member of JSON, or of something like it, inside
// a text, however often its quotes are escaped there.
var quotedMember = regexp.MustCompile(`["']([A-Za-z_][\w-]*)\\*["']\s*:\s*\\*["']([^"'\\]{8,})\\*["']`)

// memberSpans returns the values of members with secret names.
func memberSpans(text []byte) []span {
	if cannotMatch(text) || bytes.IndexByte(text, ':') < 0 {
		return nil
	}
	var all []span
	for _, m := range quotedMember.FindAllSubmatchIndex(text, -1) {
		name := string(text[m[2]:m[3]])
		// Variables are in capitals and headers have dashes; other names are
		// those of any JSON, which counts tokens too.
		if isSecretMember(name) || IsSecretName(name) && (name == strings.ToUpper(name) || strings.Contains(name, "-")) {
			all = append(all, span{m[4], m[5]})
		}
	}
	return all
}

// cannotMatch reports whether a text is too plain for any form, as most are: names.
func cannotMatch(text []byte) bool {
	return len(text) < len(keyPrefix) || len(text) < 24 && !bytes.ContainsAny(text, "-=: 0123456789")
}

// patternSpans returns the secrets that are known by how they look.
func patternSpans(text []byte) []span {
	if cannotMatch(text) {
		return nil
	}
	var all []span
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
	for _, f := range patterns {
		if !bytes.Contains(text, []byte(f.needle)) {
			continue
		}
		for _, m := range f.expr.FindAllSubmatchIndex(text, -1) {
			all = append(all, span{m[len(m)-2], m[len(m)-1]})
		}
	}
	return all
}

// assignedSpans returns the secrets that are known by the variable they are given
// to.
func assignedSpans(text []byte) []span {
	if bytes.IndexByte(text, '=') < 0 {
		return nil
	}
	var all []span
	for _, m := range assignment.FindAllSubmatchIndex(text, -1) {
		if name := string(text[m[2]:m[3]]); IsSecretName(name) && !strings.HasPrefix(string(text[m[4]:m[5]]), Mask) {
			all = append(all, span{m[4], m[5]})
		}
	}
	return all
}
