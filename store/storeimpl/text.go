package storeimpl

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/store"
)

// The first words of announcements.
const (
	recordWord     = "record"
	transcriptWord = "transcript"
	releasedWord   = "released"
	nothing        = "-" // no name: names begin with a letter or a digit
)

// Text returns a change as one line, without its project: words with spaces between them. Names
// have none. The text of a record is the word "record", its kind, its name, its revision, and
// the name and token of the lease, or "- 0" without one.
func Text(c store.Changed) string {
	by := By(c.By)
	switch {
	case c.Record != store.RecordKey{}:
		return fmt.Sprint(recordWord, " ", c.Record.Kind, " ", c.Record.Name, " ", c.Revision, " ", by)
	case c.Transcript != store.Key{}:
		return strings.Join([]string{transcriptWord, c.Transcript.Session, orNothing(c.Transcript.Sub), by}, " ")
	default:
		return strings.Join([]string{releasedWord, orNothing(c.Released), by}, " ")
	}
}

// By returns the end of a [Text]: the name and token of a lease.
func By(f store.Fence) string {
	return orNothing(f.Name) + " " + strconv.FormatInt(f.Token, 10)
}

func orNothing(name string) string {
	if name == "" {
		return nothing
	}
	return name
}

// ParseText reads a line that [Text] made of a change in a project. The error matches
// [store.ErrInvalid]; a store then lets its readers look at everything.
func ParseText(project, line string) (store.Changed, error) {
	words := strings.Fields(line)
	for i, w := range words {
		if w == nothing {
			words[i] = ""
		}
	}
	wrong := fmt.Errorf("claude: store: %w: %.100q is not an announcement", store.ErrInvalid, line)
	if len(words) == 0 || len(words) != map[string]int{recordWord: 6, transcriptWord: 5, releasedWord: 4}[words[0]] {
		return store.Changed{}, wrong
	}
	var c store.Changed
	lease, number := words[len(words)-2], words[len(words)-1]
	token, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return store.Changed{}, wrong
	}
	if lease != "" {
		c.By = store.Fence{Project: project, Name: lease, Token: token}
	}
	switch words[0] {
	case recordWord:
		c.Record = store.RecordKey{Project: project, Kind: words[1], Name: words[2]}
		c.Revision, err = strconv.ParseInt(words[3], 10, 64)
		if err == nil {
			err = c.Record.Check()
		}
	case transcriptWord:
		c.Transcript = store.Key{Project: project, Session: words[1], Sub: words[2]}
		err = c.Transcript.Check()
	default:
		c.Released = words[1]
		err = store.CheckLease(project, c.Released)
	}
	if err != nil {
		return store.Changed{}, wrong
	}
	return c, nil
}
