package restore

import (
	"bufio"
	"encoding/json"
	"io"
	"os"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/regular"
	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/store"
)

// The CLI notes at the end of a turn which line is the last one of the conversation, and
// one that resumes the session believes it, even if lines that came later are on another
// branch: seen with 2.1.325. A deferred call begins such a branch. If the process dies
// between the answer and the next note, the answer would be hidden from the model. So a
// note that points beside the conversation is followed by one that does not.

// head is the note with which a transcript ends.
type head struct {
	Type       string          `json:"type"`
	LastPrompt json.RawMessage `json:"lastPrompt,omitzero"`
	Leaf       string          `json:"leafUuid"`
	Session    string          `json:"sessionId"`
}

// headType is the type of a note about the last line.
const headType = "last-prompt"

// note remembers an entry if it is such a note.
func (h *head) note(e store.Entry) {
	if jsonx.Text(jsonx.Member(e, "type")) == headType {
		*h = head{headType, jsonx.Member(e, "lastPrompt"), jsonx.Text(jsonx.Member(e, "leafUuid")), jsonx.Text(jsonx.Member(e, "sessionId"))}
	}
}

// correct adds a note to a transcript if the last one points beside the conversation.
func (w *writer) correct(h head, name string) error {
	if h.Leaf == "" {
		return nil
	}
	leaf, err := w.otherLeaf(h.Leaf, name)
	if err != nil || leaf == "" {
		return err
	}
	h.Leaf = leaf
	line, err := jsonx.Marshal(&h)
	if err != nil {
		return err
	}
	file, err := w.root.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

// otherLeaf returns the id of the last line of a conversation, empty if the line with
// another id belongs to the conversation or is not there.
func (w *writer) otherLeaf(noted, name string) (string, error) {
	file, _, err := regular.OpenNoFollow(w.root, name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	var index transcript.Index
	if err := index.ReadFrom(w.ctx, file); err != nil {
		return "", err
	}
	said := index.Conversation()
	if len(said) == 0 || !index.Beside(said, noted) {
		return "", nil
	}
	if _, err := file.Seek(said[len(said)-1].Pos, io.SeekStart); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(file).ReadBytes('\n')
	if err != nil {
		return "", err
	}
	return store.Entry(line[:len(line)-1]).UUID(), nil
}
