package secret

import (
	"bytes"
	"encoding/json"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// JSON returns a line of JSON without its secrets. The line may be broken:
// whatever is a text in it is looked at. Names of members stay, unless they hold
// a secret that was named with [Set.Add].
func (s *Set) JSON(line []byte) []byte {
	var values, told [][]byte
	if s != nil {
		values, told = s.values, s.told
	}
	return jsonx.MapTexts(line, func(text []byte, at jsonx.Place) []byte {
		said, ok := said(text)
		switch {
		case !ok, telling(at) && len(said) > 0:
			return []byte(`"` + Mask + `"`)
		case at.Name:
			return replace(text, said, spans(said, told))
		}
		return replace(text, said, spans(said, values))
	})
}

// Learn looks for variables, headers and members of telling names in a line of
// JSON, and adds their values, so that they are hidden elsewhere too.
func (s *Set) Learn(line []byte) {
	jsonx.MapTexts(line, func(text []byte, at jsonx.Place) []byte {
		if said, ok := said(text); ok && telling(at) {
			s.learn(string(said))
		}
		return text
	})
}

// telling reports whether a text is secret because of where it stands.
func telling(at jsonx.Place) bool {
	if at.Member == "" {
		return false
	}
	return memberTells(at.Member) || holdsVariables(at.Parent) && Tells(at.Member)
}

// said returns what a text of JSON says.
func said(text []byte) ([]byte, bool) {
	if bytes.IndexByte(text, '\\') < 0 {
		return text[1 : len(text)-1], true
	}
	var s string
	if jsonx.Unmarshal(text, &s) != nil {
		return nil, false
	}
	return []byte(s), true
}

// replace returns text as it is, or without its secrets if there are any.
func replace(text, said []byte, secrets []span) []byte {
	if len(secrets) == 0 {
		return text
	}
	quoted, err := jsonx.Marshal(string(cover(said, secrets)))
	if err != nil {
		return []byte(`"` + Mask + `"`)
	}
	return quoted
}

// spellings are a secret as it is, and as it stands in JSON that is itself a
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
