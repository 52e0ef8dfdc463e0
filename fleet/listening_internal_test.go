package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet/internal/outcomelog"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// Each change of a conversation reaches those who listen to it, by whichever call it was
// made, and each refusal of a fence is reported.
func TestEveryWriteIsAnnounced(t *testing.T) {
	conversation := store.RecordKey{Project: "p", Kind: kindConversation, Name: place("ada")}
	mark := store.RecordKey{Project: "p", Kind: outcomelog.KindMark, Name: "x"}
	session := store.Key{Project: "p", Session: stagedOne}
	line := store.Entry(`{"type":"user","uuid":"` + stagedTwo + `"}`)
	revision := func(a *announcer, k store.RecordKey) int64 {
		r, _ := store.Get(t.Context(), a, k)
		return r.Revision
	}
	for name, c := range map[string]struct {
		write      func(ctx context.Context, a *announcer, f store.Fence) error
		ada, marks bool
	}{
		"put": {func(ctx context.Context, a *announcer, f store.Fence) error {
			_, err := store.Put(ctx, a, conversation, []byte("{}"), revision(a, conversation), f)
			return err
		}, true, false},
		"put a mark": {func(ctx context.Context, a *announcer, f store.Fence) error {
			_, err := store.Put(ctx, a, mark, []byte("{}"), 0, f)
			return err
		}, false, true},
		"drop": {func(ctx context.Context, a *announcer, f store.Fence) error {
			return store.Drop(ctx, a, conversation, revision(a, conversation), f)
		}, true, false},
		"change": {func(ctx context.Context, a *announcer, f store.Fence) error {
			_, err := a.Change(ctx, f, []store.RecordChange{{Key: conversation, Value: []byte("{}"), Revision: revision(a, conversation)}, {Key: mark, Value: []byte("{}")}}...)
			return err
		}, true, true},
		"drop among changes": {func(ctx context.Context, a *announcer, f store.Fence) error {
			_, err := a.Change(ctx, f, []store.RecordChange{{Key: conversation, Drop: true, Revision: revision(a, conversation)}}...)
			return err
		}, true, false},
		"append": {func(ctx context.Context, a *announcer, f store.Fence) error {
			return a.Append(ctx, session, store.Batch{ID: "b1", Fence: f, Entries: []store.Entry{line}})
		}, true, false},
		"renew": {func(ctx context.Context, a *announcer, f store.Fence) error {
			return a.Renew(ctx, store.Lease{Fence: f, Owner: "a", TTL: time.Hour})
		}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			var fenced []string
			a := newAnnouncer(store.Memory(), &PromptTrace{Fenced: func(key string) { fenced = append(fenced, key) }})
			lease, err := a.Acquire(t.Context(), "p", leaseName(place("ada")), "a", time.Hour)
			if err == nil {
				_, err = store.Put(t.Context(), a, conversation, []byte("{}"), 0, store.Fence{})
			}
			if err != nil {
				t.Fatal(err)
			}
			ada, end := a.listen("ada")
			adam, end2 := a.listen("adam")
			marks, end3 := a.listenAt(outcomesPlace)
			old := lease.Fence
			old.Token--
			if err := c.write(t.Context(), a, old); !errors.Is(err, store.ErrLeaseLost) || len(fenced) != 1 || fenced[0] != "ada" {
				t.Errorf("under an old fence: %v, reported %q", err, fenced)
			}
			if n, _ := a.now(ada); n != 0 {
				t.Error("a write that was refused is announced")
			}
			_, changed := a.now(ada)
			if err := c.write(t.Context(), a, lease.Fence); err != nil {
				t.Fatal(err)
			}
			for topic, want := range map[*topic]bool{ada: c.ada, adam: false, marks: c.marks} {
				if n, _ := a.now(topic); (n > 0) != want {
					t.Errorf("announced %d times, want any: %v", n, want)
				}
			}
			select {
			case <-changed:
			default:
				if c.ada {
					t.Error("waiters are not woken")
				}
			}
			if end(); len(fenced) != 1 || len(a.topics) != 2 {
				t.Errorf("reported %q, %d topics", fenced, len(a.topics))
			}
			end2()
			end3()
			if len(a.topics) != 0 {
				t.Errorf("%d topics are left", len(a.topics))
			}
		})
	}
}

