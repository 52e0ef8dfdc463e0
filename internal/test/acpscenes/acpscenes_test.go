package acpscenes

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestScenes checks the recordings: they are stripped, and each can be played.
func TestScenes(t *testing.T) {
	all, err := All()
	if err != nil || len(all) != 14 {
		t.Fatalf("%d scenes, %v", len(all), err)
	}
	for _, s := range all {
		again, err := Strip(s.Recorded(), "")
		if err != nil {
			t.Fatal(err)
		}
		for i, data := range s.Recorded() {
			if string(again[i]) != string(data) {
				t.Errorf("%s has what Strip changes:\n%s\n%s", s.Name, data, again[i])
			}
		}
		if actions, err := s.Actions(); err != nil || len(actions) == 0 {
			t.Errorf("%s: %d actions, %v", s.Name, len(actions), err)
		}
		if _, err := s.Replies("/dir"); err != nil {
			t.Error(err)
		}
		if d, err := Compare(s, s.Recorded()); err != nil || d != nil {
			t.Errorf("%s differs from itself: %v, %v", s.Name, d, err)
		}
	}
}

const scene = `
> {"id":1,"method":"session/new","params":{}}
< {"id":1,"result":{}}
= [{"text":"one two"}]
> {"id":2,"method":"session/prompt","params":{"sessionId":"$session"}}
< {"method":"session/update","params":{"update":{"content":{"text":"one two","type":"text"},"sessionUpdate":"agent_message_chunk"}}}
< {"method":"session/update","params":{"update":{"sessionUpdate":"tool_call","status":"pending","title":"make","toolCallId":"call-1"}}}
< {"id":0,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"call-1"}}}
> {"id":0,"result":{"outcome":"x"}}
< {"method":"session/update","params":{"update":{"availableCommands":"…","sessionUpdate":"available_commands_update"}}}
< {"id":2,"result":{"stopReason":"end_turn"}}
`

// TestCompare finds what differs: order, members, frames; but not the pieces of a
// text, ids, and the place of what comes at any time.
func TestCompare(t *testing.T) {
	s, err := parse("s", []byte(scene))
	if err != nil {
		t.Fatal(err)
	}
	const (
		opened   = `{"id":1,"result":{"sessionId":"abc"}}`
		commands = `{"method":"session/update","params":{"sessionId":"abc","update":{"availableCommands":[1],"sessionUpdate":"available_commands_update"}}}`
		one      = `{"method":"session/update","params":{"update":{"content":{"text":"one ","type":"text"},"messageId":"m","sessionUpdate":"agent_message_chunk"}}}`
		two      = `{"method":"session/update","params":{"update":{"content":{"text":"two","type":"text"},"messageId":"m","sessionUpdate":"agent_message_chunk"}}}`
		call     = `{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call","status":"pending","title":"make","toolCallId":"toolu_9"}}}`
		ask      = `{"id":"q","method":"session/request_permission","params":{"toolCall":{"toolCallId":"toolu_9"}}}`
		done     = `{"id":2,"result":{"stopReason":"end_turn"}}`
	)
	for name, test := range map[string]struct {
		frames []string
		want   []string // scene, frame and member of each difference
	}{
		"same":        {[]string{opened, commands, one, two, call, ask, done}, nil},
		"order":       {[]string{opened, commands, one, two, ask, call, done}, []string{"tool_call pending absent", "tool_call pending added"}},
		"title":       {[]string{opened, commands, one, two, strings.Replace(call, "make", "cmake", 1), ask, done}, []string{"tool_call pending title"}},
		"text":        {[]string{opened, commands, one, call, ask, done}, []string{"agent_message_chunk content.text"}},
		"no commands": {[]string{opened, one, two, call, ask, done}, []string{"available_commands_update absent"}},
		"end":         {[]string{opened, commands, one, two, call, ask, strings.Replace(done, "end_turn", "cancelled", 1)}, []string{"response result.stopReason"}},
		"more":        {[]string{opened, commands, one, two, call, call, ask, done}, []string{"tool_call pending added"}},
	} {
		var frames [][]byte
		for _, f := range test.frames {
			frames = append(frames, []byte(f))
		}
		stripped, err := Strip(frames, "")
		if err != nil {
			t.Fatal(err)
		}
		differences, err := Compare(s, stripped)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range differences {
			got = append(got, d.Frame+" "+d.Member)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestTable reads rows, and explains what they match and nothing else.
func TestTable(t *testing.T) {
	const page = "# Page\n\n" + heading + "\n|---|---|---|---|\n| 01-* | `session/x` | a.* | because |\n| * | b | absent | so |\n\nmore | text\n"
	table, err := ReadTable(page)
	if err != nil || len(table) != 2 {
		t.Fatalf("%v, %v", table, err)
	}
	for d, want := range map[Difference]int{
		{Scene: "01-a", Frame: "session/x", Member: "a._meta/b"}: 0,
		{Scene: "02-a", Frame: "session/x", Member: "a.b"}:       -1,
		{Scene: "02-a", Frame: "b", Member: "absent"}:            1,
		{Scene: "02-a", Frame: "b", Member: "added"}:             -1,
	} {
		if got := table.Explains(d); got != want {
			t.Errorf("%v: row %d, want %d", d, got, want)
		}
	}
	for _, bad := range []string{"", heading + "\n|---|---|---|---|\n| a | b | c |\n", heading + "\n|---|---|---|---|\n| a | b | c | |\n"} {
		if table, err := ReadTable(bad); err == nil {
			t.Errorf("%q gave %v", bad, table)
		}
	}
}

// TestNamed checks that the tests which the page names exist.
func TestNamed(t *testing.T) {
	page, err := os.ReadFile("../../../docs/acp.md")
	if err != nil {
		t.Fatal(err)
	}
	var sources []byte
	for _, dir := range []string{"acp", "internal/acp/rpc", "acp/internal/translate", "cmd/claudectl", "serve", "fleet", "history", ".", "internal/proc"} {
		files, err := filepath.Glob("../../../" + dir + "/*_test.go")
		if err != nil || files == nil {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			sources = append(sources, data...)
		}
	}
	names := regexp.MustCompile("`(Test[A-Za-z]+)`").FindAllSubmatch(page, -1)
	if len(names) < 40 {
		t.Errorf("the page names %d tests", len(names))
	}
	for _, m := range names {
		if !bytes.Contains(sources, []byte("func "+string(m[1])+"(t ")) {
			t.Errorf("there is no %s", m[1])
		}
	}
}

// TestRowsHaveTests checks that each row about a feature or a fault names a test, or a scene,
// which the tests play.
func TestRowsHaveTests(t *testing.T) {
	page, err := os.ReadFile("../../../docs/acp.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("`Test[A-Za-z]+`|scene [0-9][0-9]")
	for heading, least := range map[string]int{"\n## What it can do\n": 40, "\n## What goes wrong\n": 25} {
		_, section, found := strings.Cut(string(page), heading)
		section, _, _ = strings.Cut(section, "\n## ")
		rows := 0
		for line := range strings.Lines(section) {
			if cells := strings.Split(line, "|"); len(cells) > 3 && !strings.HasPrefix(line, "|---") && strings.TrimSpace(cells[len(cells)-2]) != "test" {
				rows++
				if !shown.MatchString(cells[len(cells)-2]) {
					t.Errorf("without a test: %s", line)
				}
			}
		}
		if !found || rows < least {
			t.Errorf("%d rows below %q, want at least %d", rows, heading, least)
		}
	}
}
