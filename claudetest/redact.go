package claudetest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// redacted stands where a secret was.
const redacted = "[redacted]"

// keyForm is what API keys look like.
var keyForm = regexp.MustCompile(`sk-ant-[A-Za-z0-9_-]+`)

// minSecret is the length from which the value of a variable is worth hiding:
// shorter ones are switches and numbers.
const minSecret = 8

// hider returns what takes secrets out of an entry.
func (r *Redaction) hider(env []string) func(Entry) Entry {
	var told []string // hidden in names of members too
	for _, s := range r.Secrets {
		told = append(told, spellings(s)...)
	}
	found := slices.Clone(told)
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if tellsSecret(name) && len(value) >= minSecret {
			found = append(found, spellings(value)...)
		}
	}
	names, values := replacer(told), replacer(found)
	return func(e Entry) Entry {
		e.Msg = mapTexts(e.Msg, func(text []byte, name bool) []byte {
			if name {
				return hide(text, names)
			}
			return hide(text, values)
		})
		if r.Line != nil {
			e.Msg = r.Line(e.Dir, e.Msg)
		}
		return e
	}
}

// spellings are a secret as it is, and as it stands in JSON that is itself a
// text: encoders differ in what they escape.
func spellings(secret string) []string {
	if secret == "" {
		return nil
	}
	all := []string{secret}
	for _, encode := range []func(any) ([]byte, error){jsonx.Marshal, json.Marshal} {
		if quoted, err := encode(secret); err == nil && string(quoted) != `"`+secret+`"` {
			all = append(all, string(quoted[1:len(quoted)-1]))
		}
	}
	return all
}

func replacer(secrets []string) *strings.Replacer {
	var pairs []string
	for _, s := range secrets {
		pairs = append(pairs, s, redacted)
	}
	return strings.NewReplacer(pairs...)
}

// hide takes secrets out of a text of JSON. It looks at what the text says, not
// at how it is escaped.
func hide(text []byte, secrets *strings.Replacer) []byte {
	var said string
	if jsonx.Unmarshal(text, &said) != nil {
		return []byte(`"` + redacted + `"`) // nobody knows what it says
	}
	clean := keyForm.ReplaceAllString(secrets.Replace(said), redacted)
	if clean == said {
		return text
	}
	quoted, err := jsonx.Marshal(clean)
	if err != nil {
		return []byte(`"` + redacted + `"`)
	}
	return quoted
}

// tellsSecret reports whether the name of a variable says that its value is
// secret: by one of its parts, so that GIT_AUTHOR_NAME does not.
func tellsSecret(name string) bool {
	for part := range strings.SplitSeq(strings.ToUpper(name), "_") {
		part = strings.TrimSuffix(part, "S")
		switch part {
		case "KEY", "APIKEY", "AUTH", "CREDENTIAL":
			return true
		}
		for _, end := range []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE"} {
			if strings.HasSuffix(part, end) {
				return true
			}
		}
	}
	return false
}
