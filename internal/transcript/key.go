package transcript

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// key stands for the id of an entry: a UUID is its own key, any other text has a
// hash that an attacker cannot aim at. The zero key stands for no id.
type key [16]byte

// mark stands for an id that is only compared with others, of a tool call or of
// an answer. Zero stands for none.
type mark uint64

// hasher makes keys and marks. Those of one hasher can be compared.
type hasher struct{ seeds [2]maphash.Seed }

func newHasher() *hasher { return &hasher{[2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}} }

// key returns the key of a text.
func (h *hasher) key(text []byte) (k key) {
	if len(text) == 0 || k.parse(text) {
		return k
	}
	binary.LittleEndian.PutUint64(k[:8], maphash.Bytes(h.seeds[0], text))
	binary.LittleEndian.PutUint64(k[8:], maphash.Bytes(h.seeds[1], text))
	return k
}

// mark returns the mark of a text.
func (h *hasher) mark(text []byte) mark {
	if len(text) == 0 {
		return 0
	}
	return max(1, mark(maphash.Bytes(h.seeds[0], text)))
}

// unquoted returns the text of a JSON string, nothing for any other value.
func unquoted(value []byte) []byte {
	if len(value) < 3 || value[0] != '"' {
		return nil
	}
	if bytes.IndexByte(value, '\\') >= 0 {
		return []byte(jsonx.Text(value))
	}
	return value[1 : len(value)-1]
}

// parse reads a UUID in lower case, other than the one that is all zeros. Another
// spelling is another id, as it is for the CLI.
func (k *key) parse(text []byte) bool {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return false
	}
	var id key
	for i, at := range pairs {
		high, low := digits[text[at]], digits[text[at+1]]
		if high == 0 || low == 0 {
			return false
		}
		id[i] = (high-1)<<4 | (low - 1)
	}
	if id == (key{}) {
		return false
	}
	*k = id
	return true
}

// pairs holds the positions of each byte's digits in a UUID.
var pairs = [16]byte{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34}

// digits holds the values of hexadecimal digits, plus one.
var digits = [256]byte{
	'0': 1, '1': 2, '2': 3, '3': 4, '4': 5, '5': 6, '6': 7, '7': 8, '8': 9, '9': 10,
	'a': 11, 'b': 12, 'c': 13, 'd': 14, 'e': 15, 'f': 16,
}
