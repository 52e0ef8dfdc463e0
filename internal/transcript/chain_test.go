package transcript

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/test/cputime"
	"github.com/claude-agent-go/claude/internal/test/long"
)

// write makes the lines of a transcript from words: kind, id and parent, such as
// "user:a", "said:b<a" or "call:c<b!m1+t1" for the line of answer m1 that calls
// tool t1. Times follow the order of the words.
func write(script string) []byte {
	var out bytes.Buffer
	for n, word := range strings.Fields(script) {
		kind, rest, _ := strings.Cut(word, ":")
		rest, tool, _ := strings.Cut(rest, "+")
		rest, answer, _ := strings.Cut(rest, "!")
		id, parent, _ := strings.Cut(rest, "<")
		common := fmt.Sprintf(`"uuid":%q,"parentUuid":%s,"timestamp":"2026-01-01T00:00:%02d.000Z"`, id, quoteOrNull(parent), n)
		switch kind {
		case "user":
			fmt.Fprintf(&out, `{%s,"type":"user","message":{"role":"user","content":%q}}`, common, id)
		case "said":
			fmt.Fprintf(&out, `{%s,"type":"assistant","message":{"id":%q,"stop_reason":"end_turn","content":[{"type":"text","text":"x"}]}}`, common, "msg-"+id)
		case "call":
			fmt.Fprintf(&out, `{%s,"type":"assistant","message":{"id":%q,"stop_reason":"tool_use","content":[{"type":"tool_use","id":%q,"name":"T","input":{}}]}}`, common, answer, tool)
		case "done":
			fmt.Fprintf(&out, `{%s,"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":"x"}]}}`, common, tool)
		case "last":
			fmt.Fprintf(&out, `{%s,"type":"user","toolEndsTurn":true,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":"x"}]}}`, common, tool)
		case "side":
			fmt.Fprintf(&out, `{%s,"isSidechain":true,"type":"assistant","message":{"id":"s","content":[]}}`, common)
		case "meta":
			fmt.Fprintf(&out, `{%s,"isMeta":true,"type":"user","message":{"content":"m"}}`, common)
		case "note":
			fmt.Fprintf(&out, `{%s,"type":"attachment","attachment":{"type":"date"}}`, common)
		case "prog":
			fmt.Fprintf(&out, `{%s,"type":"progress"}`, common)
		case "sys":
			fmt.Fprintf(&out, `{%s,"type":"system","subtype":"local_command"}`, common)
		case "cut": // tool: anchor,kept,kept
			ids := strings.Split(tool, ",")
			fmt.Fprintf(&out, `{%s,"type":"system","subtype":"compact_boundary","compactMetadata":{"preservedMessages":{"anchorUuid":%q,"uuids":["%s"]}}}`, common, ids[0], strings.Join(ids[1:], `","`))
		case "seg": // tool: anchor,head,tail
			ids := strings.Split(tool, ",")
			fmt.Fprintf(&out, `{%s,"type":"system","subtype":"compact_boundary","compactMetadata":{"preservedSegment":{"anchorUuid":%q,"headUuid":%q,"tailUuid":%q}}}`, common, ids[0], ids[1], ids[2])
		case "late": // tool: the id of the prompt
			fmt.Fprintf(&out, `{%s,"type":"attachment","attachment":{"type":"queued_command","prompt":"p","source_uuid":%q}}`, common, tool)
		case "took":
			fmt.Fprintf(&out, `{"type":"queue-operation","operation":"remove","reason":"absorbed_mid_turn","commandUuid":%q}`, id)
		case "wait": // tool: the call that is put off
			fmt.Fprintf(&out, `{%s,"type":"attachment","attachment":{"type":"hook_deferred_tool","toolUseID":%q}}`, common, tool)
		default:
			out.WriteString(rest) // whatever it is
		}
		out.WriteByte('\n')
	}
	return out.Bytes()
}

func quoteOrNull(s string) string {
	if s == "" {
		return "null"
	}
	return fmt.Sprintf("%q", s)
}

