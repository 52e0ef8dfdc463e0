package claude_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/harness"
)

// fleet is a Transport of played CLIs that are counted.
type fleet struct {
	t       *testing.T
	play    func(*cli)
	fail    atomic.Pointer[error] // what Start fails with, nil if it does not
	started atomic.Int32
	running atomic.Int32
}

func (f *fleet) Start(ctx context.Context, launch *claude.Launch) (claude.Conn, error) {
	f.started.Add(1)
	if err := f.fail.Load(); err != nil {
		return nil, *err
	}
	return (&double{t: f.t, play: f.play}).Start(ctx, launch)
}

// pooling runs a test with a pool of played CLIs in a bubble. None may be left
// when the test has closed its pool and its sessions.
func pooling(t *testing.T, size claude.PoolOptions, play func(*cli), test func(*testing.T, *claude.Pool, *fleet)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{t: t}
		f.play = func(c *cli) {
			f.running.Add(1)
			defer f.running.Add(-1)
			play(c)
		}
		p, err := claude.NewPool(t.Context(), &claude.Options{Transport: f, Logger: harness.Logger(t)}, size)
		if err != nil {
			t.Fatal(err)
		}
		test(t, p, f)
		if err := p.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
		synctest.Wait()
		if n := f.running.Load(); n != 0 {
			t.Errorf("%d CLIs run after Close", n)
		}
	})
}

// want compares the sessions that are ready, running and started so far.
func (f *fleet) want(t *testing.T, when string, p *claude.Pool, ready int, running, started int32) {
	t.Helper()
	synctest.Wait()
	if got := p.Ready(); got != ready || f.running.Load() != running || f.started.Load() != started {
		t.Errorf("%s: %d ready, %d running, %d started, want %d, %d and %d", when, got, f.running.Load(), f.started.Load(), ready, running, started)
	}
}

func greetAndIdle(c *cli) {
	c.greet()
	c.idle()
}

func TestPool(t *testing.T) {
	pooling(t, claude.PoolOptions{Size: 2}, func(c *cli) {
		c.greet()
		for {
			f, ok := c.hear()
			if !ok {
				return
			}
			c.begin(f.Text("uuid"))
			c.result("Hello.", f.Text("uuid"))
		}
	}, func(t *testing.T, p *claude.Pool, f *fleet) {
		f.want(t, "at first", p, 2, 2, 2)
		begin := time.Now()
		s, err := p.Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begin); d != 0 || s.State() != claude.StateRunning {
			t.Errorf("Get took %v and gave a session that is %v", d, s.State())
		}
		f.want(t, "one handed out", p, 2, 3, 3)
		if err := p.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
		if _, err := p.Get(t.Context()); !errors.Is(err, claude.ErrClosed) {
			t.Errorf("Get after Close = %v, want ErrClosed", err)
		}
		f.want(t, "after Close", p, 0, 1, 3)
		if res, err := s.Ask(t.Context(), "hi"); err != nil || res.Text != "Hello." {
			t.Errorf("the session that was handed out says %v, %v", res, err)
		}
		finish(t, s)
	})
}

func TestPoolReplacesTheOld(t *testing.T) {
	pooling(t, claude.PoolOptions{MaxIdle: time.Minute}, greetAndIdle, func(t *testing.T, p *claude.Pool, f *fleet) {
		f.want(t, "at first", p, 1, 1, 1)
		pass(time.Minute - 1)
		f.want(t, "almost old", p, 1, 1, 1)
		pass(1)
		f.want(t, "old", p, 1, 1, 2)
		pass(time.Minute)
		f.want(t, "old again", p, 1, 1, 3)
	})
	pooling(t, claude.PoolOptions{MaxIdle: claude.NoTimeout}, greetAndIdle, func(t *testing.T, p *claude.Pool, f *fleet) {
		pass(24 * time.Hour)
		f.want(t, "next day", p, 1, 1, 1)
	})
}

func TestPoolReplacesTheDead(t *testing.T) {
	for name, code := range map[string]int{"in good order": 0, "crashed": 1} {
		t.Run(name, func(t *testing.T) {
			pooling(t, claude.PoolOptions{}, func(c *cli) {
				c.greet()
				closed := make(chan struct{})
				go func() {
					c.idle()
					close(closed)
				}()
				select {
				case <-time.After(10 * time.Second):
					c.code = code
				case <-closed:
				case <-c.stopped:
				}
			}, func(t *testing.T, p *claude.Pool, f *fleet) {
				f.want(t, "at first", p, 1, 1, 1)
				pass(10 * time.Second)
				f.want(t, "after a death", p, 0, 0, 1)
				pass(time.Second)
				f.want(t, "replaced", p, 1, 1, 2)
				pass(10 * time.Second)
				pass(time.Second)
				f.want(t, "after another death", p, 0, 0, 2)
				pass(time.Second)
				f.want(t, "replaced after a longer pause", p, 1, 1, 3)
			})
		})
	}
}

