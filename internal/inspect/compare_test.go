package inspect_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/inspect"
)

// session writes a recording: "> prompt", "tool Name input output", "! outcome" or a text
// that the model says.
func session(lines ...string) string {
	var out strings.Builder
	line := func(dir, format string, args ...any) {
		fmt.Fprintf(&out, `{"dir":%q,"msg":%s}`+"\n", dir, fmt.Sprintf(format, args...))
	}
	for i, text := range lines {
		word, rest, _ := strings.Cut(text, " ")
		switch word {
		case ">":
			line("in", `{"type":"user","message":{"role":"user","content":%q}}`, rest)
		case "!":
			line("out", `{"type":"result","subtype":%q,"is_error":%t,"session_id":"s","num_turns":1,"total_cost_usd":0.01,"usage":{}}`, rest, rest != "success")
		case "tool":
			name, rest, _ := strings.Cut(rest, " ")
			input, output, _ := strings.Cut(rest, " ")
			line("out", `{"type":"assistant","session_id":"s","message":{"id":"m%d","model":"claude-opus-5-5","content":[{"type":"tool_use","id":"t%d","name":%q,"input":{"command":%q}}],"usage":{"input_tokens":10,"output_tokens":1}}}`, i, i, name, input)
			line("out", `{"type":"user","session_id":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":%q}]}}`, i, output)
		default:
			line("out", `{"type":"assistant","session_id":"s","message":{"id":"m%d","model":"claude-opus-5-5","content":[{"type":"text","text":%q}],"usage":{"input_tokens":10,"output_tokens":1}}}`, i, text)
		}
	}
	return out.String()
}

// compared draws a comparison: a row for each pair, with = ~ < or >.
func compared(c *inspect.Comparison) string {
	sign := map[inspect.Difference]string{inspect.Same: "=", inspect.Changed: "~", inspect.OnlyA: "<", inspect.OnlyB: ">"}
	var out strings.Builder
	for _, t := range c.Turns {
		fmt.Fprintf(&out, "%s%d,%d:", sign[t.Difference], t.Numbers[0], t.Numbers[1])
		for _, s := range t.Steps {
			step := s.A
			if step == nil {
				step = s.B
			}
			fmt.Fprintf(&out, " %s%s", sign[s.Difference], strings.ReplaceAll(step.Head, " ", "_"))
		}
		out.WriteString("\n")
	}
	return out.String()
}

// Turns with the same prompt belong together, and in them the steps that are the same.
func TestCompare(t *testing.T) {
	t.Parallel()
	one := []string{"> a", "tool Bash ls x", "hello", "! success"}
	two := []string{"> b", "fine", "! success"}
	join := func(all ...[]string) string {
		var lines []string
		for _, l := range all {
			lines = append(lines, l...)
		}
		return session(lines...)
	}
	const a, b = "=1,1: =a =Bash_ls_→_ok =hello\n", "=2,2: =b =fine\n"
	for name, c := range map[string]struct{ first, second, want string }{
		"the same":          {join(one, two), join(one, two), a + b},
		"a turn is missing": {join(one, two), join(two), "<1,0: <a <Bash_ls_→_ok <hello\n=2,1: =b =fine\n"},
		"a turn is new":     {join(one), join(one, two), a + ">0,2: >b >fine\n"},
		"another prompt":    {join(one), join(two), "~1,1: ~a <Bash_ls_→_ok ~hello\n"},
		"another text":      {join(two), session("> b", "well", "! success"), "~1,1: =b ~fine\n"},
		"another output":    {join(one), session("> a", "tool Bash ls y", "hello", "! success"), "~1,1: =a ~Bash_ls_→_ok =hello\n"},
		"another tool":      {join(one), session("> a", "tool Read ls x", "hello", "! success"), "~1,1: =a <Bash_ls_→_ok >Read_ls_→_ok =hello\n"},
		"one call more":     {join(one), session("> a", "tool Bash pwd x", "tool Bash ls x", "hello", "! success"), "~1,1: =a >Bash_pwd_→_ok =Bash_ls_→_ok =hello\n"},
		"another end":       {join(two), session("> b", "fine", "! error_max_turns"), "~1,1: =b =fine\n"},
		"empty":             {session("! success"), session("! success"), "=1,1:\n"},
	} {
		c1, c2 := read(t, c.first), read(t, c.second)
		got := inspect.Compare(c1, c2)
		if compared(got) != c.want {
			t.Errorf("%s:\n%s, want\n%s", name, compared(got), c.want)
		}
		if same := strings.Count(c.want, "\n=") + strings.Count(c.want[:1], "="); got.Different != len(got.Turns)-same {
			t.Errorf("%s: %d of %d turns differ", name, got.Different, len(got.Turns))
		}
	}
}

// The forms of a comparison: what differs is marked, in words that a terminal and a page can
// show safely.
func TestCompareShown(t *testing.T) {
	t.Parallel()
	evil := "<script>alert(1)</script>\u009b31m"
	c := inspect.Compare(read(t, session("> a", "same", "first "+evil, "! success")), read(t, session("> a", "same", "second", "! success")))
	var text, page, data bytes.Buffer
	for _, err := range []error{c.WriteText(&text, false), c.WriteHTML(&page, inspect.Limits{}), c.WriteJSON(&data)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range []string{"turns that differ: 1 of 1", "turn 1 · changed", "    text  same\n", "  < text  first <script>", "  > text  second\n"} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("the text lacks %q:\n%s", part, &text)
		}
	}
	for _, part := range []string{`<div class="pair same">`, `<div class="pair warn"><span class="hidden">changed</span>`, `<article class="turn"`, "What differs", "second"} {
		if !strings.Contains(page.String(), part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	if strings.Contains(page.String(), "<script") || strings.Contains(text.String(), "\u009b") || !strings.Contains(data.String(), `"difference":"changed"`) {
		t.Errorf("unsafe, or without the difference:\n%s\n%s", &text, &data)
	}
	page.Reset()
	if err := c.WriteHTML(&page, inspect.Limits{Items: 1, Text: 3}); err != nil || !strings.Contains(page.String(), "ends after 1 steps") || strings.Contains(page.String(), "alert") {
		t.Errorf("%v\n%s", err, &page)
	}
}