func index(t testing.TB, file []byte) *Index {
	t.Helper()
	x := new(Index)
	for line, err := range Lines(bytes.NewReader(file)) {
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Add(line.Pos, line.Text); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

func idsOf(file []byte, list []*Entry) string {
	var ids []string
	for _, e := range list {
		ids = append(ids, jsonx.Text(jsonx.Member(file[e.Pos:e.Pos+int64(e.Len)], "uuid")))
	}
	return strings.Join(ids, " ")
}

func TestConversation(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"nothing", "", ""},
		{"one line", "user:a", "a"},
		{"a path", "user:a said:b<a user:c<b said:d<c", "a b c d"},
		{"the last branch counts", "user:a said:b<a user:c<a said:d<c", "a c d"},
		{"a branch that was left behind", "user:a said:b<a user:c<b said:d<c user:e<b said:f<e", "a b e f"},
		{"attachments are part of the path", "user:a note:n<a said:b<n note:m<b", "a n b m"},
		{"a note without a message is not an end", "user:a said:b<a note:n", "a b"},
		{"old progress lines are on the path but not its end", "user:a prog:p<a said:b<p prog:q<b", "a p b"},
		{"a subagent is not the end", "user:a said:b<a side:s<a", "a b"},
		{"parallel calls", "user:a call:b<a!m+t1 call:c<b!m+t2 done:y<c+t2 done:x<b+t1 said:d<x", "a b c y x d"},
		{"parallel calls, the path leads through the second", "user:a call:b<a!m+t1 call:c<b!m+t2 done:x<b+t1 done:y<c+t2 said:d<y", "a b c x y d"},
		{"a parent that is not there", "said:b<gone user:c<b", "b c"},
		{"a circle", "user:a<c said:b<a user:c<b", ""},
		{"a circle beside the path", "user:x<y user:y<x user:a said:b<a", "a b"},
		{"its own parent", "user:a<a said:b<a", "a b"},
		{"a compaction", "user:a said:b<a cut:c+s,gone user:s<c user:d<s said:e<d", "c s d e"},
		{"a compaction that preserved", "user:a said:b<a user:k<b said:l<k cut:c+s,k,l user:s<c user:d<s said:e<d", "c s k l d e"},
		{"a compaction that preserved a segment", "user:a said:b<a user:k<b said:l<k seg:c+s,k,l user:s<c user:d<s said:e<d", "c s k l d e"},
		{"a segment that does not hang together", "user:a said:b<a user:k<b said:l<k seg:c+s,l,k user:s<c user:d<s said:e<d", "c s d e"},
		{"the same id twice", "user:a said:b<a said:b<a user:c<b", "a b c"},
		{"only notes", "note:n note:m<n", "n m"},
		{"garbage", "user:a x:garbage said:b<a x:[1,2] x:{}", "a b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := write(tt.script)
			if got := idsOf(file, index(t, file).Conversation()); got != tt.want {
				t.Errorf("%s\n got %s\nwant %s", tt.script, got, tt.want)
			}
		})
	}
}

func TestSkippedLinesAreCounted(t *testing.T) {
	x := index(t, write("user:a x:garbage said:b<a x:[1,2] x:{} x:{\"type\":1}"))
	if x.Skipped != 4 || x.Len() != 2 {
		t.Errorf("skipped %d, kept %d", x.Skipped, x.Len())
	}
}

func TestPromptsInMidTurn(t *testing.T) {
	file := write("user:a call:b<a!m+t done:c<b+t took:p late:l<c+p late:k<l+q said:d<k")
	x := index(t, file)
	var prompts []string
	for _, e := range x.Conversation() {
		if x.IsPrompt(e) {
			said, err := x.AppendPrompt(nil, file[e.Pos:e.Pos+int64(e.Len)], e)
			if err != nil {
				t.Fatal(err)
			}
			prompts = append(prompts, jsonx.Text(jsonx.Member(said, "uuid")))
		}
	}
	if len(prompts) != 1 || prompts[0] != "p" {
		t.Errorf("prompts %q, want only the one that was taken in", prompts)
	}
}

