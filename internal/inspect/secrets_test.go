package inspect_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/inspect"
	"github.com/claude-agent-go/claude/internal/test/cputime"
	"github.com/claude-agent-go/claude/internal/test/long"
)

// naming is a recording that names n secrets, each in a line of its own that
// also mentions another one.
func naming(n int) []byte {
	var out bytes.Buffer
	for i := range n {
		fmt.Fprintf(&out, `{"dir":"out","t_ms":%d,"msg":{"type":"system","subtype":"x","password":"secret-%08d","text":"it was secret-%08d before"}}`+"\n", i, i, (i*7919)%n)
	}
	return out.Bytes()
}

// A recording that names many secrets is read in a time that grows with its
// length, and not with its square.
func TestManySecrets(t *testing.T) {
	long.Test(t, "reads thousands of secrets; internal/secret.TestManySecrets is the quick one")
	took := func(n int) time.Duration {
		in := naming(n)
		best := time.Hour
		for range 3 {
			begin := cputime.Used()
			rep, err := inspect.Read(bytes.NewReader(in), nil)
			if err != nil {
				t.Fatal(err)
			}
			best = min(best, cputime.Used()-begin)
			for _, f := range rep.Frames {
				if bytes.Contains(f.Msg, []byte("secret-")) {
					t.Fatalf("a secret is shown: %s", f.Msg)
				}
			}
		}
		return best
	}
	const n, times = 500, 16
	few, many := took(n), took(times*n)
	t.Logf("%d secrets: %v, %d: %v", n, few, times*n, many)
	if many > max(few, time.Millisecond)*times*4 {
		t.Errorf("%d times as many secrets took %.0f times as long", times, float64(many)/float64(few))
	}
}
