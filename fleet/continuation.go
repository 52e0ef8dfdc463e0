package fleet

import (
	"bytes"
	"encoding/json"
	"iter"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/transcript"
)

// A CLI that makes a deferred call continues the turn with a line of its own, as if a
// person had asked for it. If the turn breaks off before the model has answered, the next
// CLI finds that line at the end, takes it for nothing that was asked, and waits: seen with
// 2.1.325. So the next owner adds a note in the place of that line, behind what came before
// it. The line is on a branch then that nobody continues, and the CLI writes another.

// continuation is the text of the line.
const continuation = "Continue from where you left off."

// isContinuation reports whether a line of a transcript is one by which a CLI continues.
func isContinuation(line []byte) bool {
	if !bytes.Contains(line, []byte(continuation)) || string(jsonx.Member(line, "isMeta")) != "true" {
		return false
	}
	return jsonx.Text(jsonx.Member(line, "type")) == "user" && jsonx.Text(jsonx.Member(jsonx.Member(line, "message"), "content")) == continuation
}

// endsWithContinuation reports whether the last message of a conversation is such a line.
func endsWithContinuation(lines iter.Seq2[json.RawMessage, error]) (ends bool, err error) {
	for line, err := range lines {
		if err != nil {
			return false, err
		}
		switch jsonx.Text(jsonx.Member(line, "type")) {
		case "user", "assistant":
			ends = isContinuation(line)
		}
	}
	return ends, nil
}

// beforeContinuation returns a conversation without the lines by which CLIs have continued
// it at its end, and what follows them: no model has said anything since.
func beforeContinuation(said []*transcript.Entry, is func(*transcript.Entry) bool) []*transcript.Entry {
	keep := len(said)
	for i, e := range said {
		switch {
		case is(e) && keep == len(said):
			keep = i
		case !is(e) && (e.Kind == transcript.User || e.Kind == transcript.Assistant):
			keep = len(said)
		}
	}
	return said[:keep]
}
