package claude_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
)

// finishing is a CLI without a process that ends a while after its output.
type finishing struct {
	loop
	after   time.Duration
	stopped atomic.Bool
}

func (f *finishing) Start(ctx context.Context, launch *claude.Launch) (claude.Conn, error) {
	_, err := f.loop.Start(ctx, launch)
	return f, err
}

func (f *finishing) Stop() error {
	f.stopped.Store(true)
	return f.loop.Stop()
}

func (f *finishing) Wait() error {
	<-f.ended
	<-time.After(f.after)
	return nil
}

// A CLI that has closed its output has a few seconds to end by itself: it may
// be writing its session to disk.
func TestFinishingCLIIsNotStopped(t *testing.T) {
	for after, stopped := range map[time.Duration]bool{4 * time.Second: false, 5500 * time.Millisecond: true} {
		synctest.Test(t, func(t *testing.T) {
			cli := &finishing{after: after}
			s, err := claude.Connect(t.Context(), &claude.Options{Transport: cli})
			if err != nil {
				t.Fatal(err)
			}
			cli.CloseWrite() // its output ends
			if err := s.Wait(); err != nil {
				t.Errorf("%v to end: %v", after, err)
			}
			if got := cli.stopped.Load(); got != stopped {
				t.Errorf("%v to end: stopped = %v", after, got)
			}
		})
	}
}
