package transcript

import (
	"bytes"
	"iter"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Edge is how much of the beginning and of the end of a file a listing reads.
const Edge = 64 << 10

// Listing is the entry of a session in a list of sessions. It is read from the
// edges of the file, so it costs the same for a session of any length.
type Listing struct {
	Title       string // given by a person, or made by the CLI
	FirstPrompt string
	LastPrompt  string
	Summary     string // written by old CLIs
	Attached    string // "Image" or "Document", if the first prompt has no text
	Branch      string
	Dir         string
	Tag         string
	Entrypoint  string // the kind of program that began the session, such as "sdk-go"
	Created     time.Time
	ContinuedIn string  // the session that continues this one
	Cost        float64 // in US dollars, as noted when a process ended
	Sidechain   bool    // the file is a subagent's
}

// List reads a listing from the first and the last bytes of a file, [Edge] of
// each, or more of the first if [CutShort] reports true; they are the same bytes
// for a short file. Title is the title in a file beside the transcript: it takes
// precedence over one in the head, but not over one in the tail.
func List(head, tail []byte, title string) Listing {
	var l Listing
	l.readHead(head)
	end := readNotes(tail)
	begin := end
	if len(head) != len(tail) || !bytes.Equal(head, tail) {
		begin = readNotes(head)
	}
	l.Title = first(end["custom-title"], title, begin["custom-title"], end["ai-title"], begin["ai-title"])
	l.Tag = end["tag"]
	if l.Dir == "" || l.Entrypoint == "" { // even the longer head ends in its first line
		dir, entrypoint := origin(tail)
		l.Dir, l.Entrypoint = first(l.Dir, dir), first(l.Entrypoint, entrypoint)
	}
	l.Dir = first(end["relocated"], l.Dir)
	l.LastPrompt = end["last-prompt"]
	l.Summary = end["summary"]
	l.ContinuedIn = end["continued-in"]
	l.Cost, _ = strconv.ParseFloat(end["cost-state"], 64) // 0 if there is none
	l.Branch = first(lastBranch(tail), l.Branch)
	return l
}

// CutShort reports whether the line in which head ends may say something that a
// listing needs and that head lacks. In the CLI's lines what was said comes before
// where it was said, so a first prompt with a screenshot hides both.
func CutShort(head []byte) bool {
	var l Listing
	l.readHead(head)
	return !bytes.HasSuffix(head, []byte("\n")) && (l.Dir == "" || l.Entrypoint == "" || l.FirstPrompt == "")
}

// origin returns the first directory and entry point that the lines of a text name.
func origin(text []byte) (dir, entrypoint string) {
	for line := range bytes.Lines(text) {
		if note(line) != "" {
			continue
		}
		f := edgeFields(line)
		dir, entrypoint = first(dir, f.dir), first(entrypoint, f.entrypoint)
		if dir != "" && entrypoint != "" {
			break
		}
	}
	return dir, entrypoint
}

// Name returns what to call the session, "" if there is nothing in it to see.
func (l *Listing) Name() string {
	return first(l.Title, l.LastPrompt, l.Summary, l.FirstPrompt, l.Attached)
}

func first(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}

// readHead takes what stands at the beginning: where, when and with what the
// conversation began. The last line may be cut off.
func (l *Listing) readHead(head []byte) {
	command := ""
	n := 0
	for line := range bytes.Lines(head) {
		if n++; n > 1 && note(line) != "" && !l.Created.IsZero() {
			continue
		}
		f := edgeFields(line)
		if n == 1 {
			l.Sidechain = f.sidechain
		}
		if l.Created.IsZero() {
			l.Created = f.time()
		}
		l.Dir = first(l.Dir, f.dir)
		l.Branch = first(l.Branch, f.branch)
		l.Entrypoint = first(l.Entrypoint, f.entrypoint)
		if f.kind == "user" && !f.meta && !f.summary {
			text, more := promptText(f.message)
			if l.FirstPrompt = first(l.FirstPrompt, text); l.FirstPrompt == "" {
				command = first(command, more)
				l.Attached = first(l.Attached, attached(f.message))
			}
		}
		if l.FirstPrompt != "" && l.Dir != "" && l.Entrypoint != "" && !l.Created.IsZero() {
			return
		}
	}
	l.FirstPrompt = first(l.FirstPrompt, command)
}

// noted are the lines beside the conversation that a listing reads, with the
// member that holds their value. Of each the last one in the file counts.
var noted = [...]struct{ kind, member string }{
	{"custom-title", "customTitle"},
	{"ai-title", "aiTitle"},
	{"tag", "tag"},
	{"relocated", "relocatedCwd"},
	{"last-prompt", "lastPrompt"},
	{"summary", "summary"},
	{"continued-in", "continuedInSessionId"},
	{"cost-state", "totalCostUSD"},
	{archivedKind, "archivedAt"},
}

// readNotes reads the lines that are noted. Lines of the conversation, by far the
// most bytes, are skipped by how they begin.
func readNotes(text []byte) map[string]string {
	found := make(map[string]string, len(noted))
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte(`{"parentUuid":`)) {
			delete(found, "continued-in") // something was said after it
			continue
		}
		kind := note(line)
		if kind == "" {
			kind = jsonx.Text(jsonx.Member(line, "type"))
		}
		for _, n := range noted {
			if n.kind == kind && edgeFields(line).whole {
				switch v := jsonx.Member(line, n.member); {
				case len(v) > 0 && v[0] == '"':
					found[kind] = jsonx.Text(v)
				case kind == "cost-state":
					found[kind] = string(v)
				}
			}
		}
	}
	return found
}

