package tee

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/ndjson"
	"github.com/claude-agent-go/claude/internal/secret"
)

const (
	// maxWaiting bounds the bytes that wait for the disk.
	maxWaiting = 64 << 20

	// closeTimeout is how long the end waits for a disk that takes nothing.
	closeTimeout = 5 * time.Second

	// headSize is how much is kept of a line that is too long.
	headSize = 64 << 10

	// dirStderr marks standard error, which the format knows as a note about
	// the process.
	dirStderr claudetest.Dir = "stderr"
)

// errSlow means that the disk did not take everything in time.
var errSlow = errors.New("the recording was not written in time")

// event is something to write down.
type event struct {
	dir  claudetest.Dir
	at   time.Duration
	data []byte // bytes of a stream, or a whole message of DirMeta
	lost int64  // instead: bytes that are missing
	end  bool   // the stream has ended
}

// recorder writes a recording. Its methods never wait for the disk.
type recorder struct {
	w       io.Writer
	secrets *secret.Set
	began   time.Time
	limit   int

	mu      sync.Mutex
	waiting []event
	size    int // bytes of waiting
	closed  bool

	written atomic.Int64 // entries

	wake chan struct{} // one slot: something waits
	done chan struct{} // closed when all is written

	// For the goroutine that writes.
	lines map[claudetest.Dir]*line
	hider *secret.Lines[about] // nil if nothing is hidden
	err   error
	lost  int64 // bytes that were left out
}

// line is the line of a stream that is not complete yet.
type line struct {
	data      []byte
	size      int
	truncated bool // its beginning is missing
}

// about holds the data that are written beside a line.
type about struct {
	at  time.Duration
	dir claudetest.Dir
}

func newRecorder(w io.Writer, secrets *secret.Set) *recorder {
	r := &recorder{
		w: w, secrets: secrets, began: time.Now(), limit: maxWaiting,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
		lines: map[claudetest.Dir]*line{claudetest.DirIn: {}, claudetest.DirOut: {}, dirStderr: {}},
	}
	if secrets != nil {
		r.hider = secret.NewLines(secrets, r.put)
	}
	return r
}

// start starts to write.
func (r *recorder) start() { go r.run() }

// record takes bytes of a stream. It keeps a copy.
func (r *recorder) record(dir claudetest.Dir, b []byte) {
	if len(b) > 0 {
		r.add(event{dir: dir, data: bytes.Clone(b)})
	}
}

// end notes that a stream has ended.
func (r *recorder) end(dir claudetest.Dir) { r.add(event{dir: dir, end: true}) }

func (r *recorder) argv(args []string) { r.meta(map[string]any{"argv": args}) }

func (r *recorder) exit(res *Result) {
	r.end(dirStderr)
	m := map[string]any{"exit_code": res.Code}
	if res.Signal != nil {
		m["signal"] = res.Signal.String()
	}
	r.meta(m)
}

func (r *recorder) meta(m map[string]any) {
	if data, err := jsonx.Marshal(m); err == nil { // it is made of texts and numbers
		r.add(event{dir: claudetest.DirMeta, data: data})
	}
}

func (r *recorder) add(e event) {
	e.at = time.Since(r.began)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if r.size+len(e.data) > r.limit && e.dir != claudetest.DirMeta {
		e.lost, e.data = int64(len(e.data)), nil
		if n := len(r.waiting); n > 0 && r.waiting[n-1].lost > 0 && r.waiting[n-1].dir == e.dir {
			r.waiting[n-1].lost += e.lost
			return
		}
	}
	r.size += len(e.data)
	r.waiting = append(r.waiting, e)
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// close waits until everything is written, for a while, and returns what went
// wrong.
func (r *recorder) close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
	for before := int64(-1); ; {
		select {
		case <-r.done:
		case <-time.After(closeTimeout):
			now := r.written.Load()
			if now != before {
				before = now
				continue // it is slow, but at it
			}
			return errSlow
		}
		break
	}
	if r.err == nil && r.lost > 0 {
		return fmt.Errorf("%w: %d bytes are missing", errSlow, r.lost)
	}
	return r.err
}

