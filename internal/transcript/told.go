package transcript

import (
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Told returns the line of what the CLI tells people and not the model, as the CLI writes it
// on its stream: the output of a slash command that ran without the model, the boundary of a
// compaction, and why a hook has ended a turn or blocked a prompt. It is nil for any other
// line.
func Told(line []byte) []byte {
	if jsonx.Text(jsonx.Member(line, "type")) != "system" || string(jsonx.Member(line, "isMeta")) == "true" {
		return nil
	}
	out := []byte(`{"type":"system"`)
	switch jsonx.Text(jsonx.Member(line, "subtype")) {
	case "local_command":
		content := jsonx.Text(jsonx.Member(line, "content"))
		if strings.HasPrefix(content, "<command-") {
			return nil // the command itself, as a CLI with a terminal notes it
		}
		out = append(out, `,"subtype":"local_command_output","content":`...)
		out = jsonx.AppendText(out, commandOutput(content))
	case "compact_boundary":
		out = append(out, `,"subtype":"compact_boundary","compact_metadata":{`...)
		out = append(appendMembers(out, jsonx.Member(line, "compactMetadata"), metadataNames[:]), '}')
	case "informational":
		if string(jsonx.Member(line, "preventContinuation")) != "true" {
			return nil // a status line
		}
		out = append(out, `,"subtype":"informational","prevent_continuation":true`...)
		out = appendMembers(out, line, noticeNames[:])
	default:
		return nil
	}
	return append(appendMembers(out, line, toldNames[:]), '}')
}

// renamed is a member of a line, and its name in a message of the stream.
type renamed struct{ entry, message string }

// metadataNames, noticeNames and toldNames are the members that a message of the stream has too.
// forkedFrom, which it does not have, marks the lines of a copy.
var (
	metadataNames = [...]renamed{
		{"trigger", "trigger"}, {"preTokens", "pre_tokens"}, {"postTokens", "post_tokens"},
		{"durationMs", "duration_ms"}, {"cumulativeDroppedTokens", "cumulative_dropped_tokens"},
	}
	noticeNames = [...]renamed{{"content", "content"}, {"level", "level"}}
	toldNames   = [...]renamed{{"uuid", "uuid"}, {"sessionId", "session_id"}, {"timestamp", "timestamp"}, {"forkedFrom", "forkedFrom"}}
)

// appendMembers appends the members that an object has.
func appendMembers(out, object []byte, names []renamed) []byte {
	for _, n := range names {
		if value := jsonx.Member(object, n.entry); value != nil {
			if out[len(out)-1] != '{' {
				out = append(out, ',')
			}
			out = append(append(append(append(out, '"'), n.message...), `":`...), value...)
		}
	}
	return out
}

// commandOutput returns the output of a command, without the marks that name its source
// to the model.
func commandOutput(content string) string {
	for _, stream := range [...]string{"stdout", "stderr"} {
		inner, ok := strings.CutPrefix(content, "<local-command-"+stream+">")
		if inner, closed := strings.CutSuffix(inner, "</local-command-"+stream+">"); ok && closed {
			return inner
		}
	}
	return content
}
