package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestQuietStream rests once after each pause, and not while something goes through. It
// distinguishes answers from other messages.
func TestQuietStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answers, rests atomic.Int32
		in, feed := io.Pipe()
		s := newQuietStream(editorStream{in, io.Discard}, diet{func() { answers.Add(1) }, func() { rests.Add(1) }})
		go io.Copy(io.Discard, s)
		pass := func(d time.Duration, want int32) {
			t.Helper()
			<-time.After(d)
			synctest.Wait()
			if got := rests.Load(); got != want {
				t.Errorf("%d rests, want %d", got, want)
			}
		}
		pass(quietAfter-time.Millisecond, 0)
		for range 5 {
			s.Write([]byte("x"))
			pass(quietAfter-time.Millisecond, 0)
			feed.Write([]byte("x"))
			pass(quietAfter-time.Millisecond, 0)
		}
		pass(time.Millisecond, 1)
		pass(time.Hour, 1)
		s.Write([]byte("x"))
		pass(quietAfter, 2)
		s.Write([]byte("x"))
		for range 1000 { // of a replay
			s.Write([]byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","title":"Bash"}}}`))
		}
		s.Write([]byte(`{"jsonrpc":"2.0","id":"n","method":"session/request_permission","params":{}}`))
		s.Write([]byte(`{"jsonrpc":"2.0","id":7,"result":{"stopReason":"end_turn"}}`))
		s.Write([]byte(`{"jsonrpc":"2.0","id":"n","error":{"code":1,"message":"no"}}`))
		s.Close()
		pass(time.Hour, 2)
		if answers.Load() != 2 {
			t.Errorf("%d messages were answers, want 2", answers.Load())
		}
	})
}

// TestUnchanged finds what can be read again from the file, and nothing else.
func TestUnchanged(t *testing.T) {
	var smaps strings.Builder
	add := func(line string, anonymous, swap int) {
		fmt.Fprintf(&smaps, "%s\nSize:  40 kB\nRss: 40 kB\nAnonymous: %d kB\nLazyFree: 0 kB\nSwap:  %d kB\nSwapPss: 0 kB\nVmFlags: rd mr\n", line, anonymous, swap)
	}
	add("00400000-00eae000 r-xp 00000000 fe:00 4711                               /usr/bin/claude ctl", 0, 0)
	add("00eae000-019b5000 r--p 00aae000 fe:00 4711                               /usr/bin/claude ctl", 0, 0)
	add("019b5000-01a48000 rw-p 015b5000 fe:00 4711                               /usr/bin/claude ctl", 0, 0)
	add("01a48000-01a49000 r--p 01600000 fe:00 4711                               /usr/bin/claude ctl", 4, 0)
	add("01a49000-01a4a000 r--p 01601000 fe:00 4711                               /usr/bin/claude ctl", 0, 4)
	add("7f77bb2e0000-7f77bb500000 r--p 00000000 fe:00 12                         /usr/lib/claude ctl", 0, 0)
	add("7f77bb500000-7f77bd600000 r--p 00000000 00:00 0 ", 0, 0)
	if got, want := unchanged(strings.NewReader(smaps.String()), "/usr/bin/claude ctl"), []mapping{{0x400000, 0xeae000}, {0xeae000, 0x19b5000}}; !slices.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}

// TestSizes reads what the kernel reports of the memory, in pages.
func TestSizes(t *testing.T) {
	page := os.Getpagesize()
	for text, want := range map[string][2]int{"3129 1034 618 250 0 499 0\n": {1034 * page, 618 * page}, "": {}, "3129 1034": {}, "a b c": {}} {
		if all, files := sizesOf(strings.NewReader(text)); all != want[0] || files != want[1] {
			t.Errorf("%q: %d and %d, want %d", text, all, files, want)
		}
	}
}

// TestMakeSmall lets go of pages of this program, which continues.
func TestMakeSmall(t *testing.T) {
	loaded := func() (kib int) {
		text, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			fmt.Sscanf(line, "RssFile: %d kB", &kib)
		}
		return kib
	}
	before := loaded()
	makeSmall()
	if after := loaded(); after > before*3/4 {
		t.Errorf("%d KiB of files are loaded, before %d", after, before)
	}
}
