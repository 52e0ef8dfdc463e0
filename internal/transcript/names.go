package transcript

import (
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"golang.org/x/text/unicode/norm"
)

// maxName is how many characters of a path the name of its folder keeps.
const maxName = 200

// ProjectName returns the name of the folder in which the CLI keeps the sessions
// of a working directory. The path must be absolute and free of symbolic links.
//
// Every UTF-16 unit that is not an ASCII letter or digit becomes a dash. A long
// name is cut, and a hash of the whole path follows.
func ProjectName(path string) string {
	units := utf16.Encode([]rune(path))
	name := make([]byte, len(units))
	var hash int32
	for i, u := range units {
		hash = hash*31 + int32(u)
		name[i] = '-'
		if u < 0x80 && alphanumeric(byte(u)) {
			name[i] = byte(u)
		}
	}
	if len(name) <= maxName {
		return string(name)
	}
	h := int64(hash)
	if h < 0 {
		h = -h
	}
	return string(name[:maxName]) + "-" + strconv.FormatInt(h, 36)
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// ProjectNames returns the names to look under, the likeliest first. On macOS
// the CLI composes accents before it makes the name, elsewhere it does not.
func ProjectNames(path string) []string {
	names := []string{ProjectName(path)}
	if composed := ProjectName(norm.NFC.String(path)); composed != names[0] {
		names = append(names, composed)
	}
	return names
}

// LongPrefix returns what the folder name of a long path begins with, whatever
// the hash behind it: older CLIs hashed in another way. It is "" for a path whose
// name is not cut.
func LongPrefix(path string) string {
	if name := ProjectName(path); len(name) > maxName {
		return name[:maxName+1]
	}
	return ""
}

// ValidOverride reports whether the CLI takes a value of its variable
// CLAUDE_CODE_PROJECT_DIR_NAME as the name of the folder.
func ValidOverride(name string) bool {
	if name == "" || len(name) > 64 {
		return false
	}
	for i := range len(name) {
		if c := name[i]; !alphanumeric(c) && c != '-' && c != '_' {
			return false
		}
	}
	return !device(name)
}

// device reports whether Windows reads a name as that of a device.
func device(name string) bool {
	switch name = strings.ToUpper(name); name {
	case "CON", "PRN", "AUX", "NUL":
		return true
	}
	return len(name) == 4 && (name[:3] == "COM" || name[:3] == "LPT") && name[3] >= '0' && name[3] <= '9'
}

// AgentPrefix begins the name of a subagent's transcript.
const AgentPrefix = "agent-"

// AgentOf returns the id of the subagent whose transcript is at a place below that of
// its session, "" if it is another file.
func AgentOf(sub string) string {
	id, ok := strings.CutPrefix(path.Base(sub), AgentPrefix)
	if !ok || !strings.HasPrefix(sub, "subagents/") || !ValidAgent(id) {
		return ""
	}
	return id
}

// ValidAgent reports whether an id can be that of a subagent.
func ValidAgent(id string) bool {
	if id == "" || len(id) > 128 {
		return false
	}
	for i := range len(id) {
		if c := id[i]; !alphanumeric(c) && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// CleanTag returns a tag in the form that the CLI keeps: composed, without
// characters that are invisible or have no meaning.
func CleanTag(tag string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Co) || !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, norm.NFKC.String(tag)))
}
