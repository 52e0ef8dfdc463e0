package peer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/ndjson"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/internal/wire"
)

func TestCallsAreMatchedInAnyOrder(t *testing.T) {
	bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
		var done []<-chan outcome
		for i := range 8 {
			done = append(done, far.call(t.Context(), peer.Call{Subtype: fmt.Sprint("op", i)}))
			far.expect(request(fmt.Sprint("req_", i), fmt.Sprint("op", i)))
		}
		for _, i := range []int{3, 0, 7, 1, 6, 2, 5, 4} {
			far.send(success(fmt.Sprint("req_", i), fmt.Sprintf(`{"n":%d}`, i)))
			if got := <-done[i]; got.err != nil || got.payload != fmt.Sprintf(`{"n":%d}`, i) {
				t.Errorf("call %d: %+v", i, got)
			}
		}
	})
}

func TestCallRefused(t *testing.T) {
	bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
		done := far.call(t.Context(), peer.Call{Subtype: "odd"})
		far.receive()
		far.send(failure("req_0", "no such thing"))
		got := <-done
		if e, ok := errors.AsType[*peer.RefusedError](got.err); !ok || e.Reply.Message != "no such thing" || e.Subtype != "odd" {
			t.Errorf("error = %v", got.err)
		}
	})
}

func TestCallTimesOut(t *testing.T) {
	bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
		begin := time.Now()
		done := far.call(t.Context(), peer.Call{Subtype: "slow", Timeout: 5 * time.Second})
		far.receive()
		got := <-done
		if e, ok := errors.AsType[*peer.TimeoutError](got.err); !ok || e.Subtype != "slow" || e.ID.String() != "req_0" {
			t.Errorf("error = %v, want a TimeoutError with operation and id", got.err)
		}
		if took := time.Since(begin); took != 5*time.Second {
			t.Errorf("took %v", took)
		}
		far.expect(cancelled("req_0"))
		far.send(success("req_0", "{}"))
		far.send(success("req_0", "{}"))
		far.send(success("req_9", "{}"))
		synctest.Wait()
		log := far.log.String()
		if n := strings.Count(log, `level=DEBUG msg="late reply dropped"`); n != 2 {
			t.Errorf("%d late replies logged, want 2:\n%s", n, log)
		}
		if !strings.Contains(log, `level=WARN msg="orphan reply dropped" request_id=req_9`) {
			t.Errorf("orphan reply not logged:\n%s", log)
		}
	})
}

func TestCallerDeadlineIsTheCallersError(t *testing.T) {
	bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		done := far.call(ctx, peer.Call{Subtype: "slow", Timeout: 5 * time.Second})
		far.receive()
		if got := <-done; !errors.Is(got.err, context.DeadlineExceeded) {
			t.Errorf("error = %v, want the caller's", got.err)
		}
		far.expect(cancelled("req_0"))
	})
}

func TestCallWhileNothingIsRead(t *testing.T) {
	bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
		// The far side reads nothing: the write itself blocks.
		got := <-far.call(t.Context(), peer.Call{Subtype: "stuck", Timeout: time.Second})
		if _, ok := errors.AsType[*peer.TimeoutError](got.err); !ok {
			t.Errorf("error = %v", got.err)
		}
		far.receive()
		far.expect(cancelled("req_0"))
	})
}

func TestTooManyPending(t *testing.T) {
	bubble(t, peer.Config{Limits: peer.Limits{Pending: 2}}, func(t *testing.T, far *otherSide) {
		ctx, cancel := context.WithCancel(t.Context())
		first, second := far.call(ctx, peer.Call{Subtype: "a"}), far.call(ctx, peer.Call{Subtype: "b"})
		far.receive()
		far.receive()
		if _, err := far.peer.Call(ctx, peer.Call{Subtype: "c"}); !errors.Is(err, peer.ErrTooManyCalls) || !strings.Contains(err.Error(), "max 2") {
			t.Errorf("error = %v", err)
		}
		cancel()
		<-first
		<-second
		far.receive()
		far.receive()
		done := far.call(t.Context(), peer.Call{Subtype: "d"})
		far.expect(request("req_2", "d"))
		far.send(success("req_2", "{}"))
		if got := <-done; got.err != nil {
			t.Errorf("a call after the others ended: %v", got.err)
		}
	})
}

