package secret

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// JSON returns a line of JSON without its secrets. The line may be broken:
// whatever is a text or a number in it is looked at, and names of members as
// well. A number that is secret becomes a text.
func (s *Set) JSON(line []byte) []byte {
	var names map[string]bool // that have a mask
	return jsonx.MapScalars(line, func(value []byte, at jsonx.Place) []byte {
		said, ok := decodeScalar(value)
		switch {
		case !ok, secretByPlace(at) && len(said) > 0, at.Number && len(s.valueSpans(said)) > 0:
			return []byte(`"` + Mask + `"`)
		case at.Number:
			return value
		case !at.Name:
			return maskJSON(value, said, s.spans(said))
		}
		name := maskJSON(value, said, s.spans(said))
		if !bytes.Contains(name, []byte(Mask)) {
			return name
		}
		if names == nil {
			names = make(map[string]bool)
		}
		// No object may have a name twice: then nothing of it could be read.
		plain := name[:len(name)-1]
		for n := 2; names[string(name)]; n++ {
			name = fmt.Appendf(nil, `%s %d"`, plain, n)
		}
		names[string(name)] = true
		return name
	})
}

// Learn looks for variables, headers and members of telling names in a line of
// JSON, and adds their values, so that they are hidden elsewhere too.
func (s *Set) Learn(line []byte) {
	jsonx.MapScalars(line, func(value []byte, at jsonx.Place) []byte {
		if said, ok := decodeScalar(value); ok && secretByPlace(at) {
			s.learn(string(said))
		}
		return value
	})
}

// secretByPlace reports whether a text is secret because of where it stands.
func secretByPlace(at jsonx.Place) bool {
	if at.Member == "" {
		return false
	}
	return isSecretMember(at.Member) || holdsVariables(at.Parent) && IsSecretName(at.Member)
}

// decodeScalar returns what a text or a number of JSON says.
func decodeScalar(text []byte) ([]byte, bool) {
	if text[0] != '"' {
		return text, true
	}
	if bytes.IndexByte(text, '\\') < 0 {
		return text[1 : len(text)-1], true
	}
	var s string
	if jsonx.Unmarshal(text, &s) != nil {
		return nil, false
	}
	return []byte(s), true
}

// maskJSON returns text as it is, or without its secrets if there are any.
func maskJSON(text, said []byte, secrets []span) []byte {
	if len(secrets) == 0 {
		return text
	}
	quoted, err := jsonx.Marshal(string(maskSpans(said, secrets)))
	if err != nil {
		return []byte(`"` + Mask + `"`)
	}
	return quoted
}

// spellings are a secret as it is, and as it is written in JSON that is itself a
// text: encoders differ in what they escape.
func spellings(secret string) []string {
	all := []string{secret}
	for _, encode := range []func(any) ([]byte, error){jsonx.Marshal, json.Marshal} {
		if quoted, err := encode(secret); err == nil && string(quoted) != `"`+secret+`"` {
			all = append(all, string(quoted[1:len(quoted)-1]))
		}
	}
	return all
}