func TestStanding(t *testing.T) {
	tests := []struct {
		name, script string
		want         PromptState
		open         string
	}{
		{"never seen", "user:a said:b<a", Unseen, ""},
		{"answered", "user:p said:b<p", Answered, ""},
		{"answered, more followed", "user:p said:b<p user:c<b call:d<c!m+t", Answered, ""},
		{"just begun", "user:p", Cut, ""},
		{"cut in a tool", "user:p call:b<p!m+t", Cut, "t"},
		{"cut after a tool", "user:p call:b<p!m+t done:c<b+t", Cut, ""},
		{"answered after a tool", "user:p call:b<p!m+t done:c<b+t said:d<c", Answered, ""},
		{"answered by a tool", "user:p call:b<p!m+t last:c<b+t note:d<c", Answered, ""},
		{"answered by a tool beside another", "user:p call:b<p!m+t call:c<b!m+u last:d<b+t", Cut, "u"},
		{"put off", "user:p call:b<p!m+t wait:w<b+t", Deferred, "t"},
		{"put off, then decided", "user:p call:b<p!m+t wait:w<b+t done:c<w+t said:d<c", Answered, ""},
		{"sent in mid-turn", "user:a call:b<a!m+t done:c<b+t took:p late:l<c+p said:d<l", Answered, ""},
		{"sent in mid-turn, cut", "user:a call:b<a!m+t done:c<b+t took:p late:l<c+p", Cut, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := index(t, write(tt.script))
			got, open := x.PromptState(x.Conversation(), "p")
			if got != tt.want || strings.Join(open, " ") != tt.open {
				t.Errorf("state %d, open %q; want %d, %q", got, open, tt.want, tt.open)
			}
		})
	}
}

func TestCut(t *testing.T) {
	const two = "user:a said:b<a user:c<b call:d<c!m+t wait:w<d+t"
	tests := []struct {
		name, script, upTo string
		deferred           bool
		want               string
	}{
		{"whole", "user:a said:b<a user:x<a said:y<x", "", false, "a x y"},
		{"up to a message", "user:a said:b<a user:c<b said:d<c", "b", false, "a b"},
		{"before a call that is put off", two, "", false, "a b c"},
		{"with a call that is put off", two, "", true, "a b c d w"},
		{"put off and decided", two + " done:e<w+t said:f<e", "", false, "a b c d w e f"},
		{"parallel calls, the second put off", "user:a call:b<a!m+t call:c<b!m+u wait:w<c+u", "", false, "a"},
		{"what a compaction left behind", "user:a said:b<a cut:c+s,gone user:s<c user:d<s said:e<d", "d", false, "a b c s d"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := write(tt.script)
			kept, err := index(t, file).Cut(tt.upTo, tt.deferred)
			if got := idsOf(file, kept); err != nil || got != tt.want {
				t.Errorf("kept %s, %v; want %s", got, err, tt.want)
			}
		})
	}
	for script, upTo := range map[string]string{"": "", "note:n": "", "user:a": "gone", "user:a said:b<a user:c<a": "b"} {
		file := write(script)
		if kept, err := index(t, file).Cut(upTo, false); err == nil {
			t.Errorf("%q up to %q: kept %s", script, upTo, idsOf(file, kept))
		}
	}
}

