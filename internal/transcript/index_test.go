package transcript

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/claude-agent-go/claude/internal/test/long"
)

// turns writes a session of n turns, each with a tool call, under ids as the CLI
// makes them.
func turns(n int) []byte {
	var out bytes.Buffer
	id := func(i int) string { return fmt.Sprintf("%08x-1111-4111-8111-%012x", i, i*7919) }
	for i := range n {
		at := 4 * i
		for j, line := range []string{
			`"type":"user","message":{"role":"user","content":"x"}`,
			fmt.Sprintf(`"type":"assistant","message":{"id":"msg_%024d","content":[{"type":"tool_use","id":"toolu_%024d","input":{}}]}`, i, i),
			fmt.Sprintf(`"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_%024d"}]},"sourceToolAssistantUUID":"%s"`, i, id(at+1)),
			fmt.Sprintf(`"type":"assistant","message":{"id":"msg_%023da","stop_reason":"end_turn","content":[]}`, i),
		} {
			parent := "null"
			if at+j > 0 {
				parent = `"` + id(at+j-1) + `"`
			}
			fmt.Fprintf(&out, `{"parentUuid":%s,%s,"uuid":"%s","timestamp":"2026-01-01T00:00:00.000Z"}`+"\n", parent, line, id(at+j))
		}
	}
	return out.Bytes()
}

