package client

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
)

// What is sent again, and after how long: a lost answer, a busy key, and a server that is
// not there for now. A refusal is final. A pause grows, is bounded, and is never shorter
// than the server asks for.
func TestPause(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err     error
		attempt int
		wait    time.Duration
		again   bool
	}{
		{unreached(errors.New("cut")), 0, 100 * time.Millisecond, true},
		{unreached(errors.New("cut")), 3, 800 * time.Millisecond, true},
		{unreached(errors.New("cut")), 1000, 5 * time.Second, true},
		{&api.Problem{Status: http.StatusConflict, Type: inProgress, RetryAfter: 1}, 0, time.Second, true},
		{&api.Problem{Status: http.StatusConflict, Type: "/problems/busy", RetryAfter: 1}, 0, 0, false},
		{&api.Problem{Status: http.StatusServiceUnavailable}, 2, 400 * time.Millisecond, true},
		{&api.Problem{Status: http.StatusServiceUnavailable, RetryAfter: 7}, 1000, 7 * time.Second, true},
		{&api.Problem{Status: http.StatusServiceUnavailable, RetryAfter: 1 << 30}, 0, 24 * time.Hour, true},
		{&api.Problem{Status: http.StatusGatewayTimeout}, 0, 100 * time.Millisecond, true},
		{&api.Problem{Status: http.StatusBadGateway, Type: blank}, 0, 100 * time.Millisecond, true},
		{&api.Problem{Status: http.StatusBadGateway, Type: "/problems/cli-missing"}, 0, 0, false},
		{&api.Problem{Status: http.StatusTooManyRequests, RetryAfter: 3}, 0, 0, false},
		{&api.Problem{Status: http.StatusInternalServerError}, 0, 0, false},
		{&api.Problem{Status: http.StatusNotFound}, 0, 0, false},
	} {
		if wait, again := pause(fmt.Errorf("x: %w", c.err), c.attempt); again != c.again || again && wait != c.wait {
			t.Errorf("%v, attempt %d: %v, %v", c.err, c.attempt, wait, again)
		}
	}
	if _, again := pause(errors.New("the answer is not what the API says"), 0); again {
		t.Error("an answer that cannot be read is asked for again")
	}
	for err, want := range map[error]bool{
		unreached(&net.OpError{Op: "dial", Err: errors.New("refused")}): false, unreached(&net.OpError{Op: "read", Err: errors.New("reset")}): true, unreached(errors.New("EOF")): true, &api.Problem{Status: 503}: true,
	} {
		if got := mayHaveArrived(err); got != want {
			t.Errorf("%v may have arrived: %v", err, got)
		}
	}
}

// A stream is resumed at once after its first cut, then ever later, with jitter, within
// bounds, and not before the server allows it.
func TestPauseOfFollower(t *testing.T) {
	t.Parallel()
	cut := unreached(errors.New("cut"))
	for range 50 {
		f := follower{delay: 2 * time.Second}
		if got := f.pause(cut); got != 0 {
			t.Fatalf("after the first cut it waits %v", got)
		}
		for n, least := range []time.Duration{2, 4, 8, 16, 30, 30, 30} {
			if got := f.pause(cut); got < least*time.Second || got > least*time.Second*3/2 {
				t.Fatalf("cut %d: %v, want %d s and at most half of it more", n+2, got, least)
			}
		}
	}
	refused := &api.Problem{Status: http.StatusServiceUnavailable, RetryAfter: 60}
	if got := (&follower{delay: 2 * time.Second}).pause(refused); got != time.Minute {
		t.Errorf("a server that asks for a minute gets %v", got)
	}
	if got := (&follower{delay: time.Minute, failed: 9}).pause(cut); got < time.Minute || got > 90*time.Second {
		t.Errorf("a stream that asks for a minute gets %v", got)
	}
	for status, want := range map[int]bool{429: true, 500: true, 502: true, 503: true, 501: false, 401: false, 403: false, 404: false, 410: false} {
		if got := new(follower).passes(&api.Problem{Status: status}); got != want {
			t.Errorf("after %d it connects again: %v", status, got)
		}
	}
	if new(follower).passes(errors.New("not a stream")) || !new(follower).passes(cut) {
		t.Error("something that is not a stream is asked for again, or a cut ends it")
	}
}

// A follower yields each numbered event once and in order: a repetition is dropped, and a
// gap ends the connection before anything after it is seen.
func TestTake(t *testing.T) {
	t.Parallel()
	f := follower{last: 3, failed: 5}
	var got []string
	take := func(event, data string) (bool, error) {
		return f.take(&frame{event: event, data: []byte(data)}, func(e api.Event) bool {
			got = append(got, fmt.Sprint(e.Type, e.Seq))
			return e.Seq != 6
		})
	}
	for _, step := range []struct {
		event, data string
		done, fails bool
		last        int64
		failed      int
	}{
		{"message", `{"seq":2}`, false, false, 3, 5}, {"message", `{"seq":3}`, false, false, 3, 5}, {"partial", `{}`, false, false, 3, 5},
		{"message", `{"seq":4}`, false, false, 4, 0}, {"synced", `{}`, false, false, 4, 0}, {"synced", `{}`, false, false, 4, 0},
		{"message", `{"seq":6}`, true, true, 4, 0}, {"turn", `{"seq":5}`, false, false, 5, 0}, {"ping", `{}`, false, false, 5, 0},
		{"reset", `{}`, true, true, 5, 0}, {"bye", `{}`, true, false, 5, 0}, {"message", `{`, true, true, 5, 0}, {"message", `{"seq":6}`, true, false, 6, 0},
	} {
		done, err := take(step.event, step.data)
		if done != step.done || (err != nil) != step.fails || f.last != step.last || f.failed != step.failed || step.event == "reset" && !errors.Is(err, ErrReset) {
			t.Errorf("%s %s: %v, %v, at %d, failed %d", step.event, step.data, done, err, f.last, f.failed)
		}
	}
	if !f.left {
		t.Error("the loop was not left")
	}
	f = follower{last: 3, failed: 5} // a connection that lives is not a failure, though nothing new comes
	if done, err := take("ping", `{}`); done || err != nil || f.failed != 0 || f.last != 3 {
		t.Errorf("after a ping: %v, %v, at %d, failed %d", done, err, f.last, f.failed)
	}
	if want := []string{"partial0", "message4", "synced0", "turn5", "message6"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
