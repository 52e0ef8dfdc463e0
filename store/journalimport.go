package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// ImportJournal stores the entries of a journal, and returns how many it stored. It
// is idempotent: it leaves out entries that the store already has. The fence is
// that of the caller's lease on the session; the zero Fence means none, and then no
// one else may write to the session meanwhile. The journal stays where it is:
// remove it when you no longer need it.
//
// A CLI that resumes a session continues behind its last line. If another owner has
// continued the session since the journal was written, the entries of the journal
// would take the place of everything that was said since then. So none of it is stored,
// and the error matches [ErrOvertaken]. [ReadJournal] still reads it.
func ImportJournal(ctx context.Context, s Transcripts, path string, f Fence) (entries int, err error) {
	if err := checkImport(ctx, s, path); err != nil {
		return 0, err
	}
	for b, err := range ReadJournal(path) {
		if err != nil {
			return entries, err
		}
		b.Batch.Fence = f
		if err := s.Append(ctx, b.Key, b.Batch); err != nil {
			return entries, err
		}
		entries += len(b.Batch.Entries)
	}
	return entries, nil
}

// checkImport refuses a journal if one of its transcripts was continued without it. A journal
// that is damaged in the middle is imported up to there, so its error comes later.
func checkImport(ctx context.Context, s Transcripts, path string) error {
	branches := make(map[Key]*branch)
	for b, err := range ReadJournal(path) {
		if err != nil {
			break
		}
		known, ok := branches[b.Key]
		if !ok {
			if known, err = loadBranch(ctx, s, b.Key); err != nil {
				return err
			}
			branches[b.Key] = known
		}
		for _, e := range b.Batch.Entries {
			if !known.takes(lineOf(e)) {
				return fmt.Errorf("claude: store: journal %s: %v: %w: entry %s would hide what was said since", path, b.Key, ErrOvertaken, e.UUID())
			}
		}
	}
	return nil
}

// line holds the fields of an entry that decide its place in a transcript.
type line struct {
	id      string // "": it has no place, such as a title
	parent  string // "": it begins a chain
	kind    string
	answer  string   // the id of the answer that it is part of
	results []string // the calls whose results it has
}

// lineOf reads an entry. One that has no member parentUuid has no place.
func lineOf(e Entry) line {
	parent := jsonx.Member(e, "parentUuid")
	if parent == nil {
		return line{}
	}
	l := line{id: e.ID(), parent: indexed(jsonx.Text(parent)), kind: jsonx.Text(jsonx.Member(e, "type"))}
	if l.parent == "" { // a compaction begins anew, but names its predecessor
		l.parent = indexed(jsonx.Text(jsonx.Member(e, "logicalParentUuid")))
	}
	said := jsonx.Member(e, "message")
	switch l.kind {
	case "assistant":
		l.answer = jsonx.Text(jsonx.Member(said, "id"))
	case "user":
		var content []struct {
			Type string `json:"type"`
			Call string `json:"tool_use_id"`
		}
		if json.Unmarshal(jsonx.Member(said, "content"), &content) == nil { // else it is a text
			for _, c := range content {
				if c.Type == "tool_result" {
					l.results = append(l.results, c.Call)
				}
			}
		}
	}
	return l
}

// branch is the stored part of a transcript, and the lines that a journal adds to
// it.
type branch struct {
	stored []line
	at     map[string]int  // where a line is in stored
	added  map[string]bool // ids of the journal
}

// loadBranch reads a transcript.
func loadBranch(ctx context.Context, s Transcripts, k Key) (*branch, error) {
	b := &branch{at: make(map[string]int), added: make(map[string]bool)}
	for e, err := range Entries(ctx, s, k) {
		if errors.Is(err, ErrNotFound) {
			break
		}
		if err != nil {
			return nil, err
		}
		if l := lineOf(e); l.id != "" {
			b.at[l.id] = len(b.stored)
			b.stored = append(b.stored, l)
		}
	}
	return b, nil
}

// takes reports whether a line can be added, or is there already. It can be if it follows
// a line of the journal, or a stored one behind which nothing else has begun.
func (b *branch) takes(l line) bool {
	if l.id == "" {
		return true
	}
	if _, there := b.at[l.id]; there {
		return true
	}
	if !b.added[l.parent] && !b.follows(l) {
		return false
	}
	b.added[l.id] = true
	return true
}

// follows reports whether a new line continues the stored ones. The lines of an
// answer with several calls, and their results, do not form a chain in the order of
// storage: other lines of the same answer may follow the line that it continues.
func (b *branch) follows(l line) bool {
	if l.parent == "" {
		return len(b.stored) == 0
	}
	at, ok := b.at[l.parent]
	if !ok {
		return false
	}
	answer := b.stored[at].answer
	for _, other := range b.stored[at+1:] {
		switch {
		case other.kind == "assistant" && (other.answer == "" || other.answer != answer),
			other.kind == "user" && len(other.results) == 0,
			sameCall(other.results, l.results):
			return false
		}
	}
	return true
}

// sameCall reports whether two lines have results of the same call.
func sameCall(a, b []string) bool {
	for _, call := range a {
		for _, other := range b {
			if call == other {
				return true
			}
		}
	}
	return false
}
