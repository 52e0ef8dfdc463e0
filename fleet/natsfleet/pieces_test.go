package natsfleet_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/claude-agent-go/claude/fleet/natsfleet"
)

// Pieces make a frame if all of them come, in order. Odd pieces are left out, and
// do not harm the following ones.
func TestJoiner(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ pieces, want string }{
		"whole":            {"=one", "one"},
		"three":            {"a 1/3=o,a 2/3=n,a 3/3=e", "one"},
		"one after two":    {"a 1/2=o,a 2/2=ne,=two", "one two"},
		"one is missing":   {"a 1/3=o,a 3/3=e,=two", "two"},
		"first is missing": {"a 2/3=n,a 3/3=e,=two", "two"},
		"one comes twice":  {"a 1/2=o,a 1/2=o,a 2/2=ne", "one"},
		"last comes twice": {"a 1/2=o,a 2/2=ne,a 2/2=ne", "one"},
		"two at once":      {"a 1/2=o,b 1/2=t,a 2/2=ne,b 2/2=wo", "one two"},
		"one is left":      {"a 1/2=o,b 1/2=t,b 2/2=wo,c 1/1=three", "two three"},
		"a whole between":  {"a 1/2=o,=two,a 2/2=ne", "two one"},
		"nonsense":         {"x=x,a 0/0=x,a 2/1=x,a -1/2=x,a x/y=x,a 1/=x,a 1/2=o,a 2/2=ne", "one"},
	} {
		var j natsfleet.Joiner
		var got []string
		for piece := range strings.SplitSeq(c.pieces, ",") {
			header, data, _ := strings.Cut(piece, "=")
			m := &nats.Msg{Header: make(nats.Header), Data: []byte(data)}
			if header != "" {
				m.Header.Set("Piece", header)
			}
			if frame, whole := j.Add(m); whole {
				got = append(got, string(frame))
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q; want %q", name, got, c.want)
		}
	}
}

// An endless sender of pieces does not fill the memory.
func TestJoinerIsBounded(t *testing.T) {
	t.Parallel()
	var j natsfleet.Joiner
	data := make([]byte, 60<<20)
	for i, piece := range []string{"a 1/3", "a 2/3", "a 3/3"} {
		if frame, whole := j.Add(&nats.Msg{Header: nats.Header{"Piece": {piece}}, Data: data}); whole {
			t.Errorf("piece %d makes a frame of %d bytes", i+1, len(frame))
		}
	}
}
