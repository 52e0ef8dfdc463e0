package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// Events yields the history and then the live text, each once, from any place.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, store.Memory(), newScripted(), nil)
		defer closeFleet(t, f)
		ask(t, f, "ada", "one")
		ctx, cancel := context.WithCancel(t.Context())
		var texts []string
		var cursors []fleet.Cursor
		done := make(chan struct{})
		go func() {
			defer close(done)
			for e, err := range f.Events(ctx, "ada", "") {
				if err != nil {
					return
				}
				if e.Live {
					continue
				}
				texts, cursors = append(texts, said(e.Message)), append(cursors, e.Cursor)
			}
		}()
		synctest.Wait()
		if len(texts) != 2 {
			t.Errorf("stored: %q", texts)
		}
		ask(t, f, "ada", "tool 2")
		ask(t, f, "ada", "three")
		<-time.After(5 * time.Minute) // it sleeps
		ask(t, f, "ada", "four")
		synctest.Wait()
		cancel()
		<-done
		want := []string{"one", "heard one", "tool 2", "", "", "It says: This command requires approval", "three", "heard one, tool 2, three", "four", "heard one, tool 2, three, four"}
		if len(texts) != len(want) {
			t.Fatalf("%q", texts)
		}
		for n := range want {
			if texts[n] != want[n] {
				t.Errorf("event %d is %q, want %q", n, texts[n], want[n])
			}
			for e, err := range f.Events(t.Context(), "ada", cursors[n]) {
				if n+1 < len(want) && (err != nil || said(e.Message) != want[n+1]) {
					t.Errorf("behind event %d: %q, %v", n, said(e.Message), err)
				}
				break
			}
			if n+1 == len(want)-1 {
				break
			}
		}
		for _, bad := range []fleet.Cursor{"x", "x:1", ":-1"} {
			for _, err := range f.Events(t.Context(), "ada", bad) {
				if !errors.Is(err, store.ErrInvalid) {
					t.Errorf("cursor %q: %v", bad, err)
				}
				break
			}
		}
	})
}

func said(m message.Message) string {
	switch m := m.(type) {
	case *message.User:
		return m.Text()
	case *message.Assistant:
		return m.Text()
	}
	return ""
}

// streaming opens a fleet whose CLI sends its answer, of 2,000 bytes, in pieces:
// one in 10 ms.
func streaming(t *testing.T, db store.Fleet) (f *fleet.Fleet, answer string) {
	cli, answer := slowWriter()
	return open(t, db, cli, partial), answer
}

// slowWriter is a CLI that always gives this answer, and takes two seconds to write it.
func slowWriter() (cli *claudetest.CLI, answer string) {
	answer = strings.Repeat("all work and no play", 100)
	return claudetest.NewCLI(&claudetest.Script{Model: func(c *claudetest.ModelCall) claudetest.Reply {
		return claudetest.Say(answer).Chunks(10, 10*time.Millisecond)
	}}), answer
}

// partial lets the sessions of a fleet show answers while they are written.
func partial(o *fleet.Options) {
	usual := o.Session
	o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
		opts, err := usual(ctx, key)
		opts.PartialMessages = true
		return opts, err
	}
}

// page is the view of a reader: the stored events, and behind them the live text.
type page struct {
	mu     sync.Mutex
	stored []string
	live   string
	pieces int
	ended  int // turns
}

// text is the live text of the page.
func (p *page) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.live
}

// show takes an event, and reports one that no page could make sense of.
func (p *page) show(t *testing.T, e fleet.ConversationEvent) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.Live != (e.Cursor == "") || e.Live != (e.Entry == nil) || e.Session == "" {
		t.Errorf("live %v with cursor %q, entry %s, session %q", e.Live, e.Cursor, e.Entry, e.Session)
	}
	switch m := e.Message.(type) {
	case *message.StreamEvent:
		if m.MessageID == "" || e.Block != m.Index {
			t.Errorf("block %d of answer %q: %+v", e.Block, m.MessageID, m)
		}
		if m.EventType == message.EventBlockDelta {
			if e.Offset != len(p.live) {
				t.Errorf("text at %d behind %d bytes", e.Offset, len(p.live))
			}
			p.live += m.Text()
			p.pieces++
		}
	case *message.Result:
		p.ended++
	case *message.Assistant:
		if !strings.HasPrefix(m.Text(), p.live) {
			t.Errorf("shown live: %q, stored: %q", p.live, m.Text())
		}
		p.live = ""
		p.stored = append(p.stored, m.Text())
	case *message.User:
		p.stored = append(p.stored, m.Text())
	}
}

// follow shows what happens in a conversation until ctx ends, with a pause after each
// piece that is live.
func (p *page) follow(ctx context.Context, t *testing.T, f *fleet.Fleet, pause time.Duration) {
	for e, err := range f.Events(ctx, "ada", "") {
		if err != nil {
			return
		}
		p.show(t, e)
		if e.Live {
			<-time.After(pause)
		}
	}
}

