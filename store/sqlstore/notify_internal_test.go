package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// channel is a server that takes texts, and may be away or slow.
type channel struct {
	mu    sync.Mutex
	away  bool
	texts []string
	hold  chan struct{} // what sending waits for; nil: nothing
}

func (c *channel) send(ctx context.Context, text string) error {
	c.mu.Lock()
	hold := c.hold
	c.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away {
		return errors.New("the server is away")
	}
	c.texts = append(c.texts, text)
	return nil
}

// taken returns what was sent since it was last called.
func (c *channel) taken() []string {
	<-time.After(time.Second)
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	texts := c.texts
	c.texts = nil
	return texts
}

func (c *channel) set(away bool, hold chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away, c.hold = away, hold
}

func sender(c *channel) *notes {
	return &notes{send: c.send, alone: func() bool { return false }}
}

// A change is sent at once. Those that are made meanwhile are sent together, in payloads that the
// server takes.
func TestNotesGather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, hold := new(channel), make(chan struct{})
		n := sender(c)
		n.add([]string{"first"})
		if got := c.taken(); len(got) != 1 || got[0] != "first" {
			t.Fatalf("sent: %q", got)
		}
		c.set(false, hold)
		n.add([]string{"slow"})
		synctest.Wait() // it is being sent
		var want []string
		for i := range 500 {
			want = append(want, fmt.Sprint(strings.Repeat("x", 50+i%20), i))
			n.add(want[i:])
		}
		close(hold)
		got := c.taken()
		if len(got) < 4 || len(got) > 6 || got[0] != "slow" || strings.Join(got[1:], "\n") != strings.Join(want, "\n") {
			t.Errorf("%d payloads are sent: %.200q", len(got), got)
		}
		for _, text := range got {
			if len(text) >= 8000 {
				t.Errorf("a payload of %d bytes", len(text))
			}
		}
		n.close()
	})
}

// While the server is away, notes wait for it. If they are too many, one stands for all of them.
func TestNotesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &channel{away: true}
		n := sender(c)
		n.add([]string{"one"})
		n.add([]string{"two"})
		<-time.After(time.Minute)
		c.set(false, nil)
		<-time.After(10 * time.Second)
		if got := strings.Join(c.taken(), "\n"); got != "one\ntwo" {
			t.Errorf("sent when the server is back: %q", got)
		}
		c.set(true, nil)
		n.add([]string{"in the air"})
		synctest.Wait()
		for range maxNotes + 1 {
			n.add([]string{"many"})
		}
		c.set(false, nil)
		<-time.After(10 * time.Second)
		if got := strings.Join(c.taken(), "\n"); got != "in the air\n"+missedNote("-") {
			t.Errorf("sent after too many: %.100q", got)
		}
		n.close()
	})
}

// Closing waits for the last notes, but not for a server that is away.
func TestNotesClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, hold := new(channel), make(chan struct{})
		n := sender(c)
		c.set(false, hold)
		n.add([]string{"slow"})
		n.add([]string{"last"})
		time.AfterFunc(time.Second, func() { close(hold) })
		n.close()
		if got := strings.Join(c.taken(), "\n"); got != "slow\nlast" {
			t.Errorf("sent before it is closed: %q", got)
		}
		n.add([]string{"late"})
		if got := c.taken(); len(got) > 0 {
			t.Errorf("sent after it is closed: %q", got)
		}
		away := sender(&channel{away: true})
		away.add([]string{"one"})
		begin := time.Now()
		if away.close(); time.Since(begin) > 10*time.Second {
			t.Errorf("closed after %v", time.Since(begin))
		}
		var none *notes // of a store that announces nothing
		none.add([]string{"one"})
		none.close()
	})
}

// A change is announced when it is committed, and not before or if it is refused. If it is not
// known whether it was made, readers look at everything.
func TestNotesFollowCommits(t *testing.T) {
	n, s := noteSteps(t)
	sent := make(chan string, 10)
	s.notes = &notes{alone: func() bool { return false }, send: func(_ context.Context, text string) error { sent <- text; return nil }}
	make := func(name string, revision int64) error {
		_, err := s.Change(t.Context(), store.Fence{}, store.RecordChange{Key: store.RecordKey{Project: "p", Kind: "k", Name: name}, Revision: revision})
		return err
	}
	if err := make("name-a", 0); err != nil {
		t.Fatal(err)
	}
	if got := <-sent; got != "p 1 record k name-a 1 - 0" {
		t.Errorf("sent: %q", got)
	}
	if err := make("name-a", 7); !errors.Is(err, store.ErrConflict) {
		t.Fatal(err)
	}
	n.lost = true
	if err := make("name-b", 0); !errors.Is(err, errFault) {
		t.Fatal(err)
	}
	if got := <-sent; got != missedNote("p") {
		t.Errorf("sent after a commit without an answer: %q", got)
	}
}

// Where nothing comes through, the readers of this process learn of its own changes directly.
func TestNotesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alone := false
		var took []string
		n := &notes{send: new(channel).send, alone: func() bool { return alone }, take: func(text string) { took = append(took, text) }}
		n.add([]string{"one"})
		<-time.After(time.Second)
		alone = true
		n.add([]string{"two"})
		<-time.After(time.Second)
		if len(took) != 1 || took[0] != "two" {
			t.Errorf("taken: %q", took)
		}
	})
}
