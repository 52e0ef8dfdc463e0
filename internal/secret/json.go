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
	return jsonx.MapCut(line, func(value []byte, at jsonx.Place) []byte {
		said, ok := decodeScalar(value)
		switch {
		case !ok, secretByPlace(at) && len(said) > 0, at.Number && len(s.valueSpans(said)) > 0:
			return []byte(`"` + Mask + `"`)
		case at.Number:
			return value
		case !at.Name:
			return s.text(value, said)
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
	}, s.cutText)
}

// text returns a text without its secrets. It may itself be JSON, as the output of
// tools often is, or have some in it.
func (s *Set) text(value, said []byte) []byte {
	shown := s.embedded(said)
	if shown = maskSpans(shown, s.spans(shown)); bytes.Equal(shown, said) {
		return value
	}
	return quoted(shown)
}

// cutText returns a text that does not end, without its secrets and without the
// beginning of one at its end.
func (s *Set) cutText(text []byte, at jsonx.Place) []byte {
	if len(text) > 1 && secretByPlace(at) {
		return []byte(`"` + Mask)
	}
	for cut := len(text); cut > len(text)-12 && cut > 0; cut-- { // an escape at the end may be cut off, or two that are one character
		said, ok := decodeScalar(append(bytes.Clone(text[:cut]), '"'))
		if !ok {
			continue
		}
		spans := s.tailSpans(said)
		if len(spans) == 0 {
			return text
		}
		masked := maskJSON(nil, said, spans)
		return masked[:len(masked)-1]
	}
	return []byte(`"` + Mask)
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
	if isSecretMember(at.Member) || holdsVariables(at.Parent) && IsSecretName(at.Member) {
		return true
	}
	for member, parent := range at.Ancestors() {
		// {"password":{"value":"x"}} is secret, but the schema of a password is not.
		if isSecretMember(member) && !(parent == "properties" && describesSchema(at.Member)) {
			return true
		}
	}
	return false
}

// describesSchema reports whether a member of a JSON schema describes values, and
// holds none.
func describesSchema(member string) bool {
	switch member {
	case "type", "title", "description", "format", "pattern", "minLength", "maxLength", "$ref":
		return true
	}
	return false
}

// decodeScalar returns the value of a text or a number of JSON.
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
	return quoted(maskSpans(said, secrets))
}

// quoted returns a text as JSON.
func quoted(text []byte) []byte {
	q, err := jsonx.Marshal(string(text))
	if err != nil {
		return []byte(`"` + Mask + `"`)
	}
	return q
}

// spellings are a secret itself, and its forms in JSON that is embedded as a
// text: encoders escape different characters.
func spellings(secret string) []string {
	all := []string{secret}
	for _, encode := range []func(any) ([]byte, error){jsonx.Marshal, json.Marshal} {
		if quoted, err := encode(secret); err == nil && string(quoted) != `"`+secret+`"` {
			all = append(all, string(quoted[1:len(quoted)-1]))
		}
	}
	return all
}
