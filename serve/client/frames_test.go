package client

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// Events are whole and stay as they are, wherever the reads of a stream are cut.
func TestFramesWhereverCut(t *testing.T) {
	t.Parallel()
	const stream = "retry: 2000\n\nevent: a\ndata: {\"one\":\"1111111111\"}\n\nevent: " + "bbbbbbbbbbbbbbbbbbbbbbbbbbbb\r\ndata: {\"two\":\r\ndata: 2}\r\n\r\nid: 7\ndata: three\n\n"
	want := []string{"2s  ", `0s a {"one":"1111111111"}`, "0s bbbbbbbbbbbbbbbbbbbbbbbbbbbb {\"two\":\n2}", "0s  three"}
	for i := range len(stream) {
		for _, next := range []int{1, 7, len(stream)} {
			cut := min(i+next, len(stream))
			f := newFrames(io.MultiReader(strings.NewReader(stream[:i]), strings.NewReader(stream[i:cut]), strings.NewReader(stream[cut:])))
			var all []frame
			for {
				x, err := f.next()
				if err != nil {
					break
				}
				all = append(all, x)
			}
			var got []string
			for _, x := range all {
				got = append(got, x.retry.Round(time.Millisecond).String()+" "+x.event+" "+string(x.data))
			}
			if !slices.Equal(got, want) {
				t.Fatalf("cut at %d and %d: %q", i, cut, got)
			}
		}
	}
}

// An event that is cut before the blank line behind it does not count, even when the cut
// is between two lines of its data.
func TestFramesCutShort(t *testing.T) {
	t.Parallel()
	const stream = "event: a\ndata: {\"one\":\ndata: 1}\n\nevent: b\ndata: {}\n\nretry: 7\n\n"
	for i := range len(stream) + 1 {
		f, got := newFrames(strings.NewReader(stream[:i])), 0
		for {
			x, err := f.next()
			if err != nil {
				break
			}
			if got++; x.event == "a" && string(x.data) != "{\"one\":\n1}" {
				t.Errorf("cut after %d bytes: %q", i, x.data)
			}
		}
		if want := strings.Count(stream[:i], "\n\n"); got != want {
			t.Errorf("cut after %d bytes: %d events, want %d", i, got, want)
		}
	}
}