// A watcher that has messages to read and the store to look at does both, without a poll.
// One that lags learns only that.
func TestWatcherReadsAndLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		w := &watcher{more: make(chan struct{}, 1)}
		w.put(watched{msg: &message.Result{}})
		w.recheck()
		if items, look := w.take(t.Context(), time.Hour); len(items) != 1 || look {
			t.Errorf("first %d items, look %v", len(items), look)
		}
		if items, look := w.take(t.Context(), time.Hour); len(items) != 0 || !look {
			t.Errorf("then %d items, look %v", len(items), look)
		}
		if !time.Now().Equal(begin) {
			t.Error("it has waited")
		}
		if _, look := w.take(t.Context(), time.Hour); !look || time.Since(begin) != time.Hour {
			t.Errorf("look %v after %v", look, time.Since(begin))
		}
		for range maxUnread {
			w.put(watched{msg: &message.Result{}})
		}
		if len(w.items) != maxUnread {
			t.Errorf("%d of %d are kept", len(w.items), maxUnread)
		}
		for range 3 {
			w.put(watched{msg: &message.Result{}})
		}
		if items, _ := w.take(t.Context(), time.Hour); len(items) != 1 || !errors.Is(items[0].err, ErrLagging) {
			t.Errorf("%d items for one that lags", len(items))
		}
	})
}

// A result that was shown is not shown again when the store has it too, and one that was
// not is.
func TestResultIsShownOnce(t *testing.T) {
	for _, shown := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f := staged(t, record{})
			r := &message.Result{Text: "done"}
			o := Ticket{Prompt: stagedOne, Status: PromptAnswered, Text: "done", Result: r, Ended: time.Now()}
			if _, err := f.records.put(t.Context(), kindOutcome, outcomeName("ada", stagedOne), &o, 0, store.Fence{}); err != nil {
				t.Fatal(err)
			}
			w := f.roster.watch("ada", stagedOne)
			if shown {
				w.put(watched{msg: r})
			} else {
				w.put(watched{msg: &message.Assistant{}})
			}
			w.recheck()
			results := 0
			f.reports.follow(t.Context(), "ada", stagedOne, w, func(m message.Message, err error) bool {
				if _, ok := m.(*message.Result); ok {
					results++
				}
				if err != nil {
					t.Error(err)
				}
				return true
			})
			if results != 1 {
				t.Errorf("shown before: %v, %d results", shown, results)
			}
			f.roster.unwatch("ada", stagedOne, w)
			if len(f.roster.active) != 0 {
				t.Error("it stays in memory")
			}
		})
	}
}

// Asking again helps with some errors, and with others it does not.
func TestFinalErrors(t *testing.T) {
	for err, want := range map[error]bool{
		ErrUnknown: true, ErrDeleted: true, store.ErrInvalid: true, store.ErrDamaged: true, store.ErrNewer: true,
		ErrTimeout: false, store.ErrConflict: false, store.ErrLeased: false, store.ErrBusy: false, errUncounted: false, errors.New("x"): false,
	} {
		if final(&ConversationError{"ada", fmt.Errorf("x: %w", err)}) != want {
			t.Errorf("%v is final: %v", err, !want)
		}
	}
}

// heardBus carries messages by hand: it keeps what is published, and replies to requests
// for live text in place of another process.
type heardBus struct {
	f      *Fleet
	mu     sync.Mutex
	frames []string
	state  func() (string, bool)
}

func (b *heardBus) Publish(topic string, data []byte) {
	var q request
	if topic != requestTopic("p") {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.frames = append(b.frames, topic+" "+string(data))
	} else if jsonx.Unmarshal(data, &q) == nil {
		b.mu.Lock()
		state := b.state
		b.mu.Unlock()
		if live, here := state(); here {
			b.f.peers.take(fmt.Appendf(nil, `{"id":%q,"live":%s}`, q.ID, live))
		}
	}
}

func (b *heardBus) Subscribe(context.Context, string, func([]byte)) (func(), error) {
	return func() {}, nil
}

// answer sets the reply to the next requests.
func (b *heardBus) answer(state func() (live string, here bool)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state = state
}

