package fleet

import (
	"bytes"
	"encoding/json"
	"iter"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/transcript"
)

// A CLI that makes a deferred call continues the turn with a line of its own, as if a
// person had asked for it. If the turn breaks off before the model has answered, the
// next CLI finds that line at the end, does not take it for a prompt, and waits: seen
// with 2.1.325. So the next owner replaces that line with a note, which follows what
// came before it. The line is then on an abandoned branch, and the CLI writes another.

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

// beforeContinuation cuts from the end of a conversation the lines by which CLIs have
// continued it, and what follows them: no model has answered since.
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
