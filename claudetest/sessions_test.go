package claudetest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/ndjson"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/internal/wire"
	"github.com/claude-agent-go/claude/message"
)

// recordings are sessions with the real CLI, stripped of its prose.
func recordings(t *testing.T) map[string]*claudetest.Recording {
	t.Helper()
	files, err := filepath.Glob("testdata/sessions/*.ndjson")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	all := make(map[string]*claudetest.Recording)
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := claudetest.ReadRecording(f)
		f.Close()
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[strings.TrimSuffix(filepath.Base(path), ".ndjson")] = tr
	}
	return all
}

// tape is a Transport that answers the handshake and then plays lines, in
// pieces, whatever the SDK writes.
type tape struct {
	lines [][]byte
	put   func(w io.Writer, line []byte)
}

func (tp *tape) Start(context.Context, *claude.Launch) (claude.Conn, error) {
	fromSDK, toCLI := io.Pipe()
	fromCLI, toSDK := io.Pipe()
	c := &tapeConn{Reader: fromCLI, WriteCloser: toCLI, stop: func() { fromSDK.Close(); toSDK.Close() }, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		defer toSDK.Close()
		in := ndjson.NewReader(fromSDK)
		line, err := in.Next()
		if err != nil {
			return
		}
		f, _ := wire.Parse(line)
		r, _ := f.Request()
		reply, _ := wire.EncodeSuccess(r.ID, json.RawMessage(`{"claude_code_version":"2.1.325"}`))
		fmt.Fprintf(toSDK, "%s\n", reply)
		heard := make(chan struct{})
		go func() {
			defer close(heard)
			for err == nil {
				_, err = in.Next()
			}
		}()
		for _, line := range tp.lines {
			tp.put(toSDK, line)
		}
		<-heard
	}()
	return c, nil
}

type tapeConn struct {
	claude.NoProcess
	io.Reader
	io.WriteCloser
	stop func()
	done chan struct{}
}

func (c *tapeConn) CloseWrite() error { return c.WriteCloser.Close() }
func (c *tapeConn) Stop() error       { c.stop(); <-c.done; return nil }

func (c *tapeConn) Kill() error { return c.Stop() }
func (c *tapeConn) Wait() error { <-c.done; return nil }

// heard plays lines through a session and returns the messages that come out.
func heard(t *testing.T, n int, tp *tape) []message.Message {
	t.Helper()
	s, err := claude.Connect(t.Context(), &claude.Options{Transport: tp, SessionStates: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var all []message.Message
	if n == 0 {
		return nil
	}
	for m, err := range s.Messages(t.Context()) {
		if err != nil {
			t.Fatalf("after %d of %d messages: %v", len(all), n, err)
		}
		if all = append(all, m); len(all) == n {
			break
		}
	}
	return all
}

// isMessage reports whether a line is for the user of a session.
func isMessage(line []byte) bool {
	f, err := wire.Parse(line)
	return err == nil && !strings.HasPrefix(f.Type, "control_") && f.Type != wire.TypeKeepAlive
}

// same compares a message with its line: nothing of it may be lost.
func same(t *testing.T, line []byte, m message.Message) {
	t.Helper()
	if !bytes.Equal(m.Head().Raw, line) {
		t.Errorf("line\n%s\ncame as\n%s", line, m.Head().Raw)
		return
	}
	want, err := message.Decode(line)
	if err != nil {
		t.Errorf("%s: %v", line, err)
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("%s was decoded as %+v, want %+v", line, m, want)
	}
}

// Recorded sessions come through the SDK whole, whatever way their bytes
// arrive: byte by byte, in pieces of any size, all at once.
func TestSessionsChunked(t *testing.T) {
	for name, tr := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			var lines, messages [][]byte
			for _, e := range tr.Entries() {
				f, err := wire.Parse(e.Msg)
				if e.Dir != claudetest.DirOut || err != nil || f.Type == wire.TypeResponse {
					continue // replies belong to requests that are not sent here
				}
				lines = append(lines, e.Msg)
				if isMessage(e.Msg) {
					messages = append(messages, e.Msg)
				}
			}
			sizes := []int{stride(), 61, 1 << 30}
			if long.Enabled() {
				sizes = append(sizes, 2*stride(), 3*stride(), 7, 4096)
			}
			for _, size := range sizes {
				got := heard(t, len(messages), &tape{lines: []([]byte){slices.Concat(bytes.Join(lines, []byte("\n")), []byte("\n"))}, put: func(w io.Writer, all []byte) {
					for piece := range slices.Chunk(all, size) {
						w.Write(piece)
					}
				}})
				for i, m := range got {
					same(t, messages[i], m)
				}
			}
		})
	}
}

// shape distinguishes lines by their members, not their values: two lines of one
// shape are the same test.
func shape(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var b strings.Builder
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if k == "type" || k == "subtype" {
				fmt.Fprintf(&b, "%s=%v", k, v[k])
			}
			b.WriteString(k + ":" + shape(v[k]) + ",")
		}
		return "{" + b.String() + "}"
	case []any:
		if len(v) > 0 {
			return "[" + shape(v[0]) + "]"
		}
	}
	return fmt.Sprintf("%T", v)
}

// Every message of every shape survives being cut at every byte, and one that
// is longer than 64 KiB at many.
func TestSessionsEverySplit(t *testing.T) {
	seen := make(map[string]bool)
	var lines [][]byte
	for _, tr := range recordings(t) {
		for _, e := range tr.Entries() {
			var v any
			if e.Dir != claudetest.DirOut || !isMessage(e.Msg) || json.Unmarshal(e.Msg, &v) != nil || seen[shape(v)] {
				continue
			}
			seen[shape(v)] = true
			lines = append(lines, e.Msg)
		}
	}
	if len(lines) < 50 {
		t.Fatalf("%d shapes of messages, want many", len(lines))
	}
	long := []byte(`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"` + strings.Repeat("é", 100<<10) + `"}]}}`)
	splits := 0
	for _, line := range append(lines, long) {
		step := stride()
		if len(line) > 64<<10 {
			step = len(line) / 40
		}
		var cuts []int
		for i := 0; i <= len(line); i += step {
			cuts = append(cuts, i)
		}
		n := 0
		got := heard(t, len(cuts), &tape{lines: slices.Repeat([][]byte{line}, len(cuts)), put: func(w io.Writer, line []byte) {
			cut := cuts[n]
			n++
			w.Write(line[:cut])
			w.Write(append(slices.Clone(line[cut:]), '\n'))
		}})
		for i, m := range got {
			if !bytes.Equal(m.Head().Raw, line) {
				t.Fatalf("cut at %d:\n%s\ncame as\n%s", cuts[i], line, m.Head().Raw)
			}
		}
		same(t, line, got[len(got)-1])
		splits += len(cuts)
	}
	t.Logf("%d shapes, %d splits", len(lines), splits)
}
