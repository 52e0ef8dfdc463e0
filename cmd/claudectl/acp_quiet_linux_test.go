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

// TestQuietStream rests once after each pause, and not while something goes through.
func TestQuietStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rests atomic.Int32
		in, feed := io.Pipe()
		s := newQuietStream(editorStream{in, io.Discard}, func() { rests.Add(1) })
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
		s.Close()
		pass(time.Hour, 2)
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
	if got, want := unchanged([]byte(smaps.String()), "/usr/bin/claude ctl"), []mapping{{0x400000, 0xeae000}, {0xeae000, 0x19b5000}}; !slices.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
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
