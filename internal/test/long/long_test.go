package long_test

import (
	"fmt"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
)

func TestLevels(t *testing.T) {
	for _, test := range []struct {
		value string
		long  bool
		pick  int
	}{{"", false, 3}, {"1", true, 500}, {"yes", true, 500}} {
		t.Setenv(long.Variable, test.value)
		if got := long.Enabled(); got != test.long {
			t.Errorf("%s=%q: enabled is %v, want %v", long.Variable, test.value, got, test.long)
		}
		if got := long.Pick(3, 500); got != test.pick {
			t.Errorf("%s=%q: picked %d, want %d", long.Variable, test.value, got, test.pick)
		}
		s := &skipper{T: t}
		long.Test(s, "needs a browser")
		want := "long: it needs a browser; LONG_TESTS=1 go test -run '^TestLevels$' runs it"
		if test.long {
			want = ""
		}
		if s.reason != want {
			t.Errorf("%s=%q: skipped with %q, want %q", long.Variable, test.value, s.reason, want)
		}
	}
}

// skipper notes that a test would be skipped.
type skipper struct {
	*testing.T
	reason string
}

func (s *skipper) Skipf(format string, args ...any) { s.reason = fmt.Sprintf(format, args...) }
