package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/long"
)

// injectedFault is one fault: the at-th of the events that the kind is about fails,
// and with persistent those after it. With at 0 everything goes well.
type injectedFault struct {
	kind       string
	at         int64
	persistent bool
}

// Each kind is about certain events: reads and writes of the connection, both,
// starts, or calls of user code.
var (
	readFaults     = []string{"read error", "end of output", "cut output", "silence"}
	writeFaults    = []string{"write error", "short write", "stuck write"}
	anyFaults      = []string{"context ends", "closed", "killed"}
	startFaults    = []string{"start error"}
	callbackFaults = []string{"error", "panic", "goexit", "hang"}
	// These are not failures: everything must go as if nothing had happened.
	harmless = []string{"late", "empty read", "garbage", "byte by byte"}
)

// faultRun is one run of a scenario with one fault.
type faultRun struct {
	injectedFault
	opts   *claude.Options
	cancel context.CancelFunc

	reads, writes, both, starts, calls, damages atomic.Int64
	ran                                         atomic.Int64 // tools of the scripted CLI

	mu      sync.Mutex
	session *claude.Session // for a Close from outside
	closes  sync.WaitGroup
	inner   claude.Transport
}

var errInjected = errors.New("injected fault")

// isDue counts an event and reports whether the fault happens now.
func (l *faultRun) isDue(kinds []string, n *atomic.Int64) bool {
	count := n.Add(1)
	for _, kind := range kinds {
		if kind == l.kind && l.at > 0 && (count == l.at || l.persistent && count > l.at) {
			return true
		}
	}
	return false
}

// reached reports whether there were enough events for the fault to happen.
func (l *faultRun) reached() bool {
	for _, g := range []struct {
		kinds []string
		n     *atomic.Int64
	}{{readFaults, &l.reads}, {writeFaults, &l.writes}, {anyFaults, &l.both}, {startFaults, &l.starts}, {callbackFaults, &l.calls}, {harmless, &l.damages}} {
		for _, kind := range g.kinds {
			if kind == l.kind {
				return g.n.Load() >= l.at
			}
		}
	}
	return false
}

// Start makes the run a Transport around that of the scenario.
func (l *faultRun) Start(ctx context.Context, launch *claude.Launch) (claude.Conn, error) {
	if l.isDue(startFaults, &l.starts) {
		return nil, errInjected
	}
	c, err := l.inner.Start(ctx, launch)
	return &faultConn{Conn: c, run: l, over: make(chan struct{})}, err
}

// faultConn is a connection on which things fail.
type faultConn struct {
	claude.Conn
	run  *faultRun
	once sync.Once
	over chan struct{} // closed by CloseWrite and Stop: ends what is stuck

	inside bool // of the reader: the last read ended inside a line
	single bool // of the reader: one byte at a time from now on
}

// disturb lets something happen that is not a failure of the connection.
func (c *faultConn) disturb() {
	if !c.run.isDue(anyFaults, &c.run.both) {
		return
	}
	switch c.run.kind {
	case "context ends":
		c.run.cancel()
	case "closed":
		c.run.mu.Lock()
		s := c.run.session
		c.run.mu.Unlock()
		if s != nil {
			c.run.closes.Go(func() { _ = s.Close() })
		}
	case "killed":
		_ = c.Conn.Stop()
	}
}

// damage does something to a read that the SDK must not mind.
func (c *faultConn) damage(p []byte) (n int, done bool) {
	if c.inside || c.single || !c.run.isDue(harmless, &c.run.damages) {
		return 0, false
	}
	switch c.run.kind {
	case "late":
		<-time.After(time.Second)
	case "empty read":
		return 0, true
	case "garbage":
		return copy(p, garbage[int(c.run.at)%len(garbage)]+"\n"), true
	case "byte by byte":
		c.single = true
	}
	return 0, false
}

func (c *faultConn) Read(p []byte) (int, error) {
	c.disturb()
	if n, done := c.damage(p); done {
		return n, nil
	}
	if !c.run.isDue(readFaults, &c.run.reads) {
		if c.single {
			p = p[:1]
		}
		n, err := c.Conn.Read(p)
		c.inside = n > 0 && p[n-1] != '\n'
		return n, err
	}
	switch c.run.kind {
	case "end of output":
		return 0, io.EOF
	case "cut output":
		n, _ := c.Conn.Read(p)
		return n / 2, io.EOF
	case "silence":
		<-c.over
		return 0, io.EOF
	}
	return 0, errInjected
}

func (c *faultConn) Write(p []byte) (int, error) {
	c.disturb()
	if !c.run.isDue(writeFaults, &c.run.writes) {
		return c.Conn.Write(p)
	}
	switch c.run.kind {
	case "short write":
		return c.Conn.Write(p[:len(p)/2])
	case "stuck write":
		<-c.over
		return 0, os.ErrClosed
	}
	return 0, syscall.EPIPE
}

func (c *faultConn) end() { c.once.Do(func() { close(c.over) }) }

func (c *faultConn) CloseWrite() error {
	if c.run.kind == "stuck write" {
		c.end()
	}
	return c.Conn.CloseWrite()
}

func (c *faultConn) Stop() error {
	defer c.end()
	return c.Conn.Stop()
}

func (c *faultConn) Kill() error { return c.Stop() }

