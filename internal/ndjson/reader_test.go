package ndjson_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/claude-agent-go/claude/internal/ndjson"
)

// drain reads to the end. Each line and each error but io.EOF is one entry.
func drain(r *ndjson.Reader) []string {
	var got []string
	for range 1 << 20 {
		line, err := r.Next()
		switch {
		case err == io.EOF:
			return got
		case err != nil:
			got = append(got, errorName(err))
		default:
			got = append(got, string(line))
		}
	}
	return append(got, "endless")
}

func errorName(err error) string {
	if e, ok := errors.AsType[*ndjson.TooLongError](err); ok {
		return fmt.Sprintf("too long %d", e.Size)
	}
	if e, ok := errors.AsType[*ndjson.TruncatedError](err); ok {
		return fmt.Sprintf("truncated %d", e.Size)
	}
	return err.Error()
}

func TestReaderLines(t *testing.T) {
	big := strings.Repeat("x", 300<<10)
	tests := []struct {
		name, in string
		want     []string
	}{
		{"empty", "", nil},
		{"one", "a\n", []string{"a"}},
		{"many in one read", "a\nb\nc\n", []string{"a", "b", "c"}},
		{"CRLF", "a\r\nb\r\n", []string{"a", "b"}},
		{"blank lines", "\n \n\t\r\na\n\r\n", []string{"a"}},
		{"byte order mark", "\xef\xbb\xbfa\nb\n", []string{"a", "b"}},
		{"byte order mark inside", "a\n\xef\xbb\xbfb\n", []string{"a", "\xef\xbb\xbfb"}},
		{"line separators are text", "a\u2028b\u2029c\u0085d\n", []string{"a\u2028b\u2029c\u0085d"}},
		{"NUL and invalid UTF-8", "a\x00\xff\n", []string{"a\x00\xff"}},
		{"over the buffer", big + "\nb\n", []string{big, "b"}},
		{"truncated", "a\nbc", []string{"a", "truncated 2"}},
		{"truncated over the buffer", big, []string{fmt.Sprint("truncated ", len(big))}},
		{"blank tail", "a\n  ", []string{"a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := drain(ndjson.NewReader(strings.NewReader(tt.in))); !slices.Equal(got, tt.want) {
				t.Errorf("got %.100q, want %.100q", got, tt.want)
			}
			one := iotest.OneByteReader(strings.NewReader(tt.in))
			if got := drain(ndjson.NewReader(one)); !slices.Equal(got, tt.want) {
				t.Errorf("byte by byte: got %.100q, want %.100q", got, tt.want)
			}
			early := iotest.DataErrReader(strings.NewReader(tt.in))
			if got := drain(ndjson.NewReader(early)); !slices.Equal(got, tt.want) {
				t.Errorf("error with the data: got %.100q, want %.100q", got, tt.want)
			}
		})
	}
}

func TestReaderLimit(t *testing.T) {
	for _, size := range []int{0, 9, 10, 11, 4<<10 - 1, 4 << 10, 32<<10 - 1, 32 << 10, 64 << 10, 64<<10 + 1, 200 << 10} {
		in := strings.Repeat("x", size) + "\nnext\n"
		r := ndjson.NewReader(strings.NewReader(in))
		r.Limit = 10
		want := []string{fmt.Sprint("too long ", size), "next"}
		if size <= 10 {
			want = []string{strings.Repeat("x", size), "next"}
		}
		if size == 0 {
			want = want[1:]
		}
		if got := drain(r); !slices.Equal(got, want) {
			t.Errorf("size %d: got %.80q, want %.80q", size, got, want)
		}
	}
}

// A line of just the limit is read, and one byte more is too long, wherever the
// reads of a long line end.
func TestReaderExactLimit(t *testing.T) {
	for _, limit := range []int{32<<10 - 1, 32 << 10, 96<<10 - 1, 96 << 10, 160 << 10} {
		for _, size := range []int{limit, limit + 1} {
			r := ndjson.NewReader(strings.NewReader(strings.Repeat("x", size) + "\nnext\n"))
			r.Limit = limit
			line, err := r.Next()
			if _, long := errors.AsType[*ndjson.TooLongError](err); long != (size > limit) || !long && len(line) != size {
				t.Errorf("limit %d: %d bytes of %d, %v", limit, len(line), size, err)
			}
			if line, err := r.Next(); string(line) != "next" {
				t.Errorf("limit %d: after a line of %d: %q, %v", limit, size, line, err)
			}
		}
	}
}

