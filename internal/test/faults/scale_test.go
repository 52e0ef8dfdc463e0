package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/message"
)

// heap returns the bytes alive after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC() // finalizers of the first free more
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Idle sessions cost little, and closing them all at once leaves nothing.
func TestManySessions(t *testing.T) {
	leak.Check(t)
	const n = 500
	cli := claudetest.New()
	before, memory := runtime.NumGoroutine(), heap()
	sessions := make([]*claude.Session, n)
	for i := range sessions {
		s, err := claude.Connect(t.Context(), &claude.Options{Transport: cli})
		if err != nil {
			t.Fatal(err)
		}
		sessions[i] = s
	}
	// Both sides of the session are counted here: the scripted CLI is half.
	if each := (runtime.NumGoroutine() - before) / n; each > 10 {
		t.Errorf("%d goroutines for each idle session and its CLI", each)
	}
	if each := (heap() - memory) / n; each > 400<<10 {
		t.Errorf("%d bytes for each idle session and its CLI", each)
	}
	closed := make(chan error, n)
	for _, s := range sessions {
		go func() { closed <- s.Close() }()
	}
	for range n {
		if err := <-closed; err != nil {
			t.Errorf("Close = %v", err)
		}
	}
	for _, s := range sessions {
		s.Wait()
	}
}

// endless is a CLI that has said a number of messages and their result, and
// keeps nothing.
type endless struct {
	claude.NoProcess
	messages int
	sent     int
	rest     []byte
	stop     sync.Once
	done     chan struct{}
	asked    chan struct{}
}

func (e *endless) Start(context.Context, *claude.Launch) (claude.Conn, error) { return e, nil }

func (e *endless) Read(p []byte) (int, error) {
	if len(e.rest) == 0 {
		select {
		case <-e.asked:
		case <-e.done:
			return 0, io.EOF
		}
		switch {
		case e.sent < e.messages:
			e.rest = fmt.Appendf(e.rest[:0], `{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"message %d"}]}}`+"\n", e.sent)
		case e.sent == e.messages:
			e.rest = []byte(`{"type":"result","subtype":"success","result":"done"}` + "\n")
		default: // it ends, as there is nothing more to send
			_ = e.Stop()
			return 0, io.EOF
		}
		e.sent++
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func (e *endless) Write(p []byte) (int, error) { return len(p), nil }

func (e *endless) CloseWrite() error {
	select {
	case <-e.asked:
	default:
		close(e.asked) // the one prompt is written
	}
	return nil
}

func (e *endless) Stop() error {
	e.stop.Do(func() { close(e.done) })
	return nil
}

func (e *endless) Kill() error { return e.Stop() }

func (e *endless) Wait() error { <-e.done; return nil }

// A long session keeps nothing of what it has handed out.
func TestManyMessages(t *testing.T) {
	n := long.Pick(20_000, 100_000)
	e := &endless{messages: n, done: make(chan struct{}), asked: make(chan struct{})}
	var early int64
	seen := 0
	for m, err := range claude.Query(t.Context(), "talk", &claude.Options{Transport: e}) {
		if err != nil {
			t.Fatal(err)
		}
		seen++
		if seen == n/10 {
			early = heap()
		}
		if _, ok := m.(*message.Result); ok {
			break
		}
	}
	if late := heap(); late-early > 4<<20 {
		t.Errorf("%d bytes alive after %d messages, %d after %d", late, n, early, n/10)
	}
	if seen != n+1 {
		t.Errorf("%d messages, want %d", seen, n+1)
	}
}

// Sessions that come and go leave nothing behind.
func TestManyCycles(t *testing.T) {
	cycle := func() {
		r, err := claude.Ask(t.Context(), "hi", &claude.Options{Transport: claudetest.New(claudetest.Say("hello"))})
		if err != nil || r.Text != "hello" {
			t.Fatalf("Ask = %v, %v", r, err)
		}
	}
	for range 100 {
		cycle()
	}
	memory, goroutines := heap(), runtime.NumGoroutine()
	n := long.Pick(300, 1000)
	for range n {
		cycle()
	}
	if grown := heap() - memory; grown > int64(n)<<10 {
		t.Errorf("%d bytes more alive after %d sessions", grown, n)
	}
	if grown := runtime.NumGoroutine() - goroutines; grown > 10 { // some are on their way out
		t.Errorf("%d goroutines more after %d sessions", grown, n)
	}
}
