package claudetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"
)

// Fault is something that goes wrong at a known moment: before the CLI writes
// line number Line, counted from 1, or, if Line is 0, before anything else.
// The parts of a Fault happen in the order of its fields.
type Fault struct {
	Line int `json:"line"`
	// Pause waits before continuing.
	Pause time.Duration `json:"-"`
	// Stderr is written to standard error. StderrBytes repeats it until that
	// many bytes are written.
	Stderr      string `json:"stderr"`
	StderrBytes int    `json:"stderr_bytes"`
	// Garbage is written as a line of text that is not a frame.
	Garbage string `json:"garbage"`
	// Oversized writes a line of this many bytes.
	Oversized int `json:"oversized"`
	// Half writes the beginning of a line, without a line feed.
	Half string `json:"half"`
	// Silent stops all output while the CLI stays alive.
	Silent bool `json:"silent"`
	// Signal ends the process with that signal: "KILL", "TERM", "SEGV". A CLI
	// in this process ends with the code that a shell would report.
	Signal string `json:"signal"`
	// Exit ends the process with a code.
	Exit *int `json:"exit"`
}

// errGone is the error of writes by a process that has ended.
var errGone = errors.New("the process has ended")

// faultyWriter is standard output of a scripted CLI. Each Write is a line.
//
// The lock is a channel of one slot, not a mutex: it is held over pauses and
// over writes that wait for a reader, which a bubble of testing/synctest must
// see as waiting.
type faultyWriter struct {
	p      *process
	ctx    context.Context // ends with the process
	cancel context.CancelCauseFunc
	lock   chan struct{}

	faults []Fault
	lines  int
	silent bool
	gone   bool
	held   bytes.Buffer // lines that are to be glued to the next
}

func newFaultyWriter(ctx context.Context, cancel context.CancelCauseFunc, p *process) *faultyWriter {
	return &faultyWriter{p: p, ctx: ctx, cancel: cancel, lock: make(chan struct{}, 1), faults: slices.Clone(p.script.Faults)}
}

// acquire takes the lock, unless the process ends first.
func (w *faultyWriter) acquire() error {
	select {
	case w.lock <- struct{}{}:
		return nil
	case <-w.ctx.Done():
		return errGone
	}
}

func (w *faultyWriter) release() { <-w.lock }

// begin lets the faults of the start happen.
func (w *faultyWriter) begin() {
	if w.acquire() != nil {
		return
	}
	defer w.release()
	_ = w.applyFaults(0)
	if w.p.script.Grandchild && w.p.signal != nil {
		holdPipes()
	}
}

func (w *faultyWriter) Write(line []byte) (int, error) {
	if err := w.acquire(); err != nil {
		return 0, err
	}
	defer w.release()
	w.lines++
	if err := w.applyFaults(w.lines); err != nil {
		return 0, err
	}
	if w.silent {
		return len(line), nil
	}
	if w.p.script.Glue {
		w.held.Write(line)
		if !awaited(line) {
			return len(line), nil
		}
		glued := bytes.Clone(w.held.Bytes())
		w.held.Reset()
		return len(line), w.put(glued)
	}
	return len(line), w.put(line)
}

// awaited reports whether the client may be waiting for a line. Others can be
// held back for the next one.
func awaited(line []byte) bool {
	for _, kind := range []string{`"type":"control_`, `"type":"result"`, `"type":"command_lifecycle"`} {
		if bytes.Contains(line, []byte(kind)) {
			return true
		}
	}
	return false
}

// flush writes the bytes that are held back.
func (w *faultyWriter) flush() {
	if w.acquire() != nil {
		return
	}
	defer w.release()
	if !w.silent && !w.gone {
		_ = w.put(w.held.Bytes())
		w.held.Reset()
	}
}

// put writes bytes, in pieces if the script sets a size.
func (w *faultyWriter) put(b []byte) error {
	size := w.p.script.Chunk
	if size <= 0 {
		size = len(b)
	}
	for len(b) > 0 {
		n := min(size, len(b))
		if _, err := w.p.stdout.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// applyFaults lets the faults of a line happen.
func (w *faultyWriter) applyFaults(line int) error {
	for i := range w.faults {
		f := &w.faults[i]
		if w.gone {
			return errGone
		}
		if f.Line != line {
			continue
		}
		if err := w.happen(f); err != nil {
			return err
		}
	}
	return nil
}

func (w *faultyWriter) happen(f *Fault) error {
	if f.Pause > 0 && !pause(w.ctx, f.Pause) {
		return errGone
	}
	w.complain(f)
	var junk []byte
	if f.Garbage != "" {
		junk = append(junk, f.Garbage+"\n"...)
	}
	if f.Oversized > 0 {
		junk = append(junk, `{"type":"oversized","text":"`...)
		junk = append(junk, strings.Repeat("x", f.Oversized)...)
		junk = append(junk, `"}`+"\n"...)
	}
	junk = append(junk, f.Half...)
	if err := w.put(junk); err != nil {
		return err
	}
	w.silent = w.silent || f.Silent
	if f.Signal != "" {
		if w.p.signal != nil {
			w.p.signal(f.Signal)
		}
		return w.end(128 + signalNumber(f.Signal))
	}
	if f.Exit != nil {
		return w.end(*f.Exit)
	}
	return nil
}

// complain writes to standard error.
func (w *faultyWriter) complain(f *Fault) {
	text := f.Stderr
	if text == "" && f.StderrBytes > 0 {
		text = "flood\n"
	}
	for n := 0; text != "" && (n == 0 || n < f.StderrBytes); n += len(text) {
		if _, err := io.WriteString(w.p.stderr, text); err != nil {
			return
		}
	}
}

// end ends the process with a code.
func (w *faultyWriter) end(code int) error {
	w.gone = true
	w.cancel(&exit{code: code})
	return errGone
}

func signalNumber(name string) int {
	return map[string]int{"HUP": 1, "INT": 2, "QUIT": 3, "ABRT": 6, "KILL": 9, "SEGV": 11, "TERM": 15}[name]
}

// faultyReader is standard input of a scripted CLI.
type faultyReader struct {
	p   *process
	ctx context.Context
}

func (r *faultyReader) Read(b []byte) (int, error) {
	if d := r.p.script.SlowRead; d > 0 {
		pause(r.ctx, d)
		b = b[:min(len(b), slowPiece)]
	}
	return r.p.stdin.Read(b)
}

// slowPiece is how much a slow reader takes at once.
const slowPiece = 512