// What the model was told stays as it was, to the byte; ids are new everywhere
// else.
func TestCopy(t *testing.T) {
	const from, to = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"
	const a, b, p = "00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b", "00000000-0000-4000-8000-00000000000c"
	lines := []string{
		`{"parentUuid":null,"isSidechain":true,"type":"user","uuid":"` + a + `","sessionId":"` + from + `","message":{"role":"user","content":"see \u00e9 ` + a + `"},"turnAttributionKey":"x","timestamp":"old"}`,
		`{"parentUuid":"` + a + `","type":"progress","uuid":"` + p + `"}`,
		`{"parentUuid":"` + p + `","logicalParentUuid":"` + a + `","type":"assistant","uuid":"` + b + `","sessionId":"` + from + `","message":{"id":"m","content":[]},"timestamp":"old"}`,
	}
	x := index(t, []byte(strings.Join(lines, "\n")))
	n := 0
	newID := func() string { n++; return fmt.Sprintf("new-%d", n) }
	kept := []*Entry{x.entry(0), x.entry(1), x.entry(2)}
	c := x.NewCopy(from, to, kept, newID)
	want := []string{
		`{"parentUuid":null,"isSidechain":false,"type":"user","uuid":"new-1","sessionId":"` + to + `","message":{"role":"user","content":"see \u00e9 ` + a + `"},"timestamp":"old","forkedFrom":{"sessionId":"` + from + `","messageUuid":"` + a + `"}}`,
		``,
		`{"parentUuid":"new-1","logicalParentUuid":"new-1","type":"assistant","uuid":"new-2","sessionId":"` + to + `","message":{"id":"m","content":[]},"timestamp":"now","forkedFrom":{"sessionId":"` + from + `","messageUuid":"` + b + `"}}`,
	}
	for i, line := range lines {
		now := ""
		if i == 2 {
			now = "now"
		}
		got, err := c.Entry([]byte(line), kept[i], now)
		if err != nil || string(got) != want[i] {
			t.Errorf("line %d: %v\n got %s\nwant %s", i, err, got, want[i])
		}
	}
	if got := string(c.Note([]byte(`{"type":"relocated","relocatedCwd":"/x","sessionId":"` + from + `"}`))); got != `{"type":"relocated","relocatedCwd":"/x","sessionId":"`+to+`"}` {
		t.Errorf("note: %s", got)
	}
	if got := c.Note([]byte(`{"type":"last-prompt","lastPrompt":"x"}`)); got != nil {
		t.Errorf("a note that the copy does not need: %s", got)
	}
}

// A file that was made to be slow is read in time that grows with its length:
// thirty times the lines take about thirty times as long, not nine hundred.
func TestHostileFiles(t *testing.T) {
	const few, many = 1000, 30_000
	forms := map[string]func(i int) string{
		"one long path":            func(i int) string { return fmt.Sprintf("note:%d<%d", i, i-1) },
		"many ends, one long path": func(i int) string { return fmt.Sprintf("note:%d<%d", i, i-1-i%2) },
		"everything on one parent": func(i int) string { return fmt.Sprintf("call:%d<0!m+t%d", i, i) },
		"circles":                  func(i int) string { return fmt.Sprintf("user:%d<%d", i, i^1) },
	}
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			if name != "one long path" {
				long.Test(t, "reads tens of thousands of lines")
			}
			read := func(lines int) (add, path time.Duration) {
				var script strings.Builder
				for i := range lines {
					script.WriteString(form(i) + " ")
				}
				file := write(script.String())
				begin := cputime.Used()
				x := index(t, file)
				add, path = cputime.Used()-begin, time.Hour
				for range 3 { // the best counts: the collector runs now and then
					begin = cputime.Used()
					x.Conversation()
					path = min(path, cputime.Used()-begin)
				}
				return add, path
			}
			// Below the floor the clock of the processors is too coarse.
			const floor = 5 * time.Millisecond
			shortAdd, shortPath := read(few)
			longAdd, longPath := read(many)
			if longAdd > 200*max(shortAdd, floor) || longPath > 200*max(shortPath, floor) {
				t.Errorf("%d lines took %v and %v, %d lines %v and %v", few, shortAdd, shortPath, many, longAdd, longPath)
			}
		})
	}
	deep := strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)
	x := index(t, []byte(`{"type":"user","uuid":"u","message":`+deep+`}`+"\n"+strings.Repeat("[", 1<<20)))
	if x.Len() != 1 || x.Skipped != 1 {
		t.Errorf("deep JSON: kept %d, skipped %d", x.Len(), x.Skipped)
	}
}

// What a copy leaves out is passed once, however many hang below it, even when
// it leads in a circle.
func TestCopyPassesOnce(t *testing.T) {
	for _, script := range []string{"user:a<none user:b<a user:c<b user:d<c", "user:a<d user:b<a user:c<b user:d<c"} {
		x := index(t, write(script))
		c := x.NewCopy("from", "to", nil, nil)
		if to := c.parent(x.entry(3).id); to != "" {
			t.Errorf("%s: the parent is %q", script, to)
		}
		for id, parent := range c.parents {
			if parent != 0 {
				t.Errorf("%s: from %d to %d again", script, id, parent)
			}
		}
	}
}