func TestCloseFailsEveryWaiter(t *testing.T) {
	bubble(t, peer.Config{HoldUntilOpen: true}, func(t *testing.T, far *otherSide) {
		first := far.call(t.Context(), peer.Call{Subtype: "initialize", BeforeOpen: true})
		far.receive()
		queued := far.call(t.Context(), peer.Call{Subtype: "queued"})
		synctest.Wait()
		gone := errors.New("gone")
		far.peer.Close(gone)
		far.peer.Close(io.EOF)
		if got := <-first; got.err != gone {
			t.Errorf("pending call: %v", got.err)
		}
		unsent := func(err error) bool { return errors.Is(err, peer.ErrNotOpened) && errors.Is(err, gone) }
		if got := <-queued; !unsent(got.err) {
			t.Errorf("queued call: %v", got.err)
		}
		if _, err := far.peer.Call(t.Context(), peer.Call{Subtype: "late"}); !unsent(err) {
			t.Errorf("later call: %v", err)
		}
		if err := far.peer.Send(t.Context(), []byte("{}")); !unsent(err) {
			t.Errorf("later send: %v", err)
		}
	})
}

// What a peer is closed with that was open is the cause and nothing else, also
// for those that still wait for their turn.
func TestCloseAfterOpen(t *testing.T) {
	bubble(t, peer.Config{HoldUntilOpen: true}, func(t *testing.T, far *otherSide) {
		queued := []<-chan outcome{
			far.call(t.Context(), peer.Call{Subtype: "a"}),
			far.call(t.Context(), peer.Call{Subtype: "b"}),
		}
		synctest.Wait()
		far.peer.Open() // the first write blocks: no one reads
		synctest.Wait()
		gone := errors.New("gone")
		far.peer.Close(gone)
		far.receive()
		for i, q := range queued {
			if got := <-q; got.err != gone {
				t.Errorf("call %d: %v", i, got.err)
			}
		}
		if _, err := far.peer.Call(t.Context(), peer.Call{Subtype: "late"}); err != gone {
			t.Errorf("later call: %v", err)
		}
	})
}

func TestHeldCallsGoOutInOrder(t *testing.T) {
	bubble(t, peer.Config{HoldUntilOpen: true}, func(t *testing.T, far *otherSide) {
		var done []<-chan outcome
		for i := range 16 {
			done = append(done, far.call(t.Context(), peer.Call{Subtype: fmt.Sprint("op", i)}))
			synctest.Wait()
		}
		if _, err := far.peer.Call(t.Context(), peer.Call{Subtype: "one more"}); !errors.Is(err, peer.ErrQueueFull) || !strings.Contains(err.Error(), "max 16") {
			t.Errorf("17th: %v", err)
		}
		first := far.call(t.Context(), peer.Call{Subtype: "initialize", BeforeOpen: true})
		far.expect(request("req_0", "initialize"))
		far.peer.Open()
		far.peer.Open()
		// No reply is given before all are written.
		for i := range 16 {
			far.expect(request(fmt.Sprint("req_", i+1), fmt.Sprint("op", i)))
		}
		for i := range 17 {
			far.send(success(fmt.Sprint("req_", i), "{}"))
		}
		for i, d := range append(done, first) {
			if got := <-d; got.err != nil {
				t.Errorf("call %d: %v", i, got.err)
			}
		}
		after := far.call(t.Context(), peer.Call{Subtype: "after"})
		far.receive()
		far.send(success("req_17", "{}"))
		<-after
	})
}

// Once the peer is open, no call fails because of the handshake: neither when
// nothing was held, nor while the far side is slow to take what was.
func TestOpenHasNoLimit(t *testing.T) {
	for _, early := range []int{0, 3} {
		bubble(t, peer.Config{HoldUntilOpen: true, Limits: peer.Limits{Queued: 4}}, func(t *testing.T, far *otherSide) {
			var done []<-chan outcome
			for range early {
				done = append(done, far.call(t.Context(), peer.Call{Subtype: "early"}))
			}
			synctest.Wait()
			far.peer.Open()
			for range 40 {
				done = append(done, far.call(t.Context(), peer.Call{Subtype: "late"}))
			}
			for i := range early + 40 {
				far.receive()
				far.send(success(fmt.Sprint("req_", i), "{}"))
			}
			for i, d := range done {
				if got := <-d; got.err != nil {
					t.Errorf("%d held: call %d: %v", early, i, got.err)
				}
			}
		})
	}
}

// The time of a held call begins when it is its turn, however long the
// handshake took.
func TestHeldCallTimesOutFromTheFlush(t *testing.T) {
	bubble(t, peer.Config{HoldUntilOpen: true}, func(t *testing.T, far *otherSide) {
		begin := time.Now()
		early := far.call(t.Context(), peer.Call{Subtype: "early", Timeout: time.Second})
		<-time.After(time.Hour)
		far.peer.Open()
		far.expect(request("req_0", "early"))
		got := <-early
		if e, ok := errors.AsType[*peer.TimeoutError](got.err); !ok || e.ID != wire.NewID(0) {
			t.Errorf("error = %v", got.err)
		}
		if took := time.Since(begin); took != time.Hour+time.Second {
			t.Errorf("took %v, want a second from the flush on", took)
		}
		far.expect(cancelled("req_0"))
	})
}

