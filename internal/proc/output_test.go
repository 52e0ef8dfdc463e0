//go:build unix

package proc

import (
	"bytes"
	"io"
	"os"
	"testing"
	"time"
)

// openOutput returns an output and the end that the child would have.
func openOutput(t *testing.T) (*output, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		w.Close()
	})
	return newOutput(r), w
}

func TestOutputAfterExit(t *testing.T) {
	soon := func() time.Time { return time.Now().Add(20 * time.Millisecond) }
	late := func() time.Time { return time.Now().Add(time.Hour) }
	for _, test := range []struct {
		name string
		do   func(o *output, w *os.File)
		want string
	}{
		{"at its end", func(o *output, w *os.File) {
			w.WriteString("all")
			w.Close()
			o.childExited(late())
		}, "all"},
		{"held until the deadline", func(o *output, w *os.File) {
			w.WriteString("all")
			o.childExited(soon())
		}, "all"},
		{"more by others", func(o *output, w *os.File) {
			w.WriteString("some")
			go o.childExited(late())
			w.WriteString(" more")
			w.Close()
		}, "some more"},
		{"more by others, held", func(o *output, w *os.File) {
			w.WriteString("some")
			go o.childExited(soon())
			w.WriteString(" more")
		}, "some more"},
		{"deadline long over", func(o *output, w *os.File) {
			w.WriteString("all")
			o.childExited(time.Unix(1, 0))
		}, "all"},
		{"cut", func(o *output, w *os.File) {
			w.WriteString("all")
			o.endNow()
			o.endNow()
		}, "all"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o, w := openOutput(t)
			test.do(o, w)
			got, err := io.ReadAll(o)
			if err != nil || string(got) != test.want {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
			<-o.ended
		})
	}
}

// A reader that waits when the output is cut gets the end.
func TestOutputCutWhileReading(t *testing.T) {
	o, _ := openOutput(t)
	got := make(chan error)
	go func() {
		_, err := o.Read(make([]byte, 1))
		got <- err
	}()
	o.endNow()
	if err := <-got; err != io.EOF {
		t.Errorf("got %v, want io.EOF", err)
	}
}

// A process that holds the pipe and never stops writing cannot fill the memory.
func TestOutputOfFlood(t *testing.T) {
	o, w := openOutput(t)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		chunk := bytes.Repeat([]byte("x"), 64<<10)
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}()
	go o.childExited(time.Now().Add(time.Hour))
	buf := make([]byte, 64<<10)
	for range 100 { // a reader gets more than is ever kept
		if _, err := io.ReadFull(o, buf); err != nil {
			t.Fatal(err)
		}
	}
	o.endNow()
	<-stopped
	got, err := io.ReadAll(o)
	if limit := 2*maxRemaining + 128<<10; err != nil || len(got) > limit {
		t.Errorf("got %d bytes, %v, want %d at most", len(got), err, limit)
	}
	if n, err := o.Read(nil); n != 0 || err != nil {
		t.Errorf("empty read: got %d, %v", n, err)
	}
}
