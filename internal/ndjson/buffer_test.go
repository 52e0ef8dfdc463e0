package ndjson_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/ndjson"
)

// TestReaderBuffer lets the buffer grow, shrink and take what follows a long
// line, in pieces of all sizes.
func TestReaderBuffer(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var in bytes.Buffer
	var want []int
	for range 60 {
		for range rnd.IntN(40) { // calm
			want = append(want, 1+rnd.IntN(300))
		}
		want = append(want, 1+rnd.IntN(200<<rnd.IntN(11)))
	}
	for i, n := range want {
		in.Write(bytes.Repeat([]byte{byte('a' + i%26)}, n))
		in.WriteByte('\n')
	}
	for _, size := range []int{1000, 4 << 10, 5000, 32 << 10, 64 << 10, 1 << 20} {
		waited := 0
		r := ndjson.NewReader(&chunks{in: in.Bytes(), size: size})
		r.BeforeRead = func() { waited++ }
		r.ShortLived = func(line []byte) bool { return len(line)%3 > 0 }
		lines := make([][]byte, len(want))
		for i, n := range want {
			var err error
			if lines[i], err = r.Next(); err != nil || len(lines[i]) != n {
				t.Fatalf("pieces of %d: line %d has %d bytes, %v, want %d", size, i, len(lines[i]), err, n)
			}
		}
		for i, line := range lines { // they are ours, and stay as they are
			if len(bytes.Trim(line, string(rune('a'+i%26)))) > 0 {
				t.Errorf("pieces of %d: line %d was written over", size, i)
			}
			_ = append(line, "\n\n"...) // not shared with another line
		}
		if least := in.Len() / max(size, 64<<10); waited < least {
			t.Errorf("pieces of %d: told %d times that a read may wait, want %d at least", size, waited, least)
		}
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("pieces of %d: %v at the end", size, err)
		}
	}
}

// TestReaderBeforeRead wants to be told before a read that brings no whole line.
func TestReaderBeforeRead(t *testing.T) {
	from, to := io.Pipe()
	r := ndjson.NewReader(from)
	told := make(chan string, 10)
	lines := 0
	r.BeforeRead = func() { told <- fmt.Sprint(lines) }
	go func() {
		for {
			if _, err := r.Next(); err != nil {
				return
			}
			lines++
		}
	}()
	for _, step := range []struct{ write, want string }{{"", "0"}, {"a\nb\nhalf", "2"}, {" a line\n", "3"}} {
		if step.write != "" {
			io.WriteString(to, step.write)
		}
		if got := <-told; got != step.want {
			t.Errorf("after %q: told at %s lines, want %s", step.write, got, step.want)
		}
	}
	to.Close()
}

// TestReaderAllocations pins what a line costs: itself.
func TestReaderAllocations(t *testing.T) {
	r := ndjson.NewReader(&endless{line: append(bytes.Repeat([]byte("x"), 250), '\n')})
	for range 1000 {
		r.Next()
	}
	if n := testing.AllocsPerRun(1000, func() { r.Next() }); n > 1 {
		t.Errorf("%v allocations for a line, want 1", n)
	}
}

// room answers each read with a line of the length it is told, and notes how
// much room the reader offered.
type room struct {
	lengths []int
	offered []int
}

func (r *room) Read(p []byte) (int, error) {
	r.offered = append(r.offered, len(p))
	if len(r.lengths) == 0 {
		return 0, io.EOF
	}
	n := min(len(p), r.lengths[0])
	r.lengths = r.lengths[1:]
	for i := range n {
		p[i] = 'x'
	}
	p[n-1] = '\n'
	return n, nil
}

// A session that waits holds a small buffer, one in a burst a large one; a few
// small reads do not change that yet.
func TestReaderBufferFollowsTheStream(t *testing.T) {
	const small, large = 4 << 10, 32 << 10
	burst := []int{1 << 20, 1 << 20, 1 << 20}
	calm := func(n int) []int { return slices.Repeat([]int{100}, n) }
	for name, tt := range map[string]struct {
		reads []int
		last  int
	}{
		"at first":           {nil, small},
		"calm":               {calm(40), small},
		"after a burst":      {burst, large},
		"a short pause":      {slices.Concat(burst, calm(10)), large},
		"a long pause":       {slices.Concat(burst, calm(40)), small},
		"pauses":             {slices.Concat(burst, calm(10), []int{3000}, calm(10)), large},
		"steady":             {slices.Concat(burst, slices.Repeat([]int{3000}, 40)), large},
		"a burst once again": {slices.Concat(burst, calm(40), burst), large},
	} {
		src := &room{lengths: tt.reads}
		r := ndjson.NewReader(src)
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
		if last := src.offered[len(src.offered)-1]; last != tt.last {
			t.Errorf("%s: the last read had room for %d bytes, want %d; all: %d", name, last, tt.last, src.offered)
		}
	}
}

// A reader that expects a pause waits with a small buffer, however much came
// before, but not in the middle of a line.
func TestReaderBufferIsSmallInPauses(t *testing.T) {
	const small, large = 4 << 10, 32 << 10
	for name, tt := range map[string]struct {
		calm  bool
		share bool
		tail  string
		last  int
	}{
		"busy":             {false, false, "", large},
		"busy, shared":     {false, true, "", large},
		"calm":             {true, false, "", small},
		"calm, shared":     {true, true, "", small},
		"inside of a line": {true, true, "half", large - len("half")},
	} {
		text := strings.Repeat(strings.Repeat("x", 250)+"\n", 400)
		src := &offers{in: text[:len(text)/(32<<10)*(32<<10)-1] + "\n" + tt.tail}
		r := ndjson.NewReader(src)
		over := false
		r.PauseLikely = func() bool { return over && tt.calm }
		r.ShortLived = func([]byte) bool { return tt.share }
		for {
			over = src.in == ""
			line, err := r.Next()
			if err != nil {
				break
			}
			defer func() {
				if len(bytes.Trim(line, "x")) > 0 {
					t.Errorf("%s: a line was written over", name)
				}
			}()
		}
		if src.last != tt.last {
			t.Errorf("%s: the last read had room for %d bytes, want %d", name, src.last, tt.last)
		}
	}
}

// offers is a text that notes how much room the last read offered.
type offers struct {
	in   string
	last int
}

func (o *offers) Read(p []byte) (int, error) {
	o.last = len(p)
	if o.in == "" {
		return 0, io.EOF
	}
	n := copy(p, o.in)
	o.in = o.in[n:]
	return n, nil
}

// However many lines come, the buffer they are read into stays the same one.
func TestReaderReusesItsBuffer(t *testing.T) {
	const lines, length = 20_000, 250
	r := ndjson.NewReader(&endless{line: append(bytes.Repeat([]byte("x"), length), '\n')})
	var before, after runtimeBytes
	before.read()
	for range lines {
		r.Next()
	}
	after.read()
	if grown := after.total - before.total; grown > lines*length*3/2 {
		t.Errorf("allocated %d bytes for lines of %d", grown, lines*length)
	}
}
