package fleet

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/store"
)

// When a conversation wakes, the fleet looks for calls that an earlier owner has let go
// and that the model does not know about. The model learns about them from a line of
// the transcript if its turn is continued, and with the next prompt otherwise. Until
// either is in the transcript, the record keeps the calls, however many machines die in
// between.

// unknownIn returns the calls that the model cannot learn about from the lines of a
// session: neither from those that it would continue with, nor from anything that
// a compaction has kept. Abandoned branches do not count.
func unknownIn(lines iter.Seq2[store.Entry, error], all []calledTool) ([]calledTool, error) {
	var index transcript.Index
	pos, tells := int64(0), make(map[int64][]int)
	for line, err := range lines {
		if err == nil {
			err = index.Add(pos, line)
		}
		if err != nil {
			return all, err
		}
		for i := range all {
			if all[i].isToldBy(line) {
				tells[pos] = append(tells[pos], i)
			}
		}
		pos += int64(len(line)) + 1
	}
	told := make(map[string]bool)
	for _, e := range index.Whole(index.Conversation()) {
		for _, i := range tells[e.Pos] {
			told[all[i].ID] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(c calledTool) bool { return told[c.ID] }), nil
}

// noteHead is how a note begins.
const noteHead = "The machine failed while you were at work."

// noteOf makes the text that informs the model about calls that it does not remember.
func noteOf(lost []calledTool) string {
	if len(lost) == 0 {
		return "The program was restarted while you were at work. Continue with your task."
	}
	var b strings.Builder
	b.WriteString(noteHead + " The tool calls below were started before that and are not in the conversation; whether they ran, and with what outcome, is unknown:\n")
	for _, c := range lost {
		fmt.Fprintf(&b, "- %s (%s)", c.Tool, c.ID)
		if c.Agent != "" {
			fmt.Fprintf(&b, ", by the agent %s, which has ended with the machine", c.Agent)
		}
		if c.Earlier > 0 {
			fmt.Fprintf(&b, ", and %d earlier calls by this agent", c.Earlier)
		}
		b.WriteByte('\n')
	}
	b.WriteString("Check their effects before you make such a call again.")
	return b.String()
}

// isBehindNote reports whether a note follows the last of some calls in the lines of a
// conversation. A deferral of the call would be on a branch beside the note, and the
// conversation would continue without it.
func isBehindNote(lines iter.Seq2[json.RawMessage, error], calls []string) (behind bool, err error) {
	for line, err := range lines {
		if err != nil {
			return false, err
		}
		isNote := bytes.Contains(line, []byte(noteHead)) && jsonx.Text(jsonx.Member(line, "type")) == "attachment"
		behind = isNote || behind && !slices.ContainsFunc(calls, func(id string) bool { return mentions(line, inLine(id)) })
	}
	return behind, nil
}

// noteID is the id of the batch with a note. Its length and alphabet are fixed, however
// many calls there are and whatever a gateway names them. A turn may need several notes
// in place of several lines.
func noteID(lost []calledTool, instead string) string {
	hash := sha256.New()
	for _, c := range lost {
		fmt.Fprintf(hash, "%q", c.ID)
	}
	if instead != "" {
		fmt.Fprintf(hash, "instead of %q", instead)
	}
	return fmt.Sprintf("lost-%x", hash.Sum(nil))
}
