package proc

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// endless is an endless environment that counts the bytes read.
type endless struct{ read int }

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	e.read += len(b)
	return len(b), nil
}

func TestEnvironmentIsReadWithinBounds(t *testing.T) {
	const entry = "MARK=1"
	long := strings.Repeat("long", 10<<10)
	for env, want := range map[string]bool{
		"":                                     false,
		"A=1\x00MARK=1\x00B=2\x00":             true,
		"MARK=1":                               true, // a last one without its end
		"A=1\x00MARK=12\x00":                   false,
		"XMARK=1\x00":                          false,
		"A=" + long + "\x00MARK=1\x00":         true,
		"A=" + long + "MARK=1\x00B=2\x00":      false,
		"A=" + long + "\x00B=" + long + "\x00": false,
	} {
		if got := hasEntry(strings.NewReader(env), entry); got != want {
			t.Errorf("%.40q: %v", env, got)
		}
	}
	// The entry stands at the border of two reads.
	for n := 4080; n < 4110; n++ {
		if env := "A=" + strings.Repeat("x", n) + "\x00MARK=1\x00"; !hasEntry(iotestOne{strings.NewReader(env)}, entry) {
			t.Errorf("not found after %d bytes", n)
		}
	}
	e := new(endless)
	if hasEntry(e, entry) || e.read > maxEnviron+4<<10 {
		t.Errorf("%d bytes read of an environment without an end", e.read)
	}
}

// iotestOne reads one byte at a time.
type iotestOne struct{ r io.Reader }

func (o iotestOne) Read(b []byte) (int, error) { return o.r.Read(b[:1]) }

// Each look goes through every process of the system, so there are few of them.
func TestLooksBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks, begin := 0, time.Now()
		if pollUntil(2*time.Second, func() bool { looks++; return false }) {
			t.Error("nothing is gone")
		}
		if looks < 10 || looks > 20 || time.Since(begin) != 2*time.Second {
			t.Errorf("%d looks in %v", looks, time.Since(begin))
		}
		// What goes at once is seen at once, and what goes in the end too.
		begin = time.Now()
		if !pollUntil(2*time.Second, func() bool { return time.Since(begin) >= 15*time.Millisecond }) || time.Since(begin) > 40*time.Millisecond {
			t.Errorf("seen after %v", time.Since(begin))
		}
		begin = time.Now()
		if !pollUntil(time.Second, func() bool { return time.Since(begin) >= time.Second }) {
			t.Error("the last look is missing")
		}
	})
}