// Readers see an answer while it is written, even if they come in the middle of
// it, and then once from the store.
func TestEventsLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, answer := streaming(t, store.Memory())
		defer closeFleet(t, f)
		send2(t, f, "ada", "hello")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var pages [3]page
		for n := range pages {
			pause := time.Duration(0)
			if n == 2 {
				pause = 300 * time.Millisecond // it reads slowly
			}
			go pages[n].follow(ctx, t, f, pause)
			<-time.After(500 * time.Millisecond)
			synctest.Wait()
			if n == 1 {
				first, late := pages[0].text(), pages[1].text()
				if late != first || first == "" || first == answer {
					t.Errorf("a late reader has %d bytes of %d", len(late), len(first))
				}
			}
		}
		<-time.After(time.Minute)
		cancel()
		synctest.Wait()
		for n := range pages {
			p := &pages[n]
			if len(p.stored) != 2 || p.stored[1] != answer || p.live != "" || p.ended > 1 || n < 2 && p.ended != 1 {
				t.Errorf("page %d: stored %d, live %q, %d results", n, len(p.stored), p.live, p.ended)
			}
		}
		if pages[0].pieces < 50 || pages[2].pieces >= 10 {
			t.Errorf("%d pieces, and %d of the slow reader", pages[0].pieces, pages[2].pieces)
		}
		if info, err := f.Get(t.Context(), "ada"); err != nil || info.Queued != 0 {
			t.Errorf("%+v, %v", info, err)
		}
	})
}

// A reader that continues in the middle of an answer counts its blocks from the first.
func TestEventsWithinAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, store.Memory(), claudetest.New(claudetest.Think("Let me see.", "Done.")), nil)
		defer closeFleet(t, f)
		ask(t, f, "ada", "hello")
		var blocks []int
		for after, more := fleet.Cursor(""), true; more; {
			more = false
			for e, err := range f.Events(t.Context(), "ada", after) { // one at a time
				if err != nil {
					t.Fatal(err)
				}
				if m, ok := e.Message.(*message.Assistant); ok {
					blocks = append(blocks, e.Block)
					more = m.Text() != "Done."
				} else {
					more = true
				}
				after = e.Cursor
				break
			}
		}
		if !slices.Equal(blocks, []int{0, 1}) {
			t.Errorf("blocks %v", blocks)
		}
	})
}

// A reader that does not read at all delays no other, and then has everything from the
// store.
func TestEventsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := streaming(t, store.Memory())
		defer closeFleet(t, f)
		ask(t, f, "ada", "one")
		next, stop := iter.Pull2(f.Events(t.Context(), "ada", ""))
		defer stop()
		var p page
		e, err, _ := next()
		p.show(t, e)
		begin := time.Now()
		for n := range 5 {
			ask(t, f, "ada", fmt.Sprint("prompt ", n))
		}
		if d := time.Since(begin); d > 30*time.Second {
			t.Errorf("five turns took %v", d)
		}
		for len(p.stored) < 12 && err == nil {
			e, err, _ = next()
			p.show(t, e)
		}
		if err != nil || p.pieces != 0 {
			t.Errorf("%d pieces, %v", p.pieces, err)
		}
	})
}

// counting counts the entries that are read.
type counting struct {
	*store.MemoryStore
	read atomic.Int64
}

func (c *counting) Load(ctx context.Context, k store.Key, place store.Place) iter.Seq2[store.PlacedEntry, error] {
	return func(yield func(store.PlacedEntry, error) bool) {
		for e, err := range c.MemoryStore.Load(ctx, k, place) {
			c.read.Add(1)
			if !yield(e, err) {
				return
			}
		}
	}
}

// A transcript is read once, however often it grows.
func TestEventsReadOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &counting{MemoryStore: store.Memory()}
		f := open(t, db, newScripted(), nil)
		defer closeFleet(t, f)
		ask(t, f, "ada", "first")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		events := 0
		go func() {
			for _, err := range f.Events(ctx, "ada", "") {
				if err == nil {
					events++
				}
			}
		}()
		for n := range 50 {
			ask(t, f, "ada", fmt.Sprint("prompt ", n))
		}
		<-time.After(time.Minute)
		cancel()
		synctest.Wait()
		lines := int64(0)
		info, _ := f.Get(t.Context(), "ada")
		for range store.Entries(t.Context(), db.MemoryStore, store.Key{Project: "p", Session: info.Session}) {
			lines++
		}
		if got := db.read.Load(); events < 102 || got > lines+10 {
			t.Errorf("%d events; %d entries were read of %d", events, got, lines)
		}
	})
}
