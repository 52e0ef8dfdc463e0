// Package uuid makes and checks the ids of sessions and messages.
package uuid

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// New returns a random UUID of version 4.
func New() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return text(b, 4)
}

// Named returns the UUID of a list of texts in a space of names: of version 8, from
// their SHA-256. The length of each text is part of it, so that no two lists are joined
// to the same text.
func Named(space string, parts ...string) string {
	h := sha256.New()
	for _, part := range append([]string{space}, parts...) {
		h.Write(binary.AppendUvarint(nil, uint64(len(part)))) // a hash never fails
		h.Write([]byte(part))
	}
	return text([16]byte(h.Sum(nil)), 8)
}

// text writes a UUID of a version as text.
func text(b [16]byte, version byte) string {
	b[6], b[8] = b[6]&0x0f|version<<4, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Valid reports whether id is a UUID as the CLI writes them: hexadecimal digits
// in groups of 8, 4, 4, 4 and 12. Nothing else may become a part of a path.
func Valid(id string) bool {
	if len(id) != 36 {
		return false
	}
	for i := range len(id) {
		c := id[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
				return false
			}
		}
	}
	return true
}
