// Package uuid makes and checks the ids of sessions and messages.
package uuid

import (
	"crypto/rand"
	"fmt"
)

// New returns a random UUID of version 4.
func New() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
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
