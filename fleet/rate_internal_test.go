package fleet

import (
	"testing"
	"time"
)

// A rate that was changed holds a conversation up for one interval, not until the prompts
// under the old rate would have been due.
func TestRateChanged(t *testing.T) {
	r, now := make(rates), time.Unix(1000, 0)
	r.take(Rate{1, 24 * time.Hour}, "ada", now)
	rate := Rate{10, time.Minute}
	if wait := r.take(rate, "ada", now); wait != 6*time.Second {
		t.Errorf("waits %v", wait)
	}
	if wait := r.take(rate, "ada", now.Add(6*time.Second)); wait != 0 {
		t.Errorf("then waits %v", wait)
	}
}