// run writes until the recorder is closed.
func (r *recorder) run() {
	defer close(r.done)
	for range r.wake {
		r.mu.Lock()
		events, closed := r.waiting, r.closed
		r.waiting = nil
		r.mu.Unlock()
		for _, e := range events {
			r.handle(e)
			r.mu.Lock()
			r.size -= len(e.data)
			r.mu.Unlock()
		}
		if closed {
			if r.hider != nil {
				r.hider.End()
			}
			return
		}
	}
}

// handle writes what an event completes.
func (r *recorder) handle(e event) {
	l := r.lines[e.dir]
	switch {
	case e.lost > 0:
		r.lost += e.lost
		l.truncated, l.data, l.size = true, nil, 0
		r.write(e.at, claudetest.DirMeta, fmt.Appendf(nil, `{"lost_bytes":%d,"dir":%q}`, e.lost, e.dir))
	case e.end:
		r.flush(e, l)
		if e.dir == claudetest.DirIn {
			r.write(e.at, claudetest.DirIn, []byte(`{"_eof":true}`))
		}
	case e.dir == claudetest.DirMeta:
		r.write(e.at, e.dir, e.data)
	default:
		for data := e.data; len(data) > 0; {
			part, rest, whole := bytes.Cut(data, []byte("\n"))
			l.size += len(part)
			if room := ndjson.DefaultLimit - len(l.data); room > 0 && !l.truncated {
				l.data = append(l.data, part[:min(len(part), room)]...)
			}
			if whole {
				r.flush(e, l)
			}
			data = rest
		}
	}
}

// flush writes a line that is complete.
func (r *recorder) flush(e event, l *line) {
	data, size, torn := bytes.TrimSuffix(l.data, []byte("\r")), l.size, l.truncated
	*l = line{}
	if torn || len(bytes.TrimSpace(data)) == 0 {
		return
	}
	if e.dir == dirStderr {
		r.write(e.at, claudetest.DirMeta, object("stderr", r.head(data)))
		return
	}
	switch {
	case size > len(data)+1: // more than its carriage return is missing
		data = object("_raw", r.headJSON(data, headSize)+fmt.Sprintf("… (%d bytes)", size))
	case !jsonx.Valid(data):
		data = object("_raw", r.headJSON(data, len(data)))
	}
	r.write(e.at, e.dir, data)
}

// head is the beginning of a line of text. Secrets are hidden before it is cut,
// because a part of one could not be found.
func (r *recorder) head(data []byte) string {
	if r.secrets == nil {
		return string(data[:min(len(data), headSize)])
	}
	return r.secrets.Head(data, headSize)
}

// headJSON is head, of n bytes, for a line that is JSON or should have been.
func (r *recorder) headJSON(data []byte, n int) string {
	if r.secrets == nil {
		return string(data[:n])
	}
	return r.secrets.HeadJSON(data, n)
}

func object(name, text string) []byte {
	data, err := jsonx.Marshal(map[string]string{name: text})
	if err != nil {
		return []byte(`{}`)
	}
	return data
}

// write writes an entry without its secrets, when all of them can be seen.
func (r *recorder) write(at time.Duration, dir claudetest.Dir, msg json.RawMessage) {
	switch a := (about{at, dir}); {
	case r.hider == nil:
		r.put(a, msg)
	case dir == claudetest.DirOut:
		r.hider.Next(a, msg)
	default:
		r.hider.Other(a, msg)
	}
}

// put writes an entry, unless an earlier one could not be written.
func (r *recorder) put(a about, msg []byte) {
	if r.err != nil {
		return
	}
	data, err := jsonx.Marshal(claudetest.RecordingEntry{Dir: a.dir, TMS: a.at.Milliseconds(), Msg: msg})
	if err == nil {
		_, err = r.w.Write(append(data, '\n'))
	}
	r.err = err
	r.written.Add(1)
}