// note returns the type of a line that begins with it, as lines beside the
// conversation do; "" for any other.
func note(line []byte) string {
	rest, ok := bytes.CutPrefix(line, []byte(`{"type":"`))
	if !ok {
		return ""
	}
	i := bytes.IndexByte(rest[:min(len(rest), 40)], '"')
	if i < 0 {
		return ""
	}
	return string(rest[:i])
}

// lastBranch returns the branch that the last line with one names.
func lastBranch(tail []byte) string {
	for line := range backward(tail) {
		if note(line) == "" {
			if f := edgeFields(line); f.branch != "" {
				return f.branch
			}
		}
	}
	return ""
}

// LastPrompt returns when a person last said something, as far as the edges of a
// file tell.
func LastPrompt(head, tail []byte) (last time.Time) {
	for _, edge := range [][]byte{head, tail} {
		for line := range bytes.Lines(edge) {
			if !bytes.Contains(line, []byte(`"user"`)) {
				continue
			}
			f := edgeFields(line)
			if f.kind != "user" || f.meta || f.summary || f.sidechain {
				continue
			}
			if text, _ := promptText(f.message); text == "" && attached(f.message) == "" {
				continue
			}
			if t := f.time(); t.After(last) {
				last = t
			}
		}
	}
	return last
}

// fields are the members of a line that a listing looks at.
type fields struct {
	kind, stamp, dir, branch, entrypoint string
	sidechain, meta, summary             bool
	message                              []byte
	whole                                bool // the line is not cut off
}

func (f *fields) time() time.Time {
	t, err := time.Parse(time.RFC3339, f.stamp)
	if err != nil {
		return time.Time{}
	}
	return t
}

// edgeFields reads a line as far as it can be read: at an edge it may be cut off.
func edgeFields(line []byte) (f fields) {
	m, err := jsonx.Walk(line)
	for err == nil {
		var name, value []byte
		if name, value, err = m.Next(); name == nil {
			break
		}
		switch string(name) {
		case "type":
			f.kind = jsonx.Text(value)
		case "timestamp":
			f.stamp = jsonx.Text(value)
		case "cwd":
			f.dir = jsonx.Text(value)
		case "gitBranch":
			f.branch = jsonx.Text(value)
		case "entrypoint":
			f.entrypoint = jsonx.Text(value)
		case "isSidechain":
			f.sidechain = isTrue(value)
		case "isMeta":
			f.meta = isTrue(value)
		case "isCompactSummary":
			f.summary = isTrue(value)
		case "message":
			f.message = value
		}
	}
	f.whole = err == nil
	return f
}

// backward yields the lines of a text, the last first.
func backward(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(text) > 0 {
			text = bytes.TrimSuffix(text, []byte("\n"))
			i := bytes.LastIndexByte(text, '\n')
			if !yield(text[i+1:]) {
				return
			}
			text = text[:max(i, 0)]
		}
	}
}

// maxPrompt is how many characters of a prompt a listing shows.
const maxPrompt = 200

// promptText returns what a person said in a message, on one line. It is "" for
// tool results and for what the CLI itself put there; of a command it returns the
// name apart.
func promptText(message []byte) (text, command string) {
	content := jsonx.Member(message, "content")
	texts := []string{jsonx.Text(content)}
	for block := range jsonx.Elements(content) {
		switch jsonx.Text(jsonx.Member(block, "type")) {
		case "tool_result":
			return "", ""
		case "text":
			texts = append(texts, jsonx.Text(jsonx.Member(block, "text")))
		}
	}
	for _, s := range texts {
		s = strings.TrimSpace(strings.ReplaceAll(s, "\n", " "))
		if name, ok := between(s, "<command-name>", "</command-name>"); ok {
			command = first(command, name)
			continue
		}
		if line, ok := between(s, "<bash-input>", "</bash-input>"); ok {
			return "! " + strings.TrimSpace(line), command
		}
		if s != "" && !notSaid(s) {
			return shorten(s), command
		}
	}
	return "", command
}

func between(s, before, after string) (string, bool) {
	_, s, ok := strings.Cut(s, before)
	if !ok {
		return "", false
	}
	s, _, ok = strings.Cut(s, after)
	return s, ok
}

// notSaid reports whether a text is the CLI's own: it begins with a tag such as
// <local-command-caveat>, or reports an interruption by the user.
func notSaid(s string) bool {
	if strings.HasPrefix(s, "[Request interrupted by user") {
		return strings.Contains(s, "]")
	}
	if len(s) < 2 || s[0] != '<' || s[1] < 'a' || s[1] > 'z' {
		return false
	}
	i := strings.IndexFunc(s[1:], func(r rune) bool {
		return !(r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	})
	return i > 0 && (s[1+i] == '>' || unicode.IsSpace(rune(s[1+i])))
}

// shorten cuts a text for a list. The CLI counts UTF-16 units.
func shorten(s string) string {
	n := 0
	for i, r := range s {
		n++
		if r > 0xffff {
			n++
		}
		if n > maxPrompt {
			return strings.TrimSpace(s[:i]) + "…"
		}
	}
	return s
}

// attached describes the content of a message without text.
func attached(message []byte) string {
	for block := range jsonx.Elements(jsonx.Member(message, "content")) {
		switch jsonx.Text(jsonx.Member(block, "type")) {
		case "image":
			return "Image"
		case "document":
			return "Document"
		}
	}
	return ""
}
