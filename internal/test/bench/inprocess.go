package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// What each session does when many run at once.
const (
	manyMessages  = 100
	manyCallbacks = 10
)

// idleSessions is how many sessions wait at once.
const idleSessions = 10_000

// usualTurn is the turn of sessions that work at once.
func usualTurn() inProcessCLI { return inProcessCLI{messages: manyMessages, callbacks: manyCallbacks} }

// shortTurn is the turn of sessions that then wait.
func shortTurn() inProcessCLI { return inProcessCLI{messages: 10, callbacks: 1} }

// inProcessCLI is a Transport without a process and without goroutines: Write
// answers within the call, into a buffer that Read empties. So everything that is
// counted belongs to the session.
type inProcessCLI struct {
	messages, callbacks int // of a turn
}

func (cli inProcessCLI) Start(context.Context, *claude.Launch) (claude.Conn, error) {
	c := &inProcessConn{cli: cli, ended: make(chan struct{})}
	c.ready.L = &c.mu
	return c, nil
}

type inProcessConn struct {
	claude.NoProcess
	cli     inProcessCLI
	mu      sync.Mutex
	ready   sync.Cond
	out     []byte
	over    bool
	prompt  string
	replies int // permission replies that the turn still waits for
	ended   chan struct{}
}

func (c *inProcessConn) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.out) == 0 {
		if c.over {
			return 0, io.EOF
		}
		c.ready.Wait()
	}
	n := copy(p, c.out)
	if c.out = c.out[n:]; len(c.out) == 0 {
		c.out = nil
	}
	return n, nil
}

func (c *inProcessConn) Write(line []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case bytes.HasPrefix(line, []byte(`{"type":"control_request"`)):
		c.out = fmt.Appendf(c.out, `{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":{"claude_code_version":"2.1.325"}}}`+"\n", field(line, "request_id"))
	case bytes.HasPrefix(line, []byte(`{"type":"control_response"`)):
		if c.replies--; c.replies == 0 {
			c.out = append(c.out, resultLine(c.prompt, "")...)
		}
	default:
		c.prompt, c.replies = field(line, "uuid"), c.cli.callbacks
		c.out = append(c.out, initLine(c.prompt)...)
		for i := range c.cli.messages {
			c.out = append(c.out, deltaLine()...)
			if i%(c.cli.messages/c.cli.callbacks) == 0 {
				c.out = fmt.Appendf(c.out, permissionLine, strconv.Itoa(i))
			}
		}
	}
	c.ready.Signal()
	return len(line), nil
}

// field finds a string in a line by its name.
func field(line []byte, name string) string {
	_, rest, _ := bytes.Cut(line, []byte(`"`+name+`":"`))
	value, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(value)
}

func (c *inProcessConn) CloseWrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.over = true
		close(c.ended)
		c.ready.Signal()
	}
	return nil
}

func (c *inProcessConn) Stop() error { return c.CloseWrite() }

func (c *inProcessConn) Kill() error { return c.Stop() }

func (c *inProcessConn) Wait() error {
	<-c.ended
	return nil
}

// sessions is a number of sessions in this process.
type sessions []*claude.Session

func openSessions(ctx context.Context, cli inProcessCLI, n int) (sessions, error) {
	opts := &claude.Options{
		PartialMessages: true,
		Transport:       cli,
		CanUseTool: func(context.Context, *permission.Request) (permission.Decision, error) {
			return permission.Allow(), nil
		},
	}
	all := make(sessions, 0, n)
	for range n {
		s, err := claude.Connect(ctx, opts)
		if err != nil {
			return nil, errors.Join(err, all.close())
		}
		all = append(all, s)
	}
	return all, nil
}

func (all sessions) close() error {
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, s := range all {
		wg.Go(func() { errs[i] = s.Close() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// run lets every session have a turn, all at once, and fails if one of them
// has lost something. The result of a turn comes only when all of its
// callbacks were answered.
func (all sessions) run(ctx context.Context, cli inProcessCLI) (time.Duration, error) {
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	begin := time.Now()
	for i, s := range all {
		wg.Go(func() { errs[i] = turn(ctx, s, cli.messages) })
	}
	wg.Wait()
	return time.Since(begin), errors.Join(errs...)
}

func turn(ctx context.Context, s *claude.Session, want int) error {
	got := 0
	for msg, err := range s.Run(ctx, "go") {
		if err != nil {
			return err
		}
		if _, ok := msg.(*message.StreamEvent); ok {
			got++
		}
	}
	if got != want {
		return fmt.Errorf("%d messages, want %d", got, want)
	}
	return nil
}

// idleCost returns the cost of a session that waits for its next prompt, while n
// of them do. Each has had a turn, and must answer another one afterwards.
func idleCost(ctx context.Context, n int) (bytes, goroutines float64, err error) {
	before, goroutinesBefore := usage()
	all, err := openSessions(ctx, shortTurn(), n)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, all.close()) }()
	if _, err := all.run(ctx, shortTurn()); err != nil {
		return 0, 0, err
	}
	after, goroutinesAfter := usage()
	for end := time.Now().Add(10 * time.Second); goroutinesAfter > goroutinesBefore+2*n && time.Now().Before(end); {
		after, goroutinesAfter = usage() // those of the turns are on their way out
	}
	if _, err := all.run(ctx, shortTurn()); err != nil {
		return 0, 0, fmt.Errorf("after waiting: %w", err)
	}
	return (after - before) / float64(n), float64(goroutinesAfter-goroutinesBefore) / float64(n), nil
}

// usage returns the bytes in use on the heap and on stacks, after garbage was
// freed.
func usage() (bytes float64, goroutines int) {
	runtime.GC() // the second one shrinks stacks and frees what finalizers kept
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse), runtime.NumGoroutine()
}
