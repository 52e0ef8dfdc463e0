package ndjson_test

import (
	"bytes"
	"testing"

	"github.com/claude-agent-go/claude/internal/ndjson"
	"github.com/claude-agent-go/claude/internal/test/long"
)

// A long line has the room it needs and no more, and what the beginning of it was
// read into is used again.
func TestLongLineAllocations(t *testing.T) {
	for _, size := range []int{33 << 10, 100_000, 256 << 10, 256<<10 + 1, 1_000_000} {
		r := ndjson.NewReader(&endless{line: append(bytes.Repeat([]byte("x"), size), '\n')})
		lines := long.Pick(25, 100)
		var before, after runtimeBytes
		before.read()
		for range lines {
			line, err := r.Next()
			if err != nil || len(line) != size {
				t.Fatalf("%d bytes of %d, %v", len(line), size, err)
			}
			if r.Retained() > size+size/4 {
				t.Fatalf("a line of %d bytes holds %d", size, r.Retained())
			}
		}
		after.read()
		if each := int(after.total-before.total) / lines; each > 2*size+(64<<10) {
			t.Errorf("%d bytes were allocated for each line of %d", each, size)
		}
	}
}

// BenchmarkLongLine reads lines that are longer than the buffer.
func BenchmarkLongLine(b *testing.B) {
	for name, size := range map[string]int{"100KB": 100_000, "10MB": 10_000_000} {
		b.Run(name, func(b *testing.B) {
			r := ndjson.NewReader(&endless{line: append(bytes.Repeat([]byte("x"), size), '\n')})
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if line, err := r.Next(); err != nil || len(line) != size {
					b.Fatalf("%d bytes, %v", len(line), err)
				}
			}
		})
	}
}
