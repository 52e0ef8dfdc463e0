package claude_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
)

// The output ends without a line feed. What is whole is delivered, if the exit
// says that the CLI had said all it wanted.
func TestLastLineWithoutLineFeed(t *testing.T) {
	const result = `{"type":"result","subtype":"success","is_error":false,"result":"all of it","user_message_uuids":[%q]}`
	for _, tt := range []struct {
		name string
		last string
		code int
		text string // of the result; "" for an error
	}{
		{"whole", result, 0, "all of it"},
		{"whole, with a carriage return", result + "\r", 0, "all of it"},
		{"long", strings.Replace(result, "all of it", strings.Repeat("x", 100_000), 1), 0, strings.Repeat("x", 100_000)},
		{"whole, but the exit was not clean", result, 1, ""},
		{"cut off", result[:60], 0, ""},
		{"whole, but not an object", `"%[1]s"`, 0, ""},
		{"two objects", result + `{"type":"x"%.0s`, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play := func(c *cli) {
				c.greet()
				id := c.prompt()
				c.begin(id)
				fmt.Fprintf(c.stdout, tt.last, id)
				c.code = tt.code
			}
			bubble(t, play, func(t *testing.T, o *claude.Options) {
				s := connect(t, o)
				res, err := s.Ask(t.Context(), "hello")
				switch end := s.Wait(); {
				case tt.text != "":
					if err != nil || res.Text != tt.text || end != nil {
						t.Errorf("Ask = %.60v, %v; Wait = %v", res, err, end)
					}
				default:
					if _, ok := errors.AsType[*claude.ProcessError](err); !ok || !strings.Contains(fmt.Sprint(end), "inside a line") {
						t.Errorf("Ask = %v, %v; Wait = %v, want that the output ended inside a line", res, err, end)
					}
				}
			})
		})
	}
}

// A query reads the last line just as well.
func TestLastLineOfQuery(t *testing.T) {
	play := func(c *cli) {
		id := c.prompt()
		c.begin(id)
		fmt.Fprintf(c.stdout, `{"type":"result","subtype":"success","result":"hi","user_message_uuids":[%q]}`, id)
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		if res, err := claude.Ask(t.Context(), "hello", o); err != nil || res.Text != "hi" {
			t.Errorf("Ask = %v, %v", res, err)
		}
	})
}

// The last line takes the room that it needs itself, not that of the line before
// it: an inbox that has room for both keeps both.
func TestLastLineCountsItself(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		id := c.prompt()
		c.begin(id)
		c.text(strings.Repeat("x", 100_000))
		fmt.Fprintf(c.stdout, `{"type":"result","subtype":"success","result":"hi","user_message_uuids":[%q]}`, id)
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.Limits.Unread = 150_000
		s := connect(t, o)
		if _, err := s.Send(t.Context(), "hello"); err != nil {
			t.Fatal(err)
		}
		if err := s.Wait(); err != nil {
			t.Errorf("Wait = %v", err)
		}
		last := ""
		for m, err := range s.Messages(t.Context()) {
			if err != nil {
				t.Error(err)
				break
			}
			last = m.Head().Type
		}
		if last != "result" {
			t.Errorf("the last message is %q, want the result", last)
		}
	})
}
