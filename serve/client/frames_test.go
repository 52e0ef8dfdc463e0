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
