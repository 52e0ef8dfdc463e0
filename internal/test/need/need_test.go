package need

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// A test on Linux never skips: the gate relies on that.
func TestOn(t *testing.T) {
	for _, n := range Things() {
		if !on(n, "linux") {
			t.Errorf("Linux lacks %s", n)
		}
		if on(n, "windows") {
			t.Errorf("Windows has %s: then no test needs to name it", n)
		}
		if got := on(n, "darwin"); got != (n != Processes && n != Namespaces) {
			t.Errorf("%s on macOS: %v", n, got)
		}
	}
}

type skipped struct {
	T
	reason string
}

func (s *skipped) Helper()                          {}
func (s *skipped) Skipf(format string, args ...any) { s.reason = fmt.Sprintf(format, args...) }

func TestTest(t *testing.T) {
	for _, n := range append(Things(), "nothing") {
		s := &skipped{T: t}
		n.Test(s)
		if n.Here() != (s.reason == "") && n != Symlinks {
			t.Errorf("%s is here: %v, and the test is skipped with %q", n, n.Here(), s.reason)
		}
		if s.reason != "" && !strings.Contains(s.reason, string(n)+", which "+runtime.GOOS+" lacks") {
			t.Errorf("the reason is %q", s.reason)
		}
	}
	if dir := t.TempDir(); canLink(dir + "/none") {
		t.Error("a link in no folder")
	} else if Symlinks.Here() && !canLink(dir) {
		t.Error("no link can be made")
	}
}