// A follower shows every frame once, in order, also those that came while it asked for the
// whole, and none that the whole includes. Readers learn about each change.
func TestFollowerLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := staged(t, record{})
		nowhere := func() (string, bool) { return "", false }
		bus := &heardBus{f: f, state: nowhere}
		f.opts.Bus = bus
		c := f.roster.hold("ada")
		stop := f.news.followLive(t.Context(), c)
		<-time.After(2 * replyBound) // it has asked in vain
		l := c.follower
		frame := func(number int, event string) {
			l.receive(fmt.Appendf(nil, `{"run":"r1","number":%d,"message":{"type":"stream_event","event":%s}}`, number, event))
		}
		text := func(number int, s string) {
			frame(number, fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}`, s))
		}
		check := func(want string) {
			t.Helper()
			u, _ := c.liveText.now()
			got := ""
			for _, b := range u.blocks {
				got += b.text
			}
			if got != want {
				t.Errorf("shown is %q, want %q", got, want)
			}
		}
		frame(1, `{"type":"message_start","message":{"id":"m1"}}`)
		frame(2, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
		text(3, "a")
		text(3, "a") // which came twice
		check("a")
		asked := 0
		bus.answer(func() (string, bool) {
			asked++
			text(7, "e") // meanwhile
			return `{"run":"r1","number":5,"answer":"m1","blocks":[{"start":{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}},"delta":"text_delta","text":"abc"}]}`, true
		})
		_, changed := c.liveText.now()
		text(5, "c") // 4 was lost
		text(6, "d")
		check("a")
		<-time.After(time.Second)
		check("abcde")
		select {
		case <-changed:
		default:
			t.Error("readers do not learn about the whole")
		}
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
		l.mu.Lock()
		l.adopt(liveState{Run: "r1", Number: 6, Answer: "m1"}) // a reply that came late
		l.mu.Unlock()
		check("abcde")
		bus.answer(nowhere)
		text(9, "g")
		<-time.After(2 * replyBound)
		bus.answer(func() (string, bool) {
			return `{"run":"r1","number":9,"answer":"m1","blocks":[{"start":{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}},"delta":"text_delta","text":"abcdefg","full":true}]}`, true
		})
		text(10, "h")
		<-time.After(time.Second)
		check("abcdefg") // nothing is added to what is full
		_, changed = c.liveText.now()
		l.receive([]byte(`{"run":"r1","number":11}`))
		check("")
		select {
		case <-changed:
		default:
			t.Error("readers do not learn about the end")
		}
		stop()
		f.roster.unhold(c)
	})
}

// The end of a CLI is sent to the other processes like everything it has said.
func TestEndIsBroadcast(t *testing.T) {
	f := staged(t, record{})
	bus := &heardBus{}
	f.opts.Bus = bus
	c := f.roster.hold("ada")
	f.news.addLiveText(c, &message.StreamEvent{Header: message.Header{Raw: []byte(`{"type":"stream_event"}`)}, EventType: message.EventMessageStart, MessageID: "m1"})
	f.news.addLiveText(c, &message.Assistant{}) // which is not live
	f.news.endLiveText(c)
	if len(bus.frames) != 2 || !strings.Contains(bus.frames[0], `"number":1`) || !strings.Contains(bus.frames[1], `"number":2`) || strings.Contains(bus.frames[1], `"message"`) {
		t.Errorf("sent were %q", bus.frames)
	}
}

// No live text is shown of an answer that was read from the store, even if others were
// read since.
func TestLateFramesOfStoredAnswers(t *testing.T) {
	var got []string
	r := &eventReader{yield: func(e ConversationEvent, _ error) bool {
		got = append(got, e.Message.(*message.StreamEvent).MessageID)
		return true
	}}
	answer := func(n int) *message.Assistant {
		return &message.Assistant{ID: fmt.Sprint("m", n), Content: message.Content{message.Text("x")}}
	}
	for n := range 10 {
		r.count(answer(n))
	}
	for n := range 11 {
		id := fmt.Sprint("m", n)
		r.listen(liveAnswer{answer: id, blocks: []liveTextBlock{{start: &message.StreamEvent{MessageID: id}}}})
	}
	if len(got) != 1 || got[0] != "m10" {
		t.Errorf("live are %q", got)
	}
	for n := range 3 * maxPast {
		r.count(answer(100 + n))
	}
	if len(r.past) != maxPast {
		t.Errorf("%d answers are remembered", len(r.past))
	}
}

// What a process spends counts at once in its own budget of the day, whatever it last read.
func TestOwnSpendingCountsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := staged(t, record{Created: time.Now()})
		f.opts.DayBudgetUSD = 5
		d := newDays(t.Context(), &f.opts, f.store, &f.clock)
		f.records.days = d
		if err := d.allow(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		for _, usd := range []float64{4, 1} {
			if err := d.allow(t.Context(), "bob"); err != nil {
				t.Errorf("before %v: %v", usd, err)
			}
			_, err := f.records.change(t.Context(), "ada", store.Fence{}, func(r *record) error {
				r.Cost.USD += usd
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := d.allow(t.Context(), "bob"); !errors.Is(err, ErrBudget) {
			t.Errorf("when it is spent: %v", err)
		}
	})
}

// A prompt that its conversation is stuck on is cancelled although another process has the
// lease: that one finds the conversation free.
func TestCancelStuckElsewhere(t *testing.T) {
	f := staged(t, record{Stuck: &stuck{Prompt: stagedOne}}, &queued{ID: stagedOne, Sent: true, Begun: 3}, &queued{ID: stagedTwo})
	if _, err := f.store.Acquire(t.Context(), "p", leaseName(place("ada")), "b", time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := f.Cancel(t.Context(), "ada", stagedOne); err != nil {
		t.Fatal(err)
	}
	rec, err := f.records.load(t.Context(), "ada")
	if err != nil || rec.Stuck != nil {
		t.Errorf("%+v, %v", rec.Stuck, err)
	}
	if o, err := f.Prompt(t.Context(), "ada", stagedOne); err != nil || o.Status != PromptCancelled {
		t.Errorf("%+v, %v", o, err)
	}
	if p, err := f.records.find(t.Context(), "ada", stagedOne); err != nil || p == nil {
		t.Errorf("its owner cannot clean up: %+v, %v", p, err)
	}
}
