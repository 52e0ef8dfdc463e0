package secret_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/secret"
	"github.com/claude-agent-go/claude/internal/test/cputime"
)

// Many secrets that are learned and looked for in many lines take work that
// grows with the lines, and not with their square.
func TestManySecrets(t *testing.T) {
	took := func(n int) time.Duration {
		best := time.Hour
		for range 3 {
			begin := cputime.Used()
			s := new(secret.Set)
			for i := range n {
				s.Learn(fmt.Appendf(nil, `{"password":"secret-%08d"}`, i))
			}
			for i := range n {
				line := fmt.Appendf(nil, `{"text":"it was secret-%08d before"}`, i)
				if got := string(s.JSON(line)); got != `{"text":"it was [redacted] before"}` {
					t.Fatalf("got %s", got)
				}
			}
			best = min(best, cputime.Used()-begin)
		}
		return best
	}
	const n, times = 1000, 16
	few, many := took(n), took(times*n)
	if many > max(few, time.Millisecond)*times*4 {
		t.Errorf("%d times as many secrets took %.0f times as long: %v, then %v", times, float64(many)/float64(few), few, many)
	}
}