// call is the first step of every callback of a scenario.
func (l *faultRun) call(ctx context.Context) error {
	if !l.isDue(callbackFaults, &l.calls) {
		return nil
	}
	switch l.kind {
	case "panic":
		panic("injected fault")
	case "goexit":
		runtime.Goexit()
	case "hang":
		<-ctx.Done()
		return nil // as if all were well
	}
	return errInjected
}

// connect starts the session of a scenario.
func (l *faultRun) connect(ctx context.Context) (*claude.Session, error) {
	s, err := claude.Connect(ctx, l.opts)
	if err == nil {
		l.mu.Lock()
		l.session = s
		l.mu.Unlock()
	}
	return s, err
}

// TestFail runs every scenario with every fault at some of the events.
func TestFail(t *testing.T) { fail(t, int64(long.Pick(25, 9))) }

// TestFailEverywhere runs every scenario with every fault at every event. The race
// detector would make it twenty times slower; it has TestFail.
func TestFailEverywhere(t *testing.T) {
	long.Test(t, "runs thousands of sessions")
	fail(t, 1)
}

// fail runs every scenario with every fault: the first event fails, then the next that
// is step events later, and so on until nothing is left to fail; once for that event
// alone and, where that differs, once for all from then on.
func fail(t *testing.T, step int64) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	each := func(kind string, f func(*testing.T, scenario)) {
		t.Run(kind, func(t *testing.T) {
			for _, sc := range scenarios() {
				t.Run(sc.name, func(t *testing.T) { f(t, sc) })
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("temporary files left: %v, %v", left, err)
			}
		})
	}
	each("nothing", func(t *testing.T, sc scenario) {
		if got := attempt(t, sc, injectedFault{}); got.err != nil || got.text != sc.want {
			t.Errorf("without a fault: %q, %v, want %q", got.text, got.err, sc.want)
		}
	})
	var injected int64
	for _, kind := range slices.Concat(readFaults, writeFaults, anyFaults, startFaults, callbackFaults, harmless) {
		each(kind, func(t *testing.T, sc scenario) {
			injected += failEach(t, sc, injectedFault{kind: kind}, step)
			if slices.Contains(callbackFaults, kind) { // others are for good anyway
				injected += failEach(t, sc, injectedFault{kind: kind, persistent: true}, step)
			}
		})
	}
	t.Logf("%d faults injected", injected)
}

// failEach tries a fault at every step-th event there is.
func failEach(t *testing.T, sc scenario, tr injectedFault, step int64) (injected int64) {
	t.Helper()
	for tr.at = 1; tr.at < 500; tr.at += step {
		got := attempt(t, sc, tr)
		if !got.reached {
			return injected
		}
		injected++
		if got.err == nil && got.text != sc.want && (!sc.tolerant[got.text] || slices.Contains(harmless, tr.kind)) {
			t.Errorf("%+v: it went well, with %q, want %q", tr, got.text, sc.want)
		}
		if got.err != nil && slices.Contains(harmless, tr.kind) {
			t.Errorf("%+v: %v", tr, got.err)
		}
		if got.took > sc.bound(tr.kind) {
			t.Errorf("%+v: took %v", tr, got.took)
		}
		if t.Failed() || tr.kind == "byte by byte" { // from the first on is all there is
			return injected
		}
	}
	t.Errorf("%+v: no end", tr)
	return injected
}

// turnBound is how long users wait for an answer.
const turnBound = 2 * time.Minute

// attemptOutcome is the outcome of one run.
type attemptOutcome struct {
	text    string
	err     error
	took    time.Duration
	reached bool
}

// attempt runs a scenario once, in a bubble: what is left running is a
// deadlock, which panics.
func attempt(t *testing.T, sc scenario, tr injectedFault) (got attemptOutcome) {
	t.Helper()
	defer func() {
		if v := recover(); v != nil {
			buf := make([]byte, 1<<20)
			t.Fatalf("%s, %+v: %v\n%s", sc.name, tr, v, buf[:runtime.Stack(buf, true)])
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), turnBound) // a turn has no limit of its own
		defer cancel()
		l := &faultRun{injectedFault: tr, cancel: cancel, opts: &claude.Options{
			SessionID: "00000000-0000-4000-8000-000000000001", Timeouts: claude.Timeouts{Callback: time.Minute},
		}}
		l.opts.Transport = l
		var ends harness.TraceEnds
		l.opts.Trace = ends.Trace()
		begin := time.Now()
		got.text, got.err = sc.run(ctx, l)
		got.took = time.Since(begin)
		l.closes.Wait()
		got.reached = tr.at > 0 && l.reached()
		l.checkAfter(t, tr)
		synctest.Wait()
		if left := ends.Left(); left != "" {
			t.Errorf("%s, %+v: the trace has no end of %s", sc.name, tr, left)
		}
	})
	return got
}

// checkAfter is the common condition after every fault: Close returns at once,
// again too, and Wait does.
func (l *faultRun) checkAfter(t *testing.T, tr injectedFault) {
	if l.session == nil {
		return
	}
	begin := time.Now()
	for range 2 {
		if err := l.session.Close(); err != nil {
			t.Errorf("%+v: Close = %v", tr, err)
		}
	}
	_ = l.session.Wait()
	if took := time.Since(begin); took != 0 {
		t.Errorf("%+v: Close and Wait after the end took %v", tr, took)
	}
	if s := l.session.State(); s < claude.StateStopped {
		t.Errorf("%+v: state %v", tr, s)
	}
	_ = fmt.Sprint(l.session.ID(), l.session.Info())
}