// A file with endless compactions, each of which moves what the one before has
// moved, is read in bounded time.
func TestHostileCompactions(t *testing.T) {
	n := long.Pick(15_000, 60_000) // of which more than maxMoves steps would follow
	var file bytes.Buffer
	file.WriteString(`{"type":"user","uuid":"u0","parentUuid":null,"message":{"role":"user","content":"x"}}` + "\n")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&file, `{"type":"system","subtype":"compact_boundary","uuid":"b%[1]d","parentUuid":"u0","compactMetadata":{"preservedMessages":{"anchorUuid":"u%[2]d","uuids":["u%[1]d"]}}}`+"\n", i, i-1)
		fmt.Fprintf(&file, `{"type":"user","uuid":"u%d","parentUuid":"u0","message":{"role":"user","content":"x"}}`+"\n", i)
	}
	x := index(t, file.Bytes())
	moved := x.compactions()
	if steps := len(moved) * x.Len(); steps == 0 || steps > maxMoves {
		t.Errorf("%d steps, at most %d are allowed", steps, maxMoves)
	}
	if i, ok := x.at(moved[len(moved)-1].uuids[0]); !ok || int(i) != x.Len()-1 {
		t.Errorf("the last one that counts preserved entry %d of %d", i, x.Len())
	}
	x.Conversation()
}

func TestTooManyEntries(t *testing.T) {
	x := new(Index)
	x.count = MaxEntries
	if err := x.Add(0, write("user:a")); err != ErrTooLarge {
		t.Errorf("Add = %v", err)
	}
	if err := x.Add(0, []byte(`{"type":"tag","tag":"x"}`)); err != nil {
		t.Errorf("a line beside the conversation: %v", err)
	}
}

func FuzzConversation(f *testing.F) {
	f.Add(write("user:a call:b<a!m+t1 call:c<b!m+t2 done:y<c+t2 done:x<b+t1 said:d<x"))
	f.Add(write("user:a said:b<a user:k<b said:l<k cut:c+s,k,l user:s<c user:d<s said:e<d wait:w<e+t"))
	f.Add(write("user:a<c said:b<a user:c<b seg:d+a,b,c side:e<d meta:f<e sys:g<f"))
	f.Fuzz(func(t *testing.T, file []byte) {
		x := new(Index)
		for line, err := range Lines(bytes.NewReader(file)) {
			if err != nil {
				t.Fatal(err)
			}
			if got := file[line.Pos : line.Pos+int64(len(line.Text))]; !bytes.Equal(got, line.Text) {
				t.Fatalf("line at %d is %q, want %q", line.Pos, line.Text, got)
			}
			if x.Add(line.Pos, line.Text) != nil {
				return
			}
		}
		seen := make(map[int64]bool)
		conversation := x.Conversation()
		for _, e := range conversation {
			if seen[e.Pos] {
				t.Fatalf("the line at %d stands twice in %s", e.Pos, idsOf(file, conversation))
			}
			seen[e.Pos] = true
			if e.Visible() {
				if _, err := x.AppendSpeech(nil, file[e.Pos:e.Pos+int64(e.Len)], e, ""); err != nil {
					t.Fatalf("a line that was read cannot be read again: %v", err)
				}
			}
		}
		x.Thread()
		x.PromptState(conversation, "p")
		kept, err := x.Cut("", false)
		if err != nil {
			return
		}
		n := 0
		c := x.NewCopy("from", "to", kept, func() string { n++; return fmt.Sprintf("copy-%d", n) })
		var copied bytes.Buffer
		for i := range kept {
			e := kept[i]
			line, err := c.Entry(file[e.Pos:e.Pos+int64(e.Len)], e, "")
			if err != nil {
				t.Fatal(err)
			}
			copied.Write(line)
			copied.WriteByte('\n')
		}
		if y := index(t, copied.Bytes()); y.Skipped > 0 {
			t.Fatalf("%d lines of the copy cannot be read:\n%s", y.Skipped, copied.Bytes())
		}
	})
}