// An index is small: a long session stays in memory for as long as its transcript
// is used.
func TestIndexIsSmall(t *testing.T) {
	const n = 10_000
	file := turns(n)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	x := new(Index)
	if err := x.ReadFrom(t.Context(), bytes.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / int64(x.Len())
	t.Logf("%d bytes for each of %d entries", each, x.Len())
	if x.Len() != 4*n || each > 180 {
		t.Errorf("%d bytes for each of %d entries", each, x.Len())
	}
	runtime.KeepAlive(file)
}

// A file read in chunks, on several processors, becomes the same index as line by
// line, wherever chunks and lines end.
func TestReadFrom(t *testing.T) {
	long := `{"type":"user","uuid":"long","parentUuid":null,"message":{"content":"` + strings.Repeat("x", 3*chunkSize) + `"}}`
	some := string(write("user:a call:b<a!m+t1 call:c<b!m+t2 done:y<c+t2 done:x<b+t1 took:p late:l<x+p said:d<l x:garbage cut:k+a,b,c"))
	for name, file := range map[string]string{
		"nothing":             "",
		"blank lines":         "\n\r\n  \n" + some + "\n\n",
		"no line feed":        strings.TrimRight(some, "\n"),
		"half a line":         some + `{"type":"us`,
		"carriage returns":    strings.ReplaceAll(some, "\n", "\r\n"),
		"several chunks":      string(turns(2000)) + some,
		"longer than a chunk": some + long + "\n" + some,
		"only one long":       long,
		"long and cut":        long[:2*chunkSize],
		"one chunk":           strings.Repeat(" ", chunkSize-1) + "\n" + some,
		"one chunk, no feed":  some + strings.Repeat(" ", chunkSize-len(some)),
		"many long":           strings.Repeat(long+"\n", 20),
		"the same id, twice":  some + some,
		"many short ones":     strings.Repeat("{}\n[]\nx\n", chunkSize),
	} {
		t.Run(name, func(t *testing.T) {
			want := index(t, []byte(file))
			for how, r := range map[string]io.Reader{
				"at once":    strings.NewReader(file),
				"in halves":  iotest.HalfReader(strings.NewReader(file)),
				"with error": iotest.DataErrReader(strings.NewReader(file)),
			} {
				got := new(Index)
				if err := got.ReadFrom(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				if got.Skipped != want.Skipped || got.Len() != want.Len() || len(got.absorbed) != len(want.absorbed) {
					t.Errorf("%s: skipped %d, %d entries; want %d, %d", how, got.Skipped, got.Len(), want.Skipped, want.Len())
				}
				if g, w := idsOf([]byte(file), got.Conversation()), idsOf([]byte(file), want.Conversation()); g != w {
					t.Errorf("%s: conversation %.200s, want %.200s", how, g, w)
				}
			}
		})
	}
}

// A line that is longer than any may be is counted, and what comes after it is
// read from the right place.
func TestLineTooLong(t *testing.T) {
	before, after := string(write("user:a")), string(write("said:b<a"))
	for name, length := range map[string]int{"just fits": MaxLine, "by one": MaxLine + 1, "by far": MaxLine + 5*chunkSize/2} {
		t.Run(name, func(t *testing.T) {
			if name == "by far" {
				long.Test(t, "reads another line of many megabytes")
			}
			frame := `{"type":"x","x":""}`
			line := io.MultiReader(strings.NewReader(frame[:len(frame)-2]), io.LimitReader(letters{}, int64(length-len(frame))), strings.NewReader(frame[len(frame)-2:]+"\n"))
			x := new(Index)
			if err := x.ReadFrom(t.Context(), io.MultiReader(strings.NewReader(before), line, strings.NewReader(after))); err != nil {
				t.Fatal(err)
			}
			skipped := 0
			if length > MaxLine {
				skipped = 1
			}
			c := x.Conversation()
			if x.Skipped != skipped || len(c) != 2 || c[1].Pos != int64(len(before)+length+1) {
				t.Errorf("skipped %d, %d entries, the last at %d; want %d, 2, %d", x.Skipped, len(c), c[len(c)-1].Pos, skipped, len(before)+length+1)
			}
		})
	}
}

// letters is an endless text.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	const some = "xxxxxxxxxxxxxxxx" + "xxxxxxxxxxxxxxxx" + "xxxxxxxxxxxxxxxx" + "xxxxxxxxxxxxxxxx"
	n := copy(p, some)
	for n < len(p) { // twice as many each time
		n += copy(p[n:], p[:n])
	}
	return n, nil
}

// What goes wrong while a file is read is an error, and nothing keeps running.
func TestReadFromFails(t *testing.T) {
	broken := errors.New("broken")
	file := io.MultiReader(bytes.NewReader(turns(5000)), iotest.ErrReader(broken))
	if err := new(Index).ReadFrom(t.Context(), file); !errors.Is(err, broken) {
		t.Errorf("a reader that fails: %v", err)
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if err := new(Index).ReadFrom(ctx, letters{}); !errors.Is(err, gone) {
		t.Errorf("a context that has ended: %v", err)
	}
	x := new(Index)
	x.begin()
	x.count = MaxEntries
	if err := x.ReadFrom(t.Context(), bytes.NewReader(turns(1))); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too many entries: %v", err)
	}
}

// Ids are the same only if their texts are, however they are written.
func TestKeys(t *testing.T) {
	h := newHasher()
	const id = "0123abcd-0000-4000-8000-00000000000f"
	texts := []string{id, strings.ToUpper(id), "00000000-0000-0000-0000-000000000000", "a", "b", id[:35] + "g", id[:35], id + "0", "\x00\x01\x02\x03", strings.Repeat("-", 36)}
	var seen []key
	for _, text := range texts {
		k := h.key([]byte(text))
		if k == (key{}) || slices.Contains(seen, k) || k != h.key([]byte(text)) {
			t.Errorf("the key of %q is %x", text, k)
		}
		seen = append(seen, k)
	}
	if h.key(nil) != (key{}) || h.mark(nil) != 0 {
		t.Error("nothing has a key")
	}
	if escaped := unquoted([]byte(`"\u0061"`)); h.key(escaped) != h.key([]byte("a")) || h.mark(escaped) != h.mark([]byte("a")) {
		t.Errorf("an escaped id is another: %q", escaped)
	}
	for _, value := range []string{"", `""`, "1", "null", "{}", `["a"]`} {
		if text := unquoted([]byte(value)); len(text) != 0 {
			t.Errorf("%s is %q", value, text)
		}
	}
}

// A line with a member twice is read as a whole or not at all.
func TestLongMemberTwice(t *testing.T) {
	line := []byte(`{"type":"user","uuid":"u","message":{"content":"a"},"message":{"content":"b"},"toolUseResult":1}`)
	x := index(t, line)
	said, err := x.AppendSpeech(nil, line, x.entry(0), "")
	if want := `{"parent_tool_use_id":null,"type":"user","uuid":"u","message":{"content":"a"},"message":{"content":"b"},"tool_use_result":1}`; err != nil || string(said) != want {
		t.Errorf("said %s, %v", said, err)
	}
}
