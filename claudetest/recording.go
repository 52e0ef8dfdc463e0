package claudetest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Dir is the direction of a line of a [Recording].
type Dir string

// The directions. DirMeta is about the process: its command line, its end.
const (
	DirIn   Dir = "in"  // to the CLI
	DirOut  Dir = "out" // from the CLI
	DirMeta Dir = "meta"
)

// RecordingEntry is one line of a session.
type RecordingEntry struct {
	Dir Dir `json:"dir"`
	// TMS is the time in milliseconds since the start.
	TMS int64 `json:"t_ms"`
	// Msg is the line. A line that is not JSON is {"_raw": "the text"}, and
	// the end of the input is {"_eof": true}.
	Msg json.RawMessage `json:"msg"`
}

// Recording holds the lines of a session in both directions. It may be read
// while the session runs.
type Recording struct {
	began time.Time
	each  func(RecordingEntry) // sees every entry, in order

	mu      sync.Mutex
	entries []RecordingEntry
}

func newRecording() *Recording { return &Recording{began: time.Now()} }

// NewRecording returns a transcript of the given lines.
func NewRecording(entries ...RecordingEntry) *Recording {
	t := newRecording()
	t.entries = slices.Clone(entries)
	return t
}

// ReadRecording reads a transcript in the form that [Record] writes: one JSON
// object per line.
func ReadRecording(r io.Reader) (*Recording, error) {
	t := newRecording()
	lines := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if text := bytes.TrimSpace(line); len(text) > 0 {
			var e RecordingEntry
			if bad := jsonx.Unmarshal(text, &e); bad != nil {
				return nil, fmt.Errorf("claudetest: recording: line %d: %w", n, bad)
			}
			if e.Dir != DirIn && e.Dir != DirOut && e.Dir != DirMeta || len(e.Msg) == 0 {
				return nil, fmt.Errorf("claudetest: recording: line %d: no dir and msg", n)
			}
			t.entries = append(t.entries, e)
		}
		if err == io.EOF {
			return t, nil
		}
		if err != nil {
			return nil, fmt.Errorf("claudetest: recording: %w", err)
		}
	}
}

// Entries returns the lines so far.
func (t *Recording) Entries() []RecordingEntry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.entries)
}

// WriteTo writes the recording, one JSON object per line.
func (t *Recording) WriteTo(w io.Writer) (n int64, err error) {
	for _, e := range t.Entries() {
		line, err := jsonx.Marshal(e)
		if err != nil {
			return n, err
		}
		k, err := w.Write(append(line, '\n'))
		if n += int64(k); err != nil {
			return n, err
		}
	}
	return n, nil
}

func (t *Recording) add(dir Dir, line []byte) {
	msg := json.RawMessage(bytes.Clone(line))
	if !jsonx.Valid(msg) {
		raw, err := jsonx.Marshal(map[string]string{"_raw": string(line)})
		if err != nil {
			return
		}
		msg = raw
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e := RecordingEntry{dir, time.Since(t.began).Milliseconds(), msg}
	t.entries = append(t.entries, e)
	if t.each != nil {
		t.each(e)
	}
}

// tap returns a writer that notes each line before it is passed on.
func (t *Recording) tap(dir Dir, next io.WriteCloser) io.WriteCloser {
	return &tap{t: t, dir: dir, next: next}
}

// tap notes the lines that go through it.
type tap struct {
	t    *Recording
	dir  Dir
	next io.WriteCloser

	mu   sync.Mutex
	rest []byte
	end  sync.Once
}

func (w *tap) Write(b []byte) (int, error) {
	w.note(b)
	return w.next.Write(b)
}

// note takes bytes and adds the lines that are whole.
func (w *tap) note(b []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, b...)
	for {
		line, rest, ok := bytes.Cut(w.rest, []byte("\n"))
		if !ok {
			return
		}
		w.rest = rest
		if line = bytes.TrimSuffix(line, []byte("\r")); len(line) > 0 {
			w.t.add(w.dir, line)
		}
	}
}

func (w *tap) Close() error {
	w.end.Do(func() {
		if w.dir == DirIn {
			w.t.add(DirIn, []byte(`{"_eof":true}`))
		}
	})
	return w.next.Close()
}
