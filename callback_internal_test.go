package claude

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestDeadlines wants each callback to be ended at its time, whatever order
// they come in and whichever are done before.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		ended := make(chan string, 10)
		d := deadlines{expire: func(cb *callback) {
			ended <- fmt.Sprintf("%s at %v", cb.name, time.Since(begin))
		}}
		add := func(name string, timeout time.Duration) *callback {
			cb := &callback{name: name, timeout: timeout}
			d.add(time.Now(), nil, cb)
			return cb
		}
		add("late", 5*time.Second)
		add("early", time.Second)
		d.done(add("quick", 500*time.Millisecond))
		add("same", time.Second)
		<-time.After(4 * time.Second)
		add("next", 2*time.Second)
		<-time.After(time.Minute)
		add("after a pause", time.Second)
		<-time.After(time.Minute)
		add("too late", time.Second)
		d.stop()
		<-time.After(time.Minute)
		synctest.Wait()
		close(ended)
		var got []string
		for s := range ended {
			got = append(got, s)
		}
		slices.Sort(got[:2]) // at the same time
		want := []string{"early at 1s", "same at 1s", "late at 5s", "next at 6s", "after a pause at 1m5s"}
		if !slices.Equal(got, want) {
			t.Errorf("ended %q, want %q", got, want)
		}
		if d.first == nil || d.first.next != nil {
			t.Error("more or less than the last one is watched")
		}
	})
}
