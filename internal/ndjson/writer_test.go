package ndjson_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/ndjson"
)

// calls records each Write it gets.
type calls struct{ got []string }

func (c *calls) Write(p []byte) (int, error) {
	c.got = append(c.got, string(p))
	return len(p), nil
}

func TestWriterOneCallPerLine(t *testing.T) {
	var dst calls
	w := ndjson.NewWriter(&dst)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if err := w.Write(t.Context(), fmt.Appendf(nil, `{"n":%d}`, i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(dst.got) != 50 {
		t.Fatalf("%d calls for 50 lines", len(dst.got))
	}
	for _, line := range dst.got {
		if !strings.HasPrefix(line, "{") || strings.Index(line, "\n") != len(line)-1 {
			t.Errorf("call with %q, want one whole line", line)
		}
	}
}

func TestWriterRefusesLineBreak(t *testing.T) {
	var dst calls
	w := ndjson.NewWriter(&dst)
	if err := w.Write(t.Context(), []byte("a\nb")); !errors.Is(err, ndjson.ErrLineBreak) {
		t.Errorf("Write = %v, want %v", err, ndjson.ErrLineBreak)
	}
	if len(dst.got) > 0 {
		t.Errorf("wrote %q", dst.got)
	}
}

// limited accepts n bytes and then fails, or cuts without saying so.
type limited struct {
	n     int
	err   error
	wrote bytes.Buffer
}

func (l *limited) Write(p []byte) (int, error) {
	k := min(l.n, len(p))
	l.n -= k
	l.wrote.Write(p[:k])
	if k < len(p) {
		return k, l.err
	}
	return k, nil
}

func TestWriterIsDeadAfterShortWrite(t *testing.T) {
	full := errors.New("full")
	for n := range 8 {
		for _, cause := range []error{full, nil} {
			dst := &limited{n: n, err: cause}
			w := ndjson.NewWriter(dst)
			broke := 0
			w.OnBroken = func(error) { broke++ }
			first := w.Write(t.Context(), []byte("1234567"))
			want := cause
			if want == nil {
				want = io.ErrShortWrite
			}
			if !errors.Is(first, want) {
				t.Errorf("n=%d: first Write = %v, want %v", n, first, want)
			}
			dst.n = 100
			if err := w.Write(t.Context(), []byte("x")); !errors.Is(err, want) {
				t.Errorf("n=%d: later Write = %v, want %v", n, err, want)
			}
			if broke != 1 {
				t.Errorf("n=%d: told %d times that the stream broke, want once", n, broke)
			}
			if dst.wrote.Len() != n {
				t.Errorf("n=%d: %d bytes written, want nothing after the failure", n, dst.wrote.Len())
			}
		}
	}
}

func TestWriterGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pr, pw := io.Pipe()
		w := ndjson.NewWriter(pw)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := make(chan error, 1)
		go func() { begun <- w.Write(ctx, []byte("first")) }()
		synctest.Wait()
		if err := w.Write(ctx, []byte("second")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting Write = %v, want %v", err, context.DeadlineExceeded)
		}
		if err := <-begun; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("blocked Write = %v, want %v", err, context.DeadlineExceeded)
		}
		// The begun line is written whole, the waiting one never.
		go func() {
			synctest.Wait()
			w.Write(context.Background(), []byte("third"))
			pw.Close()
		}()
		got, _ := io.ReadAll(pr)
		if string(got) != "first\nthird\n" {
			t.Errorf("stream = %q", got)
		}
	})
}

func TestWriterEndedContext(t *testing.T) {
	var dst calls
	w := ndjson.NewWriter(&dst)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 { // a select would choose to write now and then
		err := w.Write(ctx, []byte("x"))
		if !errors.Is(err, context.Canceled) || !errors.Is(err, ndjson.ErrNotBegun) || len(dst.got) > 0 {
			t.Fatalf("Write = %v, wrote %q", err, dst.got)
		}
	}
}

// claim is the answer of a claim.
type claim bool

func (c claim) Claim() bool { return bool(c) }

// A line that is no longer wanted is not written, and delays no other.
func TestWriterDropsUnclaimedLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dst calls
		w := ndjson.NewWriter(&dst)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, ctx := range []context.Context{ctx, context.Background()} {
			if err := w.WriteIf(ctx, []byte("a"), claim(false)); !errors.Is(err, ndjson.ErrNotBegun) {
				t.Errorf("unclaimed: %v", err)
			}
			if err := w.WriteIf(ctx, []byte("b"), claim(true)); err != nil {
				t.Errorf("claimed: %v", err)
			}
		}
		if got := strings.Join(dst.got, ""); got != "b\nb\n" {
			t.Errorf("wrote %q", got)
		}
	})
}

// OnWrite sees the lines that were written whole, as they were given.
func TestWriterReportsLines(t *testing.T) {
	dst := &limited{n: 12, err: io.ErrClosedPipe}
	w := ndjson.NewWriter(dst)
	var seen []string
	w.OnWrite = func(line []byte) { seen = append(seen, string(line)) }
	for _, line := range []string{"first", "other", "broken"} {
		err := w.Write(t.Context(), []byte(line))
		if broken := line == "broken"; errors.Is(err, ndjson.ErrBroken) != broken {
			t.Errorf("%s: %v", line, err)
		}
	}
	if got := strings.Join(seen, " "); got != "first other" {
		t.Errorf("reported %q", got)
	}
}
