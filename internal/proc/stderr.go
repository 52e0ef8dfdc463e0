package proc

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/claude-agent-go/claude/internal/secret"
)

const (
	maxTail  = 16 << 10 // of text shown
	maxLine  = 64 << 10 // of one line given to the callback
	maxQueue = 1 << 20  // bytes of lines that wait for the callback
	maxLines = 1 << 10  // lines that wait for the callback
)

// readStderr reads standard error to its end. It is always running while the
// child lives: a child whose standard error is full stops.
func (p *Process) readStderr(lines *lineQueue, to io.Writer) {
	defer close(p.errEnded)
	defer p.stderr.Close()
	defer lines.end()
	chunk := make([]byte, 32<<10)
	for {
		n, err := p.stderr.Read(chunk)
		p.tail.Write(chunk[:n])
		lines.write(chunk[:n])
		if to != nil && n > 0 {
			if _, failed := to.Write(chunk[:n]); failed != nil {
				return
			}
		}
		if err != nil {
			// The end, or the deadline that is set after the exit.
			return
		}
	}
}

// tail keeps the end of standard error.
type tail struct {
	redact *secret.Set
	keep   int // bytes to keep: more than is shown, so that no secret is cut

	mu  sync.Mutex
	buf []byte
	cut bool // bytes before buf were dropped
}

func newTail(r *secret.Set) *tail {
	return &tail{redact: r, keep: 2*maxTail + r.Longest()}
}

// Write keeps the end of b. It never fails.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if len(t.buf) > 2*t.keep {
		n := copy(t.buf, t.buf[len(t.buf)-t.keep:])
		t.buf = t.buf[:n]
		t.cut = true
	}
	return len(b), nil
}

// String returns the end of the text as [Process.StderrTail] promises it.
func (t *tail) String() string {
	t.mu.Lock()
	b, cut := bytes.Clone(t.buf), t.cut
	t.mu.Unlock()
	if cut {
		b = b[t.redact.AfterCut(b):]
	}
	return lastText(t.redact.Tail(b), maxTail)
}

// lastText returns the end of s, at most n bytes, from the start of a line if
// there is one, else from the start of a character.
func lastText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	before, s := s[:len(s)-n], s[len(s)-n:]
	if strings.HasSuffix(before, "\n") {
		return s
	}
	if i := strings.IndexByte(s, '\n'); i >= 0 && i+1 < len(s) {
		return s[i+1:]
	}
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	return s
}

// lineQueue cuts standard error into lines and hands them to the callback, which
// runs in a goroutine of its own and cannot block the reading.
type lineQueue struct {
	call   func(line string)
	redact *secret.Set
	log    *slog.Logger

	line      []byte // the beginning of the line that is being read
	truncated int    // bytes of it that were not kept
	queue     chan string
	waiting   atomic.Int64 // bytes in queue
	dropped   int
}

// newLineQueue returns nil when there is no callback; a nil lineQueue does nothing.
func newLineQueue(call func(line string), r *secret.Set, log *slog.Logger) *lineQueue {
	if call == nil {
		return nil
	}
	l := &lineQueue{call: call, redact: r, log: log, queue: make(chan string, maxLines)}
	go l.run()
	return l
}

// write takes the next bytes.
func (l *lineQueue) write(b []byte) {
	if l == nil {
		return
	}
	for len(b) > 0 {
		part, rest, whole := bytes.Cut(b, []byte{'\n'})
		// More than a line's worth is kept, so that a secret that crosses the
		// limit is still known as one.
		room := min(maxLine+l.redact.Longest()-len(l.line), len(part))
		l.line = append(l.line, part[:room]...)
		l.truncated += len(part) - room
		if whole {
			l.flush()
		}
		b = rest
	}
}

// flush hands over the complete line. A line that is too long ends with a note of
// how much is missing.
func (l *lineQueue) flush() {
	raw, beyond := bytes.TrimSuffix(l.line, []byte{'\r'}), l.truncated
	l.line, l.truncated = l.line[:0], 0
	if beyond > 0 {
		whole := wholeRunes(raw)
		raw, beyond = whole, beyond+len(raw)-len(whole)
	}
	if len(l.queue) == maxLines || l.waiting.Load()+int64(min(len(raw), maxLine)) > maxQueue {
		l.drop() // before the work that a flood of lines would cost
		return
	}
	text := l.redact.Tail(raw)
	line := firstText(text, maxLine)
	if beyond += len(text) - len(line); beyond > 0 {
		line += fmt.Sprintf(" … (%d more bytes)", beyond)
	}
	l.waiting.Add(int64(len(line)))
	select {
	case l.queue <- line:
	default:
		l.waiting.Add(-int64(len(line)))
		l.drop()
	}
}

// wholeRunes returns b without a character at its end that is there in part.
func wholeRunes(b []byte) []byte {
	for i := len(b) - 1; i >= max(0, len(b)-utf8.UTFMax+1); i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}

// firstText returns the beginning of s, at most n bytes, whole characters only.
func firstText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func (l *lineQueue) drop() {
	if l.dropped == 0 {
		l.log.Warn("stderr callback is slow, dropping lines")
	}
	l.dropped++
}

// end hands over a last line without a line end and closes the queue.
func (l *lineQueue) end() {
	if l == nil {
		return
	}
	if len(l.line) > 0 {
		l.flush()
	}
	if l.dropped > 0 {
		l.log.Warn("stderr callback was slow, lines were dropped", "count", l.dropped)
	}
	close(l.queue)
}

// run calls the callback until the queue is closed and empty.
func (l *lineQueue) run() {
	for line := range l.queue {
		l.waiting.Add(-int64(len(line)))
		l.callSafely(line)
	}
}

// callSafely keeps a panic of the callback from ending the program.
func (l *lineQueue) callSafely(line string) {
	defer func() {
		if r := recover(); r != nil {
			l.log.Error("stderr callback panicked", "panic", r, "stack", string(debug.Stack()))
		}
	}()
	l.call(line)
}

var _ io.Writer = (*tail)(nil)
