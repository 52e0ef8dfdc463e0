package workspace

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/store"
)

// handAlarm is an alarm that knows whether it runs, and rings when it is set if it is hasty.
type handAlarm struct {
	runs  atomic.Bool
	hasty bool
	ring  func()
}

func (a *handAlarm) Reset(time.Duration) bool {
	if a.hasty {
		a.ring()
	}
	return a.runs.Swap(true)
}

func (a *handAlarm) Stop() bool { return a.runs.Swap(false) }

// watchedBlobs calls a function for each chunk that is put and got.
type watchedBlobs struct {
	Blobs
	put, get func(ctx context.Context) error
}

func (b *watchedBlobs) Put(ctx context.Context, name string, data []byte) error {
	if err := b.put(ctx); err != nil {
		return err
	}
	return b.Blobs.Put(ctx, name, data)
}

func (b *watchedBlobs) Get(ctx context.Context, name string) ([]byte, error) {
	if err := b.get(ctx); err != nil {
		return nil, err
	}
	return b.Blobs.Get(ctx, name)
}

// The transfer of a pack has the bound of the Save or the Open, and not that of git, which is
// only for the time in which git is waited for. What fails on the way is not sent twice.
func TestSlowTransfers(t *testing.T) {
	long.Test(t, "needs git")
	c := newClones(t, committed)
	a, b := c.machine(), c.machine()
	hand := new(handAlarm)
	var begun time.Time
	var moved atomic.Int64
	watch := func(ctx context.Context) error {
		if moved.Add(1); hand.runs.Load() {
			t.Error("a chunk moves at the expense of git")
		}
		if at, ok := ctx.Deadline(); !ok || at.Before(begun.Add(time.Hour)) {
			t.Errorf("a chunk has to move until %v, %v", at, ok)
		}
		return nil
	}
	blobs := &watchedBlobs{c.blobs, watch, watch}
	c.blobs = blobs
	on := func(m machine) *Snapshots {
		s := c.on(m, func(o *SnapshotOptions) { o.Timeout = time.Hour })
		s.Worktrees.alarm = func(_ time.Duration, ring func()) alarm {
			hand.ring = ring
			hand.Reset(0)
			return hand
		}
		begun = time.Now()
		return s
	}
	d := open(t, on(a), "k")
	work(t, d)
	save(t, d)
	want := seen(t, d)
	put := moved.Load()
	wantSeen(t, "the other machine", open(t, on(b), "k"), want)
	if put < 3 || moved.Load()-put < 3 {
		t.Errorf("%d chunks were put, and %d moved", put, moved.Load())
	}
	// A pack on top of another, which does not arrive.
	git(t, d.Path(), "commit", "--quiet", "--allow-empty", "--message=more")
	lost, tried := errors.New("no route"), 0
	blobs.put = func(context.Context) error { tried++; return lost }
	if err := d.Save(t.Context(), store.Fence{}); !errors.Is(err, lost) || tried != 1 {
		t.Errorf("without a network: %v after %d tries", err, tried)
	}
	blobs.put = func(context.Context) error { return nil }
	// A git that does nothing.
	hand.hasty = true
	if err := d.Save(t.Context(), store.Fence{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("git does nothing: %v", err)
	}
	hand.hasty = false
	save(t, d)
	want = seen(t, d)
	hand.hasty = true
	if _, err := on(b).Open(t.Context(), "k"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("git does nothing with a pack: %v", err)
	}
	hand.hasty = false
	wantSeen(t, "in the end", open(t, on(b), "k"), want)
}

// The alarm runs while git is waited for, and not before and after. If it rings, the context
// ends with the reason.
func TestPatience(t *testing.T) {
	hand := new(handAlarm)
	w := &Worktrees{o: WorktreeOptions{Timeout: time.Minute}, alarm: func(_ time.Duration, ring func()) alarm {
		hand.ring = ring
		hand.Reset(0)
		return hand
	}}
	ctx, p, cancel := w.patient(t.Context())
	defer cancel()
	p.rest()
	r := patientReader{readerFunc(func(b []byte) (int, error) {
		if !hand.runs.Load() {
			t.Error("git is waited for without a bound")
		}
		return len(b), nil
	}), p}
	for range 2 {
		if n, err := r.Read(make([]byte, 3)); n != 3 || err != nil || hand.runs.Load() || ctx.Err() != nil {
			t.Errorf("read %d, %v; the alarm runs: %v, and the context: %v", n, err, hand.runs.Load(), ctx.Err())
		}
	}
	hand.ring()
	if err := context.Cause(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1m0s") {
		t.Errorf("it ends with %v", err)
	}
}

type readerFunc func(b []byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

func TestHelpsToRepack(t *testing.T) {
	for err, want := range map[error]bool{
		nil: false, context.DeadlineExceeded: false, store.ErrLeaseLost: false, fmt.Errorf("x: %w", ErrFull): false,
		fmt.Errorf("git: %w", &exec.ExitError{}): true, error(&BoundError{"bytes", 1, "x"}): true,
	} {
		if got := helpsToRepack(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}