func TestHeldCallGivesUp(t *testing.T) {
	bubble(t, peer.Config{HoldUntilOpen: true}, func(t *testing.T, far *otherSide) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		got := <-far.call(ctx, peer.Call{Subtype: "early", Timeout: time.Hour})
		if !errors.Is(got.err, context.DeadlineExceeded) || !errors.Is(got.err, ndjson.ErrNotBegun) {
			t.Errorf("error = %v", got.err)
		}
		sent := make(chan error, 1)
		go func() { sent <- far.peer.Send(t.Context(), []byte(`{"type":"user"}`)) }()
		synctest.Wait()
		far.peer.Open()
		far.expect(`{"type":"user"}`)
		if err := <-sent; err != nil {
			t.Error(err)
		}
	})
}

func TestCallPayloadThatCannotBeEncoded(t *testing.T) {
	bubble(t, peer.Config{Limits: peer.Limits{Pending: 1}}, func(t *testing.T, far *otherSide) {
		for range 3 {
			if _, err := far.peer.Call(t.Context(), peer.Call{Subtype: "x", Payload: []int{1}}); err == nil || errors.Is(err, peer.ErrTooManyCalls) {
				t.Errorf("error = %v", err)
			}
		}
	})
}

func TestMessagesKeepTheirOrderAroundReplies(t *testing.T) {
	bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
		done := far.call(t.Context(), peer.Call{Subtype: "x"})
		far.receive()
		var want []string
		for i := range 100 {
			m := fmt.Sprintf(`{"type":"assistant","n":%d}`, i)
			want = append(want, m)
			far.send(m)
		}
		far.send(success("req_0", "{}"))
		<-done
		far.mu.Lock()
		defer far.mu.Unlock()
		if !slices.Equal(far.messages, want) {
			t.Errorf("%d of 100 messages were handed over before the reply", len(far.messages))
		}
	})
}

func TestErrorTexts(t *testing.T) {
	for want, err := range map[string]error{
		"interrupt timed out after 5s, unsent": &peer.TimeoutError{Subtype: "interrupt", After: 5 * time.Second},
		"interrupt (req_7) timed out after 5s": &peer.TimeoutError{Subtype: "interrupt", ID: wire.NewID(7), After: 5 * time.Second},
		"set_model: no such model (not_found)": &peer.RefusedError{Subtype: "set_model", Reply: &wire.ReplyError{Message: "no such model", Code: "not_found"}},
	} {
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
}

// A CLI that does not know cancel notices gets none.
func TestNoCancelNoticeForThoseWhoDoNotKnowIt(t *testing.T) {
	bubble(t, peer.Config{Cancels: func() bool { return false }}, func(t *testing.T, far *otherSide) {
		for i := range 2 {
			done := far.call(t.Context(), peer.Call{Subtype: "slow", Timeout: time.Second})
			far.expect(request(fmt.Sprint("req_", i), "slow"))
			<-done
			synctest.Wait() // a notice would be the next line
		}
	})
}

// A second reply to a call is a late one: it takes no room and blocks nothing.
func TestSecondReplyIsDropped(t *testing.T) {
	bubble(t, peer.Config{Limits: peer.Limits{Pending: 1}}, func(t *testing.T, far *otherSide) {
		for i := range 3 {
			id := fmt.Sprint("req_", i)
			done := far.call(t.Context(), peer.Call{Subtype: "x"})
			far.expect(request(id, "x"))
			for _, n := range []string{"1", "2", "3"} {
				far.send(success(id, n))
			}
			if got := <-done; got.err != nil || got.payload != "1" {
				t.Errorf("%+v, want the first reply", got)
			}
		}
		synctest.Wait()
		if n := strings.Count(far.log.String(), "late reply dropped"); n != 6 {
			t.Errorf("%d late replies, want 6:\n%s", n, far.log)
		}
	})
}

// A line that is already on its way when its sender gives up may be written: the
// error does not say that it was not.
func TestHeldLineOnItsWay(t *testing.T) {
	bubble(t, peer.Config{HoldUntilOpen: true}, func(t *testing.T, far *otherSide) {
		ctx, cancel := context.WithCancel(t.Context())
		sent := make(chan error, 1)
		go func() { sent <- far.peer.Send(ctx, []byte(`{"type":"user"}`)) }()
		synctest.Wait()
		far.peer.Open() // and no one reads
		synctest.Wait()
		cancel()
		if err := <-sent; !errors.Is(err, context.Canceled) || errors.Is(err, ndjson.ErrNotBegun) {
			t.Errorf("error = %v", err)
		}
		far.expect(`{"type":"user"}`)
	})
}
