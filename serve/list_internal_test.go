package serve

import (
	"encoding/base64"
	"fmt"
	"slices"
	"testing"
)

// A list is cut into pages that have each item once and in order, however many there are
// and whatever comes or goes meanwhile. Bounds that are missing or too large are the
// documented ones, and a foreign cursor is refused.
func TestCut(t *testing.T) {
	t.Parallel()
	key := func(n *int) string { return fmt.Sprintf("%04d", *n) }
	down := func(from, to int) (all []int) {
		for n := from; n >= to; n-- {
			all = append(all, n)
		}
		return all
	}
	for size := range 9 {
		for limit := 1; limit <= 5; limit++ {
			var got []int
			cursor, pages := "", 0
			for {
				page, err := cut(down(size, 1), limit, cursor, key)
				if err != nil || page.Items == nil || len(page.Items) > limit {
					t.Fatalf("%+v, %v", page, err)
				}
				got, pages = append(got, page.Items...), pages+1
				if cursor = page.Next; cursor == "" || pages > size {
					break
				}
			}
			if !slices.Equal(got, down(size, 1)) || pages != max(1, (size+limit-1)/limit) {
				t.Errorf("%d items in pages of %d: %v, %d pages", size, limit, got, pages)
			}
		}
	}
	first, err := cut(down(6, 1), 2, "", key)
	if err != nil {
		t.Fatal(err)
	}
	if next, err := cut(append([]int{9, 8, 7, 6}, down(4, 1)...), 2, first.Next, key); err != nil || !slices.Equal(next.Items, []int{4, 3}) { // the last one of the page is gone
		t.Errorf("after a change: %+v, %v", next, err)
	}
	if page, err := cut(down(300, 1), 0, "", key); err != nil || len(page.Items) != 50 || page.Next == "" {
		t.Errorf("without a bound: %d, %v", len(page.Items), err)
	}
	if page, err := cut(down(300, 1), 1000, "", key); err != nil || len(page.Items) != 200 || page.Next == "" {
		t.Errorf("with too large a bound: %d, %v", len(page.Items), err)
	}
	for limit, want := range map[int]int{-1: 50, 0: 50, 1: 1, 200: 200, 201: 200} {
		if got := pageSize(limit); got != want {
			t.Errorf("a page of %d has %d", limit, got)
		}
	}
	if _, err := cut(down(3, 1), 2, "$$$", key); !badRequest.is(err) {
		t.Errorf("a foreign cursor: %v", err)
	}
	if page, err := cut(down(3, 1), 2, base64.RawURLEncoding.EncodeToString([]byte("0000")), key); err != nil || len(page.Items) > 0 || page.Next != "" {
		t.Errorf("after the end: %+v, %v", page, err)
	}
}
