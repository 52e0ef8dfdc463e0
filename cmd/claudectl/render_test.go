package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/message"
)

// The lines that the CLI writes of an answer: its pieces, and then it as a whole.
func begins(id string) string {
	return fmt.Sprintf(`{"type":"stream_event","event":{"type":"message_start","message":{"id":%q,"content":[]}},"api_message_id":%[1]q}`, id)
}

func piece(text string) string {
	return fmt.Sprintf(`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}}`, text)
}

func whole(id, text string) string {
	return fmt.Sprintf(`{"type":"assistant","message":{"id":%q,"content":[{"type":"text","text":%q}]}}`, id, text)
}

const stops = `{"type":"stream_event","event":{"type":"content_block_stop","index":0}}`

// Every answer is shown once, and whole, even when pieces of another one came
// before it.
func TestRenderPieces(t *testing.T) {
	const broke = "the answer broke off there, and begins anew\n"
	for _, test := range []struct {
		name         string
		lines        []string
		answer, note string
	}{
		{"pieces", []string{begins("1"), piece("One "), piece("two."), stops, whole("1", "One two.")}, "One two.\n", ""},
		{"whole before the last piece ends", []string{begins("1"), piece("One."), whole("1", "One."), stops}, "One.\n", ""},
		{"no pieces", []string{whole("1", "One.")}, "One.\n", ""},
		{"two blocks", []string{begins("1"), piece("One."), stops, whole("1", "One."), piece("Two."), stops, whole("1", "Two.")}, "One.\nTwo.\n", ""},
		{"another answer, without pieces", []string{begins("1"), piece("One t"), stops, whole("2", "Two.")}, "One t\nTwo.\n", broke},
		{"another answer, with pieces", []string{begins("1"), piece("One t"), begins("2"), piece("Two."), stops, whole("2", "Two.")}, "One t\nTwo.\n", broke},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			c := newConsole(t.Context(), nil, &stdout, &stderr, nil)
			view := newRenderer(c, newScreen(c), newVerdicts())
			for _, line := range test.lines {
				m, err := message.Decode([]byte(line))
				if err != nil {
					t.Fatal(err)
				}
				view.show(m)
			}
			if stdout.String() != test.answer || stderr.String() != test.note {
				t.Errorf("after %s\nstdout %q, stderr %q, want %q and %q", strings.Join(test.lines, "\n"), stdout.String(), stderr.String(), test.answer, test.note)
			}
		})
	}
}
