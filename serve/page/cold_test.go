package page_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
)

// A conversation without followers costs the same to open, however long it is. It is
// compared with one that is long enough to fill a screen.
func TestColdLoadDoesNotGrow(t *testing.T) {
	lengths := []int{100, 100 + segment*long.Pick(4, 24)}
	rounds, loads := 4, long.Pick(4, 10)
	var load []effort
	for i, n := range lengths {
		r := newRig(t)
		session := fmt.Sprintf("00000000-0000-4000-8000-30000000000%d", i)
		r.talk(session, n)
		path := r.http.URL + "/c/" + r.resumed(session, n)
		c := r.client(ada)
		load = append(load, cheapest(rounds, loads, func() {
			for range loads {
				if status, body := get(t, c, path); status != http.StatusOK || !strings.Contains(body, fmt.Sprintf("Answer <strong>%d</strong>", n-1)) {
					t.Fatalf("%d lines: status %d, %d bytes", n, status, len(body))
				}
			}
		}))
		t.Logf("%d events: %+v for a load", n, load[i])
	}
	short, whole := load[0], load[1]
	if float64(whole.bytes) > 1.5*float64(short.bytes) {
		t.Errorf("a load of %d events allocates %d bytes, of %d %d", lengths[0], short.bytes, lengths[1], whole.bytes)
	}
	if whole.cpu > 4*short.cpu+10*time.Millisecond {
		t.Errorf("a load of %d events takes %v, of %d %v", lengths[0], short.cpu, lengths[1], whole.cpu)
	}
}
