package claude

import (
	"fmt"
	"sync"
	"time"
)

// Trace is a set of functions that are told what happens in a session, in the
// manner of net/http/httptrace. Any may be nil. They are called one at a time
// and in order, in a goroutine of their own: a slow one delays the others and
// not the session. Past 64 MiB of unseen frames, frames are left out.
type Trace struct {
	// StateChanged is told of each change of Session.State.
	StateChanged func(from, to State)
	// FrameRead and FrameWritten see every line, without its line feed. They
	// must not change it.
	FrameRead    func(line []byte)
	FrameWritten func(line []byte)
	// CallbackStarted and CallbackDone frame each hook, permission and other
	// call of user code.
	CallbackStarted func(TraceCallback)
	CallbackDone    func(TraceCallback)
	// RequestDone is told of each control operation that ended.
	RequestDone func(TraceRequest)
	// Diagnostic is told of what was wrong without being fatal: lines that
	// are no frames, fields of another kind, frames left out.
	Diagnostic func(Diagnostic)
}

// TraceCallback is one call of user code.
type TraceCallback struct {
	Subtype   string // of the CLI's request: "hook_callback", "can_use_tool" …
	Name      string // the hook's event, the tool's name …
	RequestID string
	Duration  time.Duration // once it is done
	Err       error         // why it failed
}

// TraceRequest is one control operation.
type TraceRequest struct {
	Op        string
	RequestID string
	Duration  time.Duration
	Err       error
}

// Diagnostic is something odd that did not end the session.
type Diagnostic struct {
	Err   error
	Line  []byte // the line, or its head when it was dropped; may be nil
	Count int    // diagnostics so far, this one included
}

// traceBound is how many bytes of frames may wait for a slow Trace.
const traceBound = 64 << 20

// tracer calls a Trace off the paths it watches. A nil tracer does nothing.
type tracer struct {
	trace *Trace
	wake  chan struct{}
	done  chan struct{}

	mu      sync.Mutex
	queue   []traced
	bytes   int
	skipped int
	ended   bool
}

type traced struct {
	call func()
	size int
}

func newTracer(t *Trace) *tracer {
	if t == nil {
		return nil
	}
	tr := &tracer{trace: t, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go tr.run()
	return tr
}

// add queues a call. Frames have a size and may be left out.
func (tr *tracer) add(size int, call func()) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if tr.ended {
		return
	}
	if size > 0 && tr.bytes+size > traceBound {
		tr.skipped++
		return
	}
	tr.queue = append(tr.queue, traced{call, size})
	tr.bytes += size
	tr.signal()
}

func (tr *tracer) signal() {
	select {
	case tr.wake <- struct{}{}:
	default:
	}
}

// end lets run return once it has called what is queued.
func (tr *tracer) end() {
	if tr == nil {
		return
	}
	tr.mu.Lock()
	skipped := tr.skipped
	tr.mu.Unlock()
	if skipped > 0 {
		tr.diagnostic(Diagnostic{Err: fmt.Errorf("%d frames were left out of the trace", skipped), Count: 1})
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.ended = true
	tr.signal()
}

// wait blocks until everything was called.
func (tr *tracer) wait() {
	if tr != nil {
		<-tr.done
	}
}

func (tr *tracer) run() {
	defer close(tr.done)
	for {
		tr.mu.Lock()
		queue, ended := tr.queue, tr.ended
		tr.queue = nil
		tr.mu.Unlock()
		for _, t := range queue {
			t.call()
			tr.mu.Lock()
			tr.bytes -= t.size
			tr.mu.Unlock()
		}
		if len(queue) == 0 {
			if ended {
				return
			}
			<-tr.wake
		}
	}
}

func (tr *tracer) state(from, to State) {
	if tr != nil && tr.trace.StateChanged != nil {
		tr.add(0, func() { tr.trace.StateChanged(from, to) })
	}
}

// reads returns the function that sees lines read, nil if nobody wants them.
func (tr *tracer) reads() func([]byte) {
	if tr == nil {
		return nil
	}
	return tr.frames(tr.trace.FrameRead)
}

// writes returns the function that sees lines written, nil if nobody wants them.
func (tr *tracer) writes() func([]byte) {
	if tr == nil {
		return nil
	}
	return tr.frames(tr.trace.FrameWritten)
}

func (tr *tracer) frames(f func([]byte)) func([]byte) {
	if f == nil {
		return nil
	}
	return func(line []byte) { tr.add(len(line), func() { f(line) }) }
}

func (tr *tracer) callbackStarted(c TraceCallback) {
	if tr != nil && tr.trace.CallbackStarted != nil {
		tr.add(0, func() { tr.trace.CallbackStarted(c) })
	}
}

func (tr *tracer) callbackDone(c TraceCallback) {
	if tr != nil && tr.trace.CallbackDone != nil {
		tr.add(0, func() { tr.trace.CallbackDone(c) })
	}
}

func (tr *tracer) requestDone(r TraceRequest) {
	if tr != nil && tr.trace.RequestDone != nil {
		tr.add(0, func() { tr.trace.RequestDone(r) })
	}
}

func (tr *tracer) diagnostic(d Diagnostic) {
	if tr != nil && tr.trace.Diagnostic != nil {
		tr.add(0, func() { tr.trace.Diagnostic(d) })
	}
}
