package jsonx

import (
	"encoding/binary"
	"math/bits"
	"testing"
)

// The first mark is at the first byte that does not mean itself, whatever is
// around it.
func TestSpecialBytes(t *testing.T) {
	special := func(c byte) bool { return c < 0x20 || c == '"' || c == '\\' }
	for _, around := range []byte{'a', ' ', '!', '#', '[', ']', 0x7f, 0x80, 0xa2, 0xdc, 0xff} {
		for place := range 8 {
			for c := range 256 {
				for _, next := range []byte{around, '"', 0, '\\', '!', ' '} {
					text := [8]byte{around, around, around, around, around, around, around, around}
					text[place] = byte(c)
					if place < 7 {
						text[place+1] = next
					}
					want := 8
					for i, c := range text {
						if special(c) {
							want = i
							break
						}
					}
					if got := bits.TrailingZeros64(specialBytes(binary.LittleEndian.Uint64(text[:]))) / 8; got != want {
						t.Fatalf("the first special byte of %q is at %d, want %d", text, got, want)
					}
				}
			}
		}
	}
}
