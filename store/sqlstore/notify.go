package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/claude-agent-go/claude/store/storeimpl"
)

// notes are changes that Postgres has committed and not yet been told to announce. NOTIFY in the
// transaction of the change would make all commits wait for each other. So one goroutine sends
// what has gathered since its last NOTIFY, and ends when there is nothing left.
type notes struct {
	send  func(ctx context.Context, text string) error
	alone func() bool       // nothing that is sent comes back
	take  func(text string) // hands a text to the readers of this process

	mu      sync.Mutex
	waiting []string
	stop    context.CancelFunc // ends the sending; nil if nothing is sent now
	ended   chan struct{}
	closed  bool
}

const (
	maxNotes   = 10_000           // that wait while the server is away
	maxPayload = 7900             // bytes of a NOTIFY, which must be fewer than 8,000; a single note has fewer than 3,000
	gather     = time.Millisecond // after a NOTIFY, for the next
	lastNotes  = 2 * time.Second
)

// noted returns the notes of changes: the project, the number of the change, and its text.
func noted(project string, made []change) []string {
	all := make([]string, len(made))
	for i, c := range made {
		all[i] = project + " " + strconv.FormatInt(c.number, 10) + " " + storeimpl.Text(c.what)
	}
	return all
}

// missedNote lets readers look at everything.
func missedNote(project string) string { return project + " 0 missed" }

// add adds notes to those that are sent. If there are too many, one stands for all.
func (n *notes) add(all []string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	if n.waiting = append(n.waiting, all...); len(n.waiting) > maxNotes {
		n.waiting = []string{missedNote("-")}
	}
	if n.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		n.stop, n.ended = stop, make(chan struct{})
		go n.run(ctx, n.ended)
	}
}

// run sends notes until there are none.
func (n *notes) run(ctx context.Context, ended chan<- struct{}) {
	defer close(ended)
	for {
		text := n.next()
		if text == "" || !n.deliver(ctx, text) {
			return
		}
		if n.alone() {
			n.take(text)
		}
		if !pause(ctx, gather) {
			return
		}
	}
}

// pause waits for a time, and reports false if it was stopped.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// deliver sends a text, again and again if it must. It reports false if it was stopped.
func (n *notes) deliver(ctx context.Context, text string) bool {
	const first, longest = 20 * time.Millisecond, 2 * time.Second
	for wait := first; ; wait = min(2*wait, longest) {
		if err := n.send(ctx, text); err == nil {
			return true
		}
		if !pause(ctx, wait) {
			return false
		}
	}
}

// next takes the notes of the next payload. When there are none, the sending is over.
func (n *notes) next() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.waiting) == 0 {
		n.stop()
		n.stop, n.waiting = nil, nil
		return ""
	}
	size, count := 0, 0
	for _, text := range n.waiting {
		if size += len(text) + 1; size > maxPayload && count > 0 {
			break
		}
		count++
	}
	some := n.waiting[:count]
	n.waiting = n.waiting[count:]
	return strings.Join(some, "\n")
}

// close waits a moment for the last notes.
func (n *notes) close() {
	if n == nil {
		return
	}
	n.mu.Lock()
	n.closed = true
	stop, ended := n.stop, n.ended
	n.mu.Unlock()
	if stop == nil {
		return
	}
	t := time.NewTimer(lastNotes)
	defer t.Stop()
	select {
	case <-ended:
	case <-t.C:
		stop()
		<-ended
	}
}

// notify sends a text to the channel of the store. Its name has the id of a sequence of the
// store, as there may be several stores in the schemas of one database.
func (b *database) notify(ctx context.Context, text string) error {
	_, err := b.db.ExecContext(ctx, "select pg_notify('claude_' || 'claude_changes'::regclass::oid, $1)", text)
	return err
}

// lookEvery is how often readers look at everything, because a process may have been killed
// between a commit and its announcement.
const lookEvery = time.Minute

// listener listens to the channel of the store.
func (b *database) listener(server *pgx.ConnConfig) *storeimpl.Listener {
	l := &storeimpl.Listener{
		Dial:  func(ctx context.Context) (storeimpl.Line, error) { return dial(ctx, server) },
		Send:  b.notify,
		Fatal: func(error) bool { return false },
		Look:  lookEvery,
	}
	var made order
	l.Take = func(text string) {
		changes, whole := made.sort(text)
		l.Hub.Send(changes...)
		if !whole {
			l.Hub.Missed()
		}
	}
	return l
}

// listening is a [storeimpl.Line].
type listening struct{ conn *pgx.Conn }

// dial begins to listen.
func dial(ctx context.Context, server *pgx.ConnConfig) (storeimpl.Line, error) {
	conn, err := pgx.ConnectConfig(ctx, server.Copy())
	if err != nil {
		return nil, err
	}
	l := &listening{conn}
	var channel string
	if err = conn.QueryRow(ctx, "select 'claude_' || 'claude_changes'::regclass::oid").Scan(&channel); err == nil {
		_, err = conn.Exec(ctx, "listen "+pgx.Identifier{channel}.Sanitize())
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Receive implements [storeimpl.Line].
func (l *listening) Receive(ctx context.Context, within time.Duration) (string, bool, error) {
	waiting, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	n, err := l.conn.WaitForNotification(waiting)
	switch {
	case n != nil:
		return n.Payload, true, nil
	case ctx.Err() != nil:
		return "", false, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded) && !l.conn.IsClosed():
		return "", false, nil
	case err == nil:
		err = errors.New("no notification came")
	}
	return "", false, fmt.Errorf("claude: sqlstore: %w", err)
}

// Close implements [storeimpl.Line].
func (l *listening) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), lastNotes)
	defer cancel()
	_ = l.conn.Close(ctx) // the server may be away
}
