package natsfleet_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/store"
)

// lossy loses messages of a page on their way from the server, as a connection does that
// breaks and is made again meanwhile. It implements [nats.CustomDialer].
type lossy struct {
	mu          sync.Mutex
	first, last int // the messages to be lost, counted from 1
	seen, lost  int
	with        string // what the messages have that are counted
	breaks      bool   // the connection breaks instead
	denies      bool   // the server claims instead that it has nothing
}

// What messages have: those of a page say how many come after them.
const (
	ofAPage          = "Nats-Num-Pending: "
	acknowledgements = `{"stream":`
)

// lose loses some messages of the next page.
func (l *lossy) lose(first, last int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.first, l.last, l.seen, l.lost, l.with, l.breaks = first, last, 0, 0, ofAPage, false
}

// breakAt loses a message, and the connection with it.
func (l *lossy) breakAt(with string, number int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.first, l.last, l.seen, l.lost, l.with, l.breaks = number, number, 0, 0, with, true
}

// Dial makes a connection to a server.
func (l *lossy) Dial(network, address string) (net.Conn, error) {
	c, err := net.Dial(network, address)
	if err != nil {
		return nil, err
	}
	return &lossyConn{Conn: c, in: bufio.NewReader(c), lossy: l}, nil
}

type lossyConn struct {
	net.Conn
	in   *bufio.Reader
	rest []byte
	*lossy
}

// denyNext lets the next answer with messages be that of a replica which has none.
func (l *lossy) denyNext() {
	l.lose(1, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.denies = true
}

// none is the answer of such a replica, in place of a message.
func none(line string) []byte {
	const text = "NATS/1.0 404 Message Not Found\r\n\r\n"
	fields := strings.Fields(line)
	return fmt.Appendf(nil, "HMSG %s %s %d %d\r\n%s\r\n", fields[1], fields[2], len(text), len(text), text)
}

// Read reads what is not lost.
func (c *lossyConn) Read(b []byte) (int, error) {
	for len(c.rest) == 0 {
		line, err := c.in.ReadBytes('\n')
		if err != nil {
			return 0, err
		}
		c.rest = line
		fields := strings.Fields(string(line))
		if fields[0] != "MSG" && fields[0] != "HMSG" {
			break
		}
		size, err := strconv.Atoi(fields[len(fields)-1])
		if err != nil {
			return 0, err
		}
		body := make([]byte, size+len("\r\n"))
		if _, err := io.ReadFull(c.in, body); err != nil {
			return 0, err
		}
		c.rest = append(line, body...)
		loses, breaks := c.loses(body)
		switch {
		case loses && c.takeDenies():
			c.rest = none(string(line))
		case loses:
			c.rest = nil
		}
		if breaks {
			_ = c.Conn.Close() // the next read fails
		}
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// loses decides about a message.
func (l *lossy) loses(body []byte) (loses, breaks bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first == 0 || !bytes.Contains(body, []byte(l.with)) {
		return false, false
	}
	l.seen++
	if l.seen < l.first || l.seen > l.last {
		return false, false
	}
	l.lost++
	return true, l.breaks
}

func (l *lossy) takeDenies() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	denies := l.denies
	l.denies = false
	return denies
}

// check ends a test that has lost nothing.
func (l *lossy) check(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost == 0 {
		t.Fatal("nothing was lost; this test shows nothing")
	}
}

// openLossy opens a store that is connected through a lossy.
func openLossy(t *testing.T, url string) (*natsfleet.Store, *lossy) {
	t.Helper()
	var l lossy
	s, err := natsfleet.OpenStore(t.Context(), natsfleet.Options{URL: url, Logger: quiet(), NATS: []nats.Option{nats.SetCustomDialer(&l)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, &l
}

// Messages of a page that do not arrive are not taken for messages that are not there:
// the page is read again.
func TestGapInRecords(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	s, l := openLossy(t, c.URL())
	const records = 1100 // more than a page
	for i := range records / store.MaxChanges {
		var changes []store.RecordChange
		for j := range store.MaxChanges {
			name := fmt.Sprintf("a/%d", i*store.MaxChanges+j)
			changes = append(changes, store.RecordChange{Key: store.RecordKey{Project: "p", Kind: "k", Name: name}, Value: []byte(name)})
		}
		if _, err := s.Change(t.Context(), store.Fence{}, changes...); err != nil {
			t.Fatal(err)
		}
	}
	for _, which := range []struct{ first, last int }{{1, 1}, {1, 1000}, {7, 7}, {3, 900}, {1000, 1000}, {1005, 1005}, {1002, 1050}} {
		l.lose(which.first, which.last)
		if got := below(t, s, "a"); len(got) != records {
			t.Errorf("messages %d to %d were lost: the folder has %d records of %d", which.first, which.last, len(got), records)
		}
		l.check(t)
		if got := below(t, s, "a"); len(got) != records { // from where the first scan has found something
			t.Errorf("messages %d to %d were lost: the next scan finds %d records of %d", which.first, which.last, len(got), records)
		}
	}
}

// A compaction never drops messages that did not arrive when the transcript was
// read.
func TestGapWhenCompacting(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	s, l := openLossy(t, c.URL())
	k := store.Key{Project: "p", Session: newID()}
	lease, err := s.Acquire(t.Context(), "p", "n", "me", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	const batches = 40
	for i := range batches {
		if err := s.Append(t.Context(), k, store.Batch{ID: newID(), Entries: []store.Entry{fmt.Appendf(nil, `{"n":%d}`, i)}, Fence: lease.Fence}); err != nil {
			t.Fatal(err)
		}
	}
	before := messages(t, s)
	l.lose(5, 25)
	if err := s.Release(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	l.check(t)
	if after := messages(t, s); after >= before {
		t.Fatalf("it has %d messages, before %d: it was not written anew, and this test shows nothing", after, before)
	}
	if got := entries(t, s, k); len(got) != batches {
		t.Errorf("%d of %d entries are left", len(got), batches)
	}
}

// messages is how many messages the transcripts have.
func messages(t *testing.T, s *natsfleet.Store) int {
	t.Helper()
	all, err := s.Everything(t.Context(), "t", "p")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// A call that is waiting for an answer when the connection breaks asks again as soon as
// there is another connection: for the end of a page, and for the word that a record was
// stored, which happens once.
func TestConnectionBreaks(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	s, l := openLossy(t, c.URL())
	create(t, s, "a/first")
	const page = 3 // the record, the barrier, and the end
	for number := 1; number <= page; number++ {
		l.breakAt(ofAPage, number)
		begin := time.Now()
		if got := below(t, s, "a"); len(got) != 1 {
			t.Errorf("it breaks at message %d: the folder has %v", number, got)
		}
		if took := time.Since(begin); took >= natsfleet.PageBound {
			t.Errorf("it breaks at message %d: that took %v, as long as a server may take for a page", number, took)
		}
		l.check(t)
	}
	l.breakAt(acknowledgements, 1)
	begin := time.Now()
	create(t, s, "a/second")
	if took := time.Since(begin); took >= natsfleet.AttemptBound {
		t.Errorf("it breaks at an acknowledgement: that took %v, as long as a server may take for it", took)
	}
	l.check(t)
	if got := below(t, s, "a"); len(got) != 2 {
		t.Errorf("the folder has %v", got)
	}
}
