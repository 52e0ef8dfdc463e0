package claude

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
)

// shaking is a CLI without a process that completes the handshake and is then
// idle.
type shaking struct {
	NoProcess
	once  sync.Once
	out   chan []byte
	ended chan struct{}
}

func (c *shaking) Start(context.Context, *Launch) (Conn, error) {
	return &shaking{out: make(chan []byte, 1), ended: make(chan struct{})}, nil
}

func (c *shaking) Read(p []byte) (int, error) {
	select {
	case line := <-c.out:
		return copy(p, line), nil
	case <-c.ended:
		return 0, io.EOF
	}
}

func (c *shaking) Write(line []byte) (int, error) {
	if _, id, ok := bytes.Cut(line, []byte(`"request_id":`)); ok {
		id, _, _ = bytes.Cut(id, []byte(","))
		c.out <- []byte(`{"type":"control_response","response":{"subtype":"success","request_id":` + string(id) + `,"response":{"claude_code_version":"2.1.325"}}}` + "\n")
	}
	return len(line), nil
}

func (c *shaking) CloseWrite() error {
	c.once.Do(func() { close(c.ended) })
	return nil
}

func (c *shaking) Stop() error { return c.CloseWrite() }

func (c *shaking) Kill() error { return c.Stop() }

func (c *shaking) Wait() error {
	<-c.ended
	return nil
}

// A session that is handed out at the moment in which Get gives up goes back
// into the pool, and is closed if the pool takes nothing back.
func TestPoolGetGivesUpTooLate(t *testing.T) {
	for _, closed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			opts := &Options{Transport: new(shaking)}
			p, err := NewPool(t.Context(), opts, PoolOptions{Size: 1})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			first, err := p.Get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer first.Close()
			synctest.Wait()
			second, err := p.Get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			// Nothing is started while a waiting caller is served by hand.
			p.mu.Lock()
			starting := p.starting
			p.starting = 100
			p.mu.Unlock()
			synctest.Wait()
			p.mu.Lock()
			for _, idle := range p.idle {
				close(idle.taken)
				p.end(idle.session)
			}
			p.idle = nil
			p.mu.Unlock()
			ctx, cancel := context.WithCancelCause(t.Context())
			gaveUp := errors.New("gave up")
			failed := make(chan error, 1)
			go func() {
				s, err := p.Get(ctx)
				if s != nil {
					t.Error("Get gave a session although it gave up before")
				}
				failed <- err
			}()
			synctest.Wait() // it waits for a session or the end of its context
			p.mu.Lock()
			cancel(gaveUp) // from here on Get fails
			p.answer(start{session: second})
			p.closed = closed
			p.mu.Unlock()
			if err := <-failed; !errors.Is(err, gaveUp) {
				t.Errorf("Get = %v", err)
			}
			synctest.Wait()
			select {
			case <-second.Done():
				if !closed {
					t.Error("the session was closed")
				}
			default:
				if closed {
					t.Error("the session lives on, and nobody has it")
					second.Close()
				}
			}
			p.mu.Lock()
			if kept := len(p.idle) == 1 && p.idle[0].session == second; kept == closed {
				t.Errorf("%d sessions are ready, the pool is closed: %v", len(p.idle), closed)
			}
			p.starting, p.closed = starting, false
			p.mu.Unlock()
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