func TestPoolBacksOff(t *testing.T) {
	boom := errors.New("no room")
	pooling(t, claude.PoolOptions{Size: 3}, greetAndIdle, func(t *testing.T, p *claude.Pool, f *fleet) {
		f.want(t, "at first", p, 3, 3, 3)
		f.fail.Store(&boom)
		sessions := make([]*claude.Session, 3)
		for i := range sessions {
			s, err := p.Get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			sessions[i] = s
		}
		f.want(t, "all handed out", p, 0, 3, 6)
		pass(time.Second - 1)
		f.want(t, "in the pause", p, 0, 3, 6)
		pass(1)
		f.want(t, "after a pause", p, 0, 3, 9)
		pass(2 * time.Second)
		f.want(t, "after a longer pause", p, 0, 3, 12)
		if _, err := p.Get(t.Context()); !errors.Is(err, boom) {
			t.Errorf("Get = %v, want the error of the start", err)
		}
		f.want(t, "with one waiting", p, 0, 3, 13)
		pass(time.Hour)
		if n := f.started.Load(); n > 13+3*70 {
			t.Errorf("%d starts within an hour, want at most one try a minute", n)
		}
		f.fail.Store(nil)
		before := f.started.Load()
		s, err := p.Get(t.Context()) // need not wait for the end of the pause
		if err != nil {
			t.Fatal(err)
		}
		f.want(t, "well again", p, 3, 7, before+4)
		for _, s := range append(sessions, s) {
			finish(t, s)
		}
	})
}

func TestPoolGetWaits(t *testing.T) {
	slow := func(c *cli) {
		r := c.request("initialize")
		select {
		case <-time.After(3 * time.Second):
			c.succeed(r, `{"claude_code_version":"2.1.325"}`)
			c.idle()
		case <-c.stopped:
		}
	}
	pooling(t, claude.PoolOptions{}, slow, func(t *testing.T, p *claude.Pool, f *fleet) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.Get(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Get = %v, want the context's error", err)
		}
		begin := time.Now()
		s, err := p.Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begin); d != 2*time.Second {
			t.Errorf("waited %v, want 2s: for what was being started", d)
		}
		finish(t, s)
		f.want(t, "with what was started for the one who left", p, 1, 1, 2)
		if _, err := p.Get(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Get with a context that has ended = %v", err)
		}
		if s, err = p.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
		finish(t, s)
		got := make(chan error)
		go func() {
			_, err := p.Get(t.Context())
			got <- err
		}()
		synctest.Wait()
		p.Close()
		if err := <-got; !errors.Is(err, claude.ErrClosed) {
			t.Errorf("Get while the pool closes = %v, want ErrClosed", err)
		}
	})
}

// TestPoolLeaving lets contexts end in the moment in which sessions come.
func TestPoolLeaving(t *testing.T) {
	pooling(t, claude.PoolOptions{Size: 2}, func(c *cli) {
		r := c.request("initialize")
		select {
		case <-time.After(time.Second):
			c.succeed(r, `{}`)
			c.idle()
		case <-c.stopped:
		}
	}, func(t *testing.T, p *claude.Pool, f *fleet) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				s, err := p.Get(ctx)
				if err == nil {
					finish(t, s)
				} else if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Get = %v", err)
				}
			})
		}
		wg.Wait()
		pass(5 * time.Second)
		if p.Ready() != 2 || f.running.Load() != 2 {
			t.Errorf("%d ready, %d running, want 2", p.Ready(), f.running.Load())
		}
		var closers sync.WaitGroup
		for range 3 {
			closers.Go(func() { p.Close() })
		}
		closers.Wait()
	})
}

func TestPoolOptions(t *testing.T) {
	id := "00000000-0000-4000-8000-000000000001"
	for field, o := range map[string]*claude.Options{
		"SessionID": {SessionID: id},
		"Continue":  {Continue: true},
		"Resume":    {Resume: id},
		"MaxTurns":  {MaxTurns: -1},
	} {
		_, err := claude.NewPool(t.Context(), o, claude.PoolOptions{})
		if e, ok := errors.AsType[*claude.OptionError](err); !ok || e.Field != field {
			t.Errorf("%s: error = %v", field, err)
		}
	}
}