// An error gives the length of the line, and nothing of its content.
func TestReaderErrorsKeepSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"a secret\n": "line of 8 bytes is over the limit and was dropped",
		"a secret":   "stream ended inside a line, after 8 bytes of it",
	} {
		r := ndjson.NewReader(strings.NewReader(text))
		r.Limit = 5
		if _, err := r.Next(); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// A stream that breaks inside a line over the limit has broken: that counts more.
func TestReaderBreaksInsideAnOversizedLine(t *testing.T) {
	broken := errors.New("pipe broke")
	r := ndjson.NewReader(io.MultiReader(io.LimitReader(neverEnding('x'), 300<<10), iotest.ErrReader(broken)))
	r.Limit = 100 << 10
	for range 2 {
		if _, err := r.Next(); err != broken {
			t.Errorf("Next = %v, want %v", err, broken)
		}
	}
}

func TestReaderOversizedIsNotKept(t *testing.T) {
	const limit, size = 2 << 20, 64 << 20
	line := io.LimitReader(neverEnding('x'), size)
	r := ndjson.NewReader(io.MultiReader(line, strings.NewReader("\nnext\n")))
	r.Limit = limit
	longest := 0
	r.OnLongLine = func(n int) { longest = max(longest, n) }

	var before, after runtimeBytes
	before.read()
	_, err := r.Next()
	after.read()
	long, ok := errors.AsType[*ndjson.TooLongError](err)
	if !ok || long.Size != size || !bytes.HasPrefix(long.Head, []byte("xxxx")) || len(long.Head) != 1024 {
		t.Fatalf("error = %v, want a TooLongError of %d bytes with its head", err, size)
	}
	if grown := after.total - before.total; grown > 8*limit {
		t.Errorf("allocated %d bytes for a dropped line of %d", grown, size)
	}
	if longest == 0 {
		t.Error("Long was not called")
	}
	if line, err := r.Next(); string(line) != "next" {
		t.Errorf("after it: %q, %v, want the next line", line, err)
	}
}

func TestReaderJustBelowTheLimit(t *testing.T) {
	const size = ndjson.DefaultLimit - 1
	r := ndjson.NewReader(io.MultiReader(io.LimitReader(neverEnding('x'), size), strings.NewReader("\nnext\n")))
	if line, err := r.Next(); len(line) != size || err != nil {
		t.Errorf("Next = %d bytes, %v, want %d", len(line), err, size)
	}
	if line, err := r.Next(); string(line) != "next" {
		t.Errorf("after it: %q, %v", line, err)
	}
}

func TestReaderOversizedTail(t *testing.T) {
	r := ndjson.NewReader(io.LimitReader(neverEnding('x'), 200<<10))
	r.Limit = 100 << 10
	if got := drain(r); !slices.Equal(got, []string{fmt.Sprint("truncated ", 200<<10)}) {
		t.Errorf("got %q", got)
	}
}

func TestReaderErrorIsFinal(t *testing.T) {
	broken := errors.New("pipe broke")
	r := ndjson.NewReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)))
	if line, err := r.Next(); string(line) != "a" || err != nil {
		t.Fatalf("Next = %q, %v", line, err)
	}
	for range 2 {
		if _, err := r.Next(); err != broken {
			t.Errorf("Next = %v, want %v", err, broken)
		}
	}
}

func TestReaderNoProgress(t *testing.T) {
	r := ndjson.NewReader(stuck{})
	if _, err := r.Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("Next = %v, want %v", err, io.ErrNoProgress)
	}
}

func TestReaderLinesAreTheCallers(t *testing.T) {
	// In chunks, so that the second line comes to where the first was.
	r := ndjson.NewReader(&chunks{in: []byte("aaaa\nbbbb\n"), size: 5})
	first, _ := r.Next()
	r.Next()
	if string(first) != "aaaa" {
		t.Errorf("the first line became %q", first)
	}
}

// FuzzReader holds the Reader against splitting the whole input at once.
func FuzzReader(f *testing.F) {
	f.Add([]byte("a\r\n\n{\"b\":1}\nc"), uint8(3), uint16(0))
	f.Add([]byte("\xef\xbb\xbf{}\n"), uint8(1), uint16(0))
	f.Add([]byte("abc\nab\n\r\n    \nabcd"), uint8(0), uint16(2))
	f.Fuzz(func(t *testing.T, in []byte, chunk uint8, limit uint16) {
		r := ndjson.NewReader(&chunks{in: in, size: int(chunk) + 1})
		r.Limit = int(limit)
		if got, want := drain(r), oracle(in, int(limit)); !slices.Equal(got, want) {
			t.Errorf("got %.1000q, want %.1000q", got, want)
		}
	})
}

// oracle computes what a Reader must return, in the plainest way.
func oracle(in []byte, limit int) []string {
	if limit == 0 {
		limit = ndjson.DefaultLimit
	}
	var want []string
	lines := bytes.Split(in, []byte("\n"))
	begun := false
	for _, line := range lines[:len(lines)-1] {
		if len(line) > limit {
			want = append(want, fmt.Sprint("too long ", len(line)))
			continue
		}
		if !begun {
			begun = true
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(bytes.Trim(line, " \t\r")) > 0 {
			want = append(want, string(line))
		}
	}
	if tail := lines[len(lines)-1]; len(bytes.TrimSpace(tail)) > 0 {
		want = append(want, fmt.Sprint("truncated ", len(tail)))
	}
	return want
}

func BenchmarkReader(b *testing.B) {
	line := append(bytes.Repeat([]byte("x"), 250), '\n')
	r := ndjson.NewReader(&endless{line: line})
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

// A last line without its line feed is there whole, if it is within the limit.
func TestReaderLastLine(t *testing.T) {
	big := strings.Repeat("x", 100<<10)
	for _, test := range []struct {
		name, text string
		limit      int
		want       string
	}{
		{"short", "a\nlast", 0, "last"},
		{"carriage return", "a\nlast\r", 0, "last"},
		{"over the buffer", "a\n" + big, 0, big},
		{"byte order mark", "\xef\xbb\xbflast", 0, "last"},
		{"at the limit", "a\nlast", 4, "last"},
		{"over the limit", "a\nlast", 3, ""},
		{"far over the limit", "a\n" + big, 3, ""},
	} {
		r := ndjson.NewReader(strings.NewReader(test.text))
		r.Limit = test.limit
		var err error
		for err == nil {
			_, err = r.Next()
		}
		cut, ok := errors.AsType[*ndjson.TruncatedError](err)
		if !ok || string(cut.Line) != test.want {
			t.Errorf("%s: error %v, want a line of %d bytes", test.name, err, len(test.want))
		}
	}
}
