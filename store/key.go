package store

import (
	"fmt"
	"strings"

	"github.com/claude-agent-go/claude/internal/uuid"
)

// Key names a transcript.
type Key struct {
	// Project names the owner of the transcript: a tenant, a repository, an
	// environment. Sessions of different projects are separate, even if they have
	// the same id. It has 1 to 120 ASCII letters, digits and characters of
	// "-_.@+=:,~", and begins with a letter or digit.
	Project string
	// Session is the id of the session, a UUID.
	Session string
	// Sub is "" for the session's own transcript. The transcript of a subagent
	// is kept separately, under a path such as "subagents/agent-a1b2c3": up to
	// eight names of the same form as Project, separated by slashes.
	Sub string
}

// String returns the key in one line, for logs and errors.
func (k Key) String() string {
	s := k.Project + "/" + k.Session
	if k.Sub != "" {
		s += "/" + k.Sub
	}
	return s
}

// Main returns the key of the session's own transcript.
func (k Key) Main() Key { return Key{Project: k.Project, Session: k.Session} }

// Check returns a [*KeyError] if the key is not valid. Every store calls it
// before it changes anything.
func (k Key) Check() error {
	if err := checkName("project", k.Project); err != nil {
		return err
	}
	if !uuid.Valid(k.Session) {
		return &KeyError{"session", k.Session, "is not a UUID"}
	}
	if k.Sub == "" {
		return nil
	}
	return checkPath("sub", k.Sub)
}

// KeyError means that a key, or the name of a lease or record, cannot be used.
// It matches [ErrInvalid].
type KeyError struct {
	Part   string // which part of the key, such as "project"
	Value  string // what it was
	Reason string
}

// Error names the part, its value if it is short, and the reason.
func (e *KeyError) Error() string {
	value := e.Value
	if len(value) > 80 {
		value = value[:80] + "…"
	}
	return fmt.Sprintf("claude: store: %s %q %s", e.Part, value, e.Reason)
}

// Is reports whether target is [ErrInvalid].
func (e *KeyError) Is(target error) bool { return target == ErrInvalid }

const (
	maxName  = 120 // bytes of a name; a file name has room for it when every byte needs two
	maxParts = 8   // names of a path
)

// checkName checks a name that may become a part of a path, a column or a key in
// any store. One form for all of them: what one store would take and another
// one would not is not a key.
func checkName(part, name string) error {
	switch {
	case name == "":
		return &KeyError{part, name, "is empty"}
	case len(name) > maxName:
		return &KeyError{part, name, fmt.Sprintf("is longer than %d bytes", maxName)}
	case !alphanumeric(name[0]):
		return &KeyError{part, name, "does not begin with a letter or digit"}
	}
	for i := range len(name) {
		if c := name[i]; !alphanumeric(c) && strings.IndexByte(special, c) < 0 {
			return &KeyError{part, name, `has a character other than ASCII letters, digits and "` + special + `"`}
		}
	}
	return nil
}

// special are the characters of a name that are not letters or digits.
const special = "-_.@+=:,~"

// checkPath checks names with slashes between them.
func checkPath(part, path string) error {
	if strings.Count(path, "/") >= maxParts {
		return &KeyError{part, path, fmt.Sprintf("has more than %d parts", maxParts)}
	}
	for name := range strings.SplitSeq(path, "/") {
		if err := checkName(part, name); err != nil {
			err.(*KeyError).Value = path
			return err
		}
	}
	return nil
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// CheckProject returns a [*KeyError] if project is not valid, for methods of a
// store that take only the project of a key.
func CheckProject(project string) error { return checkName("project", project) }
