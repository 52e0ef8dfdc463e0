package inbox_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/inbox"
)

// A loop that never stops reading loses nothing, however fast the wire is; one
// that stops does not block the reader.
func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inbox.New(100 << 10)
		f := frame(t, `{"type":"stream_event","x":"`+strings.Repeat("x", 1000)+`"}`)
		b.Acquire()
		const n = 1000
		got := make(chan int, 1)
		go func() {
			count := 0
			for ; count < n; count++ {
				if count%10 == 9 {
					<-time.After(time.Millisecond)
				}
				if _, err := b.Next(t.Context()); err != nil {
					t.Error(err)
					break
				}
			}
			got <- count
		}()
		for i := range n {
			b.Put(f)
			if i%20 == 19 {
				b.Flush()
				b.Throttle()
			}
		}
		if count := <-got; count != n || b.Dropped() > 0 {
			t.Errorf("%d frames of %d, %d dropped", count, n, b.Dropped())
		}
		begin := time.Now()
		for range n {
			b.Put(f)
			b.Flush()
			b.Throttle()
		}
		if d := time.Since(begin); d > 10*time.Millisecond || b.Dropped() == 0 {
			t.Errorf("held up for %v by a loop that has stopped, %d dropped", d, b.Dropped())
		}
		b.Next(t.Context()) // reads again
		begin = time.Now()
		b.Throttle()
		if d := time.Since(begin); d > 10*time.Millisecond {
			t.Errorf("held up for %v by a loop that is slow", d)
		}
		b.Close(io.EOF)
		b.Throttle()
	})
}

// A loop that reads, but slowly, is at work: the reader waits for it again and
// again.
func TestThrottleForASlowLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inbox.New(10 << 20)
		f := frame(t, `{"type":"assistant","x":"`+strings.Repeat("x", 64<<10)+`"}`) // a batch of its own
		for range 120 {
			b.Put(f)
		}
		b.Acquire()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for ctx.Err() == nil {
				<-time.After(3 * time.Millisecond)
				if _, err := b.Next(ctx); err != nil {
					return
				}
			}
		}()
		begin := time.Now()
		for range 4 {
			b.Throttle()
		}
		if d := time.Since(begin); d != 20*time.Millisecond {
			t.Errorf("four waits took %v, want 20ms", d)
		}
		cancel()
		<-done
	})
}

// The reader waits for a loop that is at work, and for no other.
func TestThrottleWaitsForWhom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inbox.New(10 << 20)
		f := frame(t, `{"type":"assistant","x":"`+strings.Repeat("x", 64<<10)+`"}`) // a batch of its own
		throttled := func(when string, want time.Duration) {
			t.Helper()
			begin := time.Now()
			b.Throttle()
			if d := time.Since(begin); d != want {
				t.Errorf("%s: waited %v, want %v", when, d, want)
			}
		}
		for range 70 {
			b.Put(f)
		}
		b.Acquire()
		throttled("less than half is in use", 0)
		for range 60 {
			b.Put(f)
		}
		b.Release()
		throttled("nobody reads", 0)
		b.Acquire()
		throttled("a loop has begun", 5*time.Millisecond)
		throttled("it has taken nothing", 0)
		b.Next(t.Context())
		throttled("it reads again", 5*time.Millisecond)
		b.Next(t.Context())
		b.Close(io.EOF)
		throttled("the session has ended", 0)
	})
}

// A reader that is some frames ahead waits for a moment, until half of its lead is
// taken, so that what it reads is decoded soon. No other reader does.
func TestThrottleKeepsTheLeadShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lead = 128
		b := inbox.New(0)
		f := frame(t, `{"type":"stream_event"}`)
		throttled := func(when string, want time.Duration) {
			t.Helper()
			begin := time.Now()
			b.Throttle()
			if d := time.Since(begin); d != want {
				t.Errorf("%s: waited %v, want %v", when, d, want)
			}
		}
		for range lead {
			b.Put(f)
		}
		b.Acquire()
		throttled("as far ahead as it may be", 0)
		b.Put(f)
		throttled("ahead of a loop that takes nothing", time.Millisecond)
		throttled("it still takes nothing", 0)
		throttled("and is not waited for again", 0)
		b.Next(t.Context()) // takes a batch of 32
		for range 32 {
			b.Put(f)
		}
		const each, half = 5 * time.Microsecond, 96 // the first of a batch that leaves less than half
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range half {
				<-time.After(each)
				b.Next(t.Context())
			}
		}()
		throttled("ahead of a loop that reads", half*each)
		<-done
		for range lead {
			b.Put(f)
		}
		throttled("the loop has stopped", time.Millisecond)
		f.Retained = 40 << 20
		b.Put(f)
		throttled("and more than half of the bound is in use", 5*time.Millisecond)
		throttled("it has still stopped", 0)
	})
}
