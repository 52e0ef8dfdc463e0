package feed_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/internal/feed"
)

// reader takes items from a loop one at a time, when it is told to.
type reader struct {
	next chan struct{}
	got  []int
	err  error
	over bool
}

// watch begins a loop that takes an item whenever next lets it.
func watch(ctx context.Context, f *feed.Feed[int], topic string) *reader {
	r := &reader{next: make(chan struct{})}
	go func() {
		for n, err := range f.Watch(ctx, topic) {
			r.got, r.err = append(r.got, n), err
			<-r.next
		}
		r.over = true
	}()
	return r
}

func numbers(from, to int) []int {
	var all []int
	for n := from; n <= to; n++ {
		all = append(all, n)
	}
	return all
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var f feed.Feed[int]
		f.Publish("a", 99) // before any loop
		fast, other := watch(ctx, &f, "a"), watch(ctx, &f, "b")
		close(fast.next)
		close(other.next)
		synctest.Wait()
		if !f.Watched("a") || f.Watched("c") {
			t.Error("a is not watched, or c is")
		}
		f.Publish("a", 1, 2)
		f.Publish("b", 3)
		synctest.Wait()
		f.Missed()
		f.Publish("a", 4)
		synctest.Wait()
		if want := []int{0, 1, 2, 0, 4}; !slices.Equal(fast.got, want) {
			t.Errorf("got %v, want %v", fast.got, want)
		}
		if want := []int{0, 3, 0}; !slices.Equal(other.got, want) {
			t.Errorf("got %v, want %v", other.got, want)
		}
		cancel()
		synctest.Wait()
		if !fast.over || fast.err != nil || f.Watched("a") || f.Watched("b") {
			t.Error("the loops are not over, or left something behind")
		}
	})
}

// A watcher that does not read holds nothing up. What waits for it is bounded, and what is
// too much gives way to one zero.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f feed.Feed[int]
		slow := watch(t.Context(), &f, "a")
		synctest.Wait() // in its loop, with the first zero
		f.Publish("a", numbers(1, feed.Most)...)
		slow.next <- struct{}{}
		synctest.Wait() // it has taken them all
		for n := range feed.Most {
			f.Publish("a", -n-1)
		}
		f.Publish("a", 7) // one too many
		f.Publish("a", 8)
		close(slow.next)
		synctest.Wait()
		want := slices.Concat([]int{0}, numbers(1, feed.Most), []int{0, 8})
		if !slices.Equal(slow.got, want) {
			t.Errorf("got %d items, the last %v; want %d", len(slow.got), slow.got[max(0, len(slow.got)-3):], len(want))
		}
	})
}

func TestQueue(t *testing.T) {
	q := feed.NewQueue[int]()
	q.Put(1, 2)
	first, second := errors.New("first"), errors.New("second")
	q.Fail(first)
	q.Fail(second)
	var got []int
	for n, err := range q.All(t.Context()) {
		if err != nil {
			if !errors.Is(err, first) {
				t.Errorf("it ends with %v", err)
			}
			break
		}
		got = append(got, n)
	}
	if !slices.Equal(got, []int{1, 2}) {
		t.Errorf("got %v before the error", got)
	}
	q = feed.NewQueue[int]()
	q.Put(1, 2)
	q.Miss()
	q.Put(3)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got = nil
	for n := range q.All(ctx) {
		if got = append(got, n); n == 3 {
			q.Put(4)
			cancel()
		}
	}
	if !slices.Equal(got, []int{0, 3}) {
		t.Errorf("got %v, want a zero and 3", got)
	}
}
