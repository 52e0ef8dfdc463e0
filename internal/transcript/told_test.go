package transcript_test

import (
	"testing"

	"github.com/claude-agent-go/claude/internal/transcript"
)

// The lines in which the CLI notes what it tells people become those of its stream. No
// other line does.
func TestTold(t *testing.T) {
	const rest = `"isSidechain":false,"parentUuid":"p","timestamp":"2026-11-19T11:47:27.403Z","uuid":"u","level":"info","sessionId":"s","forkedFrom":{"sessionId":"a"}}`
	const kept = `,"uuid":"u","session_id":"s","timestamp":"2026-11-19T11:47:27.403Z","forkedFrom":{"sessionId":"a"}}`
	for line, want := range map[string]string{
		`{"type":"system","subtype":"local_command","content":"<local-command-stdout>## Context\n\"a\"</local-command-stdout>","commandRun":{"command":"context"},"isMeta":false,` + rest:                               `{"type":"system","subtype":"local_command_output","content":"## Context\n\"a\""` + kept,
		`{"type":"system","subtype":"local_command","content":"<local-command-stderr>failed</local-command-stderr>",` + rest:                                                                                            `{"type":"system","subtype":"local_command_output","content":"failed"` + kept,
		`{"type":"system","subtype":"local_command","content":"<local-command-stdout>cut",` + rest:                                                                                                                      `{"type":"system","subtype":"local_command_output","content":"<local-command-stdout>cut"` + kept,
		`{"type":"system","subtype":"compact_boundary","content":"Conversation compacted","compactMetadata":{"trigger":"manual","preTokens":103,"durationMs":80,"postTokens":2802,"cumulativeDroppedTokens":0},` + rest: `{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"manual","pre_tokens":103,"post_tokens":2802,"duration_ms":80,"cumulative_dropped_tokens":0}` + kept,
		`{"type":"system","subtype":"compact_boundary",` + rest:                                                                                      `{"type":"system","subtype":"compact_boundary","compact_metadata":{}` + kept,
		`{"type":"system","subtype":"compact_boundary","isMeta":true,` + rest:                                                                        "",
		`{"type":"system","subtype":"local_command","content":"<command-name>/cost</command-name>\n<command-message>cost</command-message>",` + rest: "",
		`{"type":"system","subtype":"informational","content":"blocked","preventContinuation":true,` + rest:                                          `{"type":"system","subtype":"informational","prevent_continuation":true,"content":"blocked","level":"info"` + kept,
		`{"type":"system","subtype":"informational","content":"a hint",` + rest:                                                                      "",
		`{"type":"system","subtype":"turn_duration",` + rest:                                                                                         "",
		`{"type":"user","subtype":"local_command","content":"<local-command-stdout>",` + rest:                                                        "",
		`{`: "",
	} {
		if got := string(transcript.Told([]byte(line))); got != want {
			t.Errorf("%s\nbecomes %s\nwant    %s", line, got, want)
		}
	}
}
