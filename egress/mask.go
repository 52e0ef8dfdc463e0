package egress

import (
	"bytes"
	"strconv"
	"strings"
)

// mask stands for the real secret in an error that repeats it.
const mask = "[redacted]"

// unreadable stands for the text of an error that the proxy cannot decode, or not without
// the secret.
const unreadable = `{"type":"error","error":{"type":"api_error","message":"The API has answered with an error that the proxy cannot read."}}`

// masked returns the text of an error without a secret that it repeats, of which cut says
// that it has an end that was not read. The text is not whole if the secret is in it with
// escapes, as JSON or a URL may have it.
func masked(text []byte, secret string, cut bool) (clean []byte, whole bool) {
	clean = bytes.ReplaceAll(text, []byte(secret), []byte(mask))
	if cut { // perhaps in the middle of the secret
		clean = clean[:max(0, len(clean)-len(secret))]
	}
	if repeats(string(clean), secret) {
		return []byte(unreadable), false
	}
	return clean, true
}

// repeats reports whether a text has a secret: as it is, as JSON or a URL escapes it, or a URL
// in JSON.
func repeats(text, secret string) bool {
	if strings.Contains(text, secret) {
		return true
	}
	if !strings.ContainsAny(text, `\%`) {
		return false
	}
	plain := unescaped(text, `\`)
	return strings.Contains(plain, secret) || strings.Contains(unescaped(text, "%"), secret) || strings.Contains(unescaped(plain, "%"), secret)
}

// unescaped replaces the escapes of JSON, which begin with a backslash, or of URLs, which
// begin with a percent sign, by the characters that they stand for. Secrets have printable
// characters of ASCII only, so the others do not matter.
func unescaped(text, sign string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, sign)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		text = after
		digits := ""
		switch {
		case sign == "%":
			digits = text[:min(len(text), 2)]
		case strings.HasPrefix(text, "u"):
			digits = text[1:min(len(text), 5)]
			text = text[1:]
		case text != "": // it stands for itself, or for a blank
			out.WriteByte(text[0])
			text = text[1:]
			continue
		}
		if n, err := strconv.ParseUint(digits, 16, 16); err == nil && n < 0x80 {
			out.WriteByte(byte(n))
			text = text[len(digits):]
		} else if sign == "%" {
			out.WriteString(sign)
		}
	}
}
