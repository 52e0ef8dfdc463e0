package transcript

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Fold gathers the data of a listing line by line, so that a store can keep it
// beside a transcript and never has to read that again. The zero Fold has seen
// nothing. Stores keep its JSON form.
type Fold struct {
	Begun       bool      `json:"begun,omitempty"` // a line was added
	Sidechain   bool      `json:"sidechain,omitempty"`
	Created     time.Time `json:"created,omitzero"`
	Dir         string    `json:"dir,omitempty"`
	Branch      string    `json:"branch,omitempty"`
	Entrypoint  string    `json:"entrypoint,omitempty"`
	FirstPrompt string    `json:"firstPrompt,omitempty"`
	Command     string    `json:"command,omitempty"` // the first, for a session without a prompt
	Attached    string    `json:"attached,omitempty"`
	// Notes are the values of the lines beside the conversation, by their type:
	// of each the last counts.
	Notes map[string]string `json:"notes,omitempty"`
	// Prompted is when a person last said something.
	Prompted time.Time `json:"prompted,omitzero"`
	// Last is when anything was last said.
	Last time.Time `json:"last,omitzero"`
}

// FoldInto adds lines to the JSON form of a Fold and returns the new one; nil is that of a
// Fold which has seen nothing. Unreadable data counts as nil.
func FoldInto[L ~[]byte](data []byte, lines ...L) []byte {
	var f Fold
	if json.Unmarshal(data, &f) != nil {
		f = Fold{}
	}
	for _, l := range lines {
		f.Add(l)
	}
	out, err := json.Marshal(&f)
	if err != nil {
		return data // a time beyond the year 9999
	}
	return out
}

// Add takes the next line of the transcript. A line that cannot be read is passed
// over.
func (f *Fold) Add(line []byte) {
	l := edgeFields(line)
	if l.kind == "" || !l.whole {
		return
	}
	if !f.Begun {
		f.Begun, f.Sidechain = true, l.sidechain
	}
	if f.addNote(l.kind, line) {
		return
	}
	delete(f.Notes, "continued-in") // something was said after it
	t := l.time()
	if !t.IsZero() {
		if f.Created.IsZero() {
			f.Created = t
		}
		if t.After(f.Last) {
			f.Last = t
		}
	}
	f.Dir = first(f.Dir, l.dir)
	f.Entrypoint = first(f.Entrypoint, l.entrypoint)
	f.Branch = first(l.branch, f.Branch)
	if l.kind != "user" || l.meta || l.summary {
		return
	}
	text, command := promptText(l.message)
	with := attached(l.message)
	f.FirstPrompt = first(f.FirstPrompt, text)
	f.Command = first(f.Command, command)
	f.Attached = first(f.Attached, with)
	if !l.sidechain && (text != "" || with != "") && t.After(f.Prompted) {
		f.Prompted = t
	}
}

// maxNote is how many bytes of a title or another note are kept: the fold is
// written again with every batch.
const maxNote = 4 << 10

// addNote takes the value of a line beside the conversation, and reports whether
// the line is one.
func (f *Fold) addNote(kind string, line []byte) bool {
	for _, n := range noted {
		if n.kind != kind {
			continue
		}
		value := jsonx.Member(line, n.member)
		text := jsonx.Text(value)
		if kind == "cost-state" {
			text = string(value)
		}
		if len(text) > maxNote {
			text = strings.ToValidUTF8(text[:maxNote], "")
		}
		if f.Notes == nil {
			f.Notes = make(map[string]string)
		}
		if f.Notes[kind] = text; text == "" {
			delete(f.Notes, kind) // such as a tag that was taken away
		}
		return true
	}
	return false
}

// Archived reports whether the session is archived. A prompt that came later
// takes it out again.
func (f *Fold) Archived() bool {
	at, err := time.Parse(time.RFC3339, f.Notes[archivedKind])
	return err == nil && !f.Prompted.After(at)
}

// Listing returns the summary that a list shows.
func (f *Fold) Listing() Listing {
	cost, _ := strconv.ParseFloat(f.Notes["cost-state"], 64) // 0 if there is none
	return Listing{
		Title:       first(f.Notes["custom-title"], f.Notes["ai-title"]),
		FirstPrompt: first(f.FirstPrompt, f.Command),
		LastPrompt:  f.Notes["last-prompt"],
		Summary:     f.Notes["summary"],
		Attached:    f.Attached,
		Branch:      f.Branch,
		Dir:         first(f.Notes["relocated"], f.Dir),
		Tag:         f.Notes["tag"],
		Entrypoint:  f.Entrypoint,
		Created:     f.Created,
		ContinuedIn: f.Notes["continued-in"],
		Cost:        cost,
		Sidechain:   f.Sidechain,
	}
}
