package history

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/internal/regular"
	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/message"
)

// Transcript is a snapshot of a conversation. It may be used from any
// goroutine. On disk the messages stay in the file: each loop reads them from
// there.
type Transcript struct {
	ID string
	// Skipped is how many lines of the file could not be read.
	Skipped int

	open    func() (from io.ReaderAt, closeIt func(), err error)
	subs    subagentSource
	index   *transcript.Index
	entries []*transcript.Entry
	parent  string // of a subagent: the call it works for
	agent   bool
}

// StoredMessage is a message of a transcript.
type StoredMessage struct {
	// Message is the message as in the CLI's stream: a [*message.User], a
	// [*message.Assistant], or a system message.
	message.Message
	// UUID is its id, to fork at or to rewind to.
	UUID string
	// Time is when it was written.
	Time time.Time
	// Summary reports that a compaction wrote it, to replace the earlier
	// conversation.
	Summary bool
	// MidTurn reports that it is a prompt that a running turn took in.
	MidTurn bool
	// Entry is the line of the file, if [Page.Entries] asks for it.
	Entry json.RawMessage
}

// Page selects messages of a transcript. The zero Page selects all that a person
// would see.
type Page struct {
	Offset int
	Limit  int // 0 means all
	// System includes system lines, such as the boundary of a compaction.
	System bool
	// Whole puts what compactions have left behind before it, with the messages that they
	// preserved where they were said. The CLI would not continue from there.
	Whole bool
	// Entries fills in StoredMessage.Entry. It costs the memory of each line.
	Entries bool
}

// Read reads the conversation of a session: the one that the CLI would
// continue.
func (h *History) Read(ctx context.Context, id string) (t *Transcript, err error) {
	if h.in != nil {
		return h.in.read(ctx, id)
	}
	err = h.with(id, func(r *os.Root, found []place) error {
		t, err = h.read(ctx, r, found[0].file())
		if err != nil {
			return fmt.Errorf("claude: history: session %s: %w", id, err)
		}
		t.ID, t.subs = id, diskSubagents{h, found[0]}
		t.entries = t.index.Conversation()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// read indexes a file.
func (h *History) read(ctx context.Context, r *os.Root, file string) (*Transcript, error) {
	f, _, err := regular.Open(r, file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t := &Transcript{index: new(transcript.Index), open: func() (io.ReaderAt, func(), error) { return h.reopen(file) }}
	if err := t.index.ReadFrom(ctx, f); err != nil {
		return nil, err
	}
	t.Skipped = t.index.Skipped
	return t, nil
}

// reopen opens an indexed file again.
func (h *History) reopen(file string) (io.ReaderAt, func(), error) {
	r, err := h.root()
	if err != nil {
		return nil, nil, err
	}
	f, _, err := regular.Open(r, file)
	if err != nil {
		return nil, nil, errors.Join(err, r.Close())
	}
	return f, func() { f.Close(); r.Close() }, nil
}

// shown reports whether an entry is a message on a page.
func (t *Transcript) shown(e *transcript.Entry, p Page) bool {
	switch e.Kind {
	case transcript.User, transcript.Assistant:
		return t.agent || e.Visible()
	case transcript.System:
		return p.System && !e.Sidechain()
	case transcript.Attachment:
		return t.index.IsPrompt(e)
	}
	return false
}

// selected returns the entries from which a page selects.
func (t *Transcript) selected(p Page) []*transcript.Entry {
	if !p.Whole || len(t.entries) == 0 {
		return t.entries
	}
	var before, after []*transcript.Entry
	for _, e := range t.index.Whole(t.entries) {
		if e.Pos < t.entries[0].Pos {
			before = append(before, e)
		} else {
			after = append(after, e)
		}
	}
	slices.SortStableFunc(before, func(a, b *transcript.Entry) int { return cmp.Compare(a.Pos, b.Pos) })
	return append(before, after...)
}

// Len returns how many messages there are.
func (t *Transcript) Len() int {
	n := 0
	for i := range t.entries {
		if t.shown(t.entries[i], Page{}) {
			n++
		}
	}
	return n
}

// Prompts returns how many prompts there are in the conversation, from a
// person or a program, including commands.
func (t *Transcript) Prompts() int {
	n := 0
	for i := range t.entries {
		if e := t.entries[i]; t.shown(e, Page{}) && e.Kind != transcript.Assistant && !e.Results() && !e.Summary() {
			n++
		}
	}
	return n
}

// Messages yields the messages of a page, in the order of the conversation.
// The file is read as the loop runs, and closed when you leave the loop. An
// error ends the loop; it is [ErrNotFound] if the session was deleted in the
// meantime.
func (t *Transcript) Messages(ctx context.Context, p Page) iter.Seq2[*StoredMessage, error] {
	return func(yield func(*StoredMessage, error) bool) {
		skip, count := p.Offset, 0
		wanted := func(e *transcript.Entry) bool {
			if !t.shown(e, p) || p.Limit > 0 && count == p.Limit {
				return false
			}
			if skip--; skip >= 0 {
				return false
			}
			count++
			return true
		}
		t.decodeAll(ctx, p, wanted, yield)
	}
}

// Entries yields the lines of the conversation as they are in the file,
// including those that Messages does not show, such as attachments.
func (t *Transcript) Entries(ctx context.Context) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		f, closeIt, err := t.reopen()
		if err != nil {
			yield(nil, err)
			return
		}
		defer closeIt()
		for p := range pieces(t.entries, func(*transcript.Entry) bool { return true }) {
			text, got := p.read(f, nil)
			for _, e := range p.entries {
				line := p.line(e, text)
				switch {
				case ctx.Err() != nil:
					yield(nil, context.Cause(ctx))
					return
				case line == nil || !t.index.Wrote(line, e):
					yield(nil, t.changed(got))
					return
				case !yield(line, nil):
					return
				}
			}
		}
	}
}

// reopen opens the file of the lines.
func (t *Transcript) reopen() (io.ReaderAt, func(), error) {
	f, closeIt, err := t.open()
	if err != nil {
		return nil, nil, fmt.Errorf("claude: history: session %s %w: %w", t.ID, ErrNotFound, err)
	}
	return f, closeIt, nil
}

// changed returns the error for a file that changed after it was indexed.
func (t *Transcript) changed(err error) error {
	return fmt.Errorf("claude: history: session %s: the file has changed in the middle: %w", t.ID, errors.Join(ErrChanged, err))
}

// PromptState is how far a prompt got, according to the transcript.
type PromptState int

// The states of a prompt.
const (
	PromptUnseen   PromptState = iota // not in the transcript: it can be sent again with the same id
	PromptAnswered                    // its turn ended with an answer
	PromptDeferred                    // a hook deferred a tool call, which waits for a decision
	PromptCut                         // its turn broke off
)

// String returns the state in one word.
func (s PromptState) String() string {
	names := [...]string{"unseen", "answered", "deferred", "cut"}
	if s < 0 || int(s) >= len(names) {
		return fmt.Sprintf("PromptState(%d)", int(s))
	}
	return names[s]
}

// PromptState returns how far the prompt with this id got, and the ids of the
// tool calls of its turn that have no result. The id is the one that
// Session.Send returned; a prompt that was merged into a running turn is also
// found.
func (t *Transcript) PromptState(prompt string) (s PromptState, open []string) {
	how, open := t.index.PromptState(t.entries, prompt)
	return PromptState(how), open
}
