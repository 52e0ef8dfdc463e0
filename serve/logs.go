package serve

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
	"github.com/claude-agent-go/claude/store"
)

// logs holds the logs of the conversations that have readers or work to do. Each has a
// goroutine that records its messages.
type logs struct {
	ctx    context.Context // of the server
	fleet  fleet.Conversations
	book   eventlog.Store
	feed   *feed
	pulse  *pulse
	logger *slog.Logger
	work   sync.WaitGroup

	mu      sync.Mutex
	open    map[string]*usedLog
	watched map[string]bool
	erasing map[string]bool          // conversations whose deletion is being retried
	doing   map[string]chan struct{} // closed when the last piece of later work is done
	closing bool
}

// usedLog is a log with those who use it.
type usedLog struct {
	*eventlog.Log
	refs   int // guarded by logs.mu
	stop   context.CancelFunc
	ready  chan struct{} // closed when the stored events are loaded
	failed error         // set before ready is closed
	done   chan struct{} // closed when its goroutine has ended
}

func newLogs(ctx context.Context, f fleet.Conversations, book eventlog.Store, hub *feed, logger *slog.Logger) *logs {
	s := &logs{ctx: ctx, fleet: f, book: book, feed: hub, logger: logger, open: make(map[string]*usedLog), watched: make(map[string]bool), erasing: make(map[string]bool), doing: make(map[string]chan struct{})}
	s.pulse = newPulse(book.Records, book.Project, logger, s.compare)
	s.pulse.wrote = s.wrote
	return s
}

// exists reports whether a conversation exists: it was begun here and is not being
// deleted, or the fleet knows it.
func (s *logs) exists(ctx context.Context, key string) (bool, error) {
	n, _, err := noteStore{s.book.Records, s.book.Project}.loadAny(ctx, key)
	if err == nil {
		return n.Deleted.IsZero(), nil
	}
	if !errors.Is(err, store.ErrNotFound) {
		return false, err
	}
	_, err = s.fleet.Get(ctx, key)
	if errors.Is(err, fleet.ErrUnknown) || errors.Is(err, fleet.ErrDeleted) {
		return false, nil
	}
	return err == nil, err
}

// inBackground runs do in a goroutine that Close waits for, unless the server is
// closing.
func (s *logs) inBackground(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing {
		s.work.Go(do)
	}
}

// tryErasing runs do, which finishes a deletion, in the background, unless this server
// is already at it.
func (s *logs) tryErasing(key string, do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing || s.erasing[key] {
		return
	}
	s.erasing[key] = true
	s.work.Go(func() {
		do()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.erasing, key)
	})
}

// use returns the log of a conversation when it is ready, and what to call when
// it is no longer needed.
func (s *logs) use(ctx context.Context, key string) (*eventlog.Log, func(), error) {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return nil, nil, closing.because("try again in a moment")
	}
	l := s.open[key]
	if l == nil {
		ctx, cancel := context.WithCancel(s.ctx)
		l = &usedLog{
			Log:   eventlog.New(key, s.book, eventlog.Hooks{Exists: s.exists, Touched: s.feed.touch, Wrote: s.pulse.mark, Older: eventlog.NewReader(s.fleet, s.book).Before}),
			ready: make(chan struct{}), done: make(chan struct{}), stop: cancel,
		}
		s.open[key] = l
		s.work.Go(func() { s.keep(ctx, l) })
	}
	l.refs++
	s.mu.Unlock()
	release := sync.OnceFunc(func() { s.release(l) })
	select {
	case <-l.ready:
		if l.failed != nil {
			release()
			return nil, nil, l.failed
		}
		return l.Log, release, nil
	case <-ctx.Done():
		release()
		return nil, nil, context.Cause(ctx)
	}
}

// release gives a log back. The last user's release closes it.
func (s *logs) release(l *usedLog) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.refs--; l.refs == 0 {
		s.forget(l)
	}
}

// forget ends a log. The caller has the lock.
func (s *logs) forget(l *usedLog) {
	l.stop()
	if s.open[l.Key()] == l {
		delete(s.open, l.Key())
	}
}

// drop ends the log of a conversation that was deleted.
func (s *logs) drop(key string) {
	s.mu.Lock()
	l := s.open[key]
	if l != nil {
		s.forget(l)
	}
	s.mu.Unlock()
	s.pulse.mark(key)
	if l != nil {
		l.End(eventlog.WasDeleted)
		<-l.done
	}
}

// compare lets the logs that other servers have written be compared with the store: all
// of them if sums is nil.
func (s *logs) compare(sums []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, l := range s.open {
		if sums == nil || slices.Contains(sums, pulseSum(key)) {
			l.Announced(0)
		}
	}
}

// wrote lets a log be compared with the store if it does not have a revision.
func (s *logs) wrote(key string, revision int64) {
	s.mu.Lock()
	l := s.open[key]
	s.mu.Unlock()
	if l != nil {
		l.Announced(revision)
	}
}

// close ends all logs and waits for their goroutines.
func (s *logs) close() {
	s.mu.Lock()
	s.closing = true
	for _, l := range s.open {
		l.stop()
		l.End("the server stops")
	}
	s.mu.Unlock()
	s.work.Wait()
}

// keep fills a log for as long as it is used.
func (s *logs) keep(ctx context.Context, l *usedLog) {
	defer close(l.done)
	readied := sync.OnceFunc(func() { close(l.ready) })
	defer readied()
	if err := l.Load(ctx); err != nil {
		l.failed = err
		s.mu.Lock()
		s.forget(l)
		s.mu.Unlock()
		return
	}
	if err := s.finishAccepting(ctx, l.Log, 0); err != nil && ctx.Err() == nil {
		s.logger.Warn("prompts may be missing in the log of their conversation", "conversation", l.Key(), "error", err)
	}
	if len(l.Open()) > 0 || len(l.Undecided()) > 0 {
		s.keepWatch(l.Key())
	}
	if err := s.lookAgain(ctx, l.Log); err != nil && ctx.Err() == nil {
		s.logger.Warn("approvals are not in the log of their conversation", "conversation", l.Key(), "error", err)
	}
	s.work.Go(func() { s.lookElsewhere(ctx, l.Log) })
	for attempt := 0; ctx.Err() == nil; attempt++ {
		err := s.read(ctx, l.Log, readied)
		if ctx.Err() != nil {
			return
		}
		if err == nil { // there is more to read
			attempt = -1
			continue
		}
		if overWith(err) { // no prompt was sent yet, or the conversation is deleted
			readied()
		} else {
			s.logger.Warn("the messages of a conversation cannot be read", "conversation", l.Key(), "error", err)
		}
		waitTurn(ctx, l.NextChange(), backoff(attempt))
	}
}

// How often a log in use is compared with the store: every second while something
// happens, and less and less often while it is quiet, unless the store is certain to have
// announced everything. Other servers also say by the pulse that they have written it.
const (
	elsewhereEvery = time.Second
	elsewhereQuiet = 5 * time.Minute
)

// lookPause returns how long to wait before the next look at a log that has been quiet
// for a time.
func lookPause(quiet time.Duration) time.Duration {
	return max(elsewhereEvery, min(quiet/10, elsewhereQuiet))
}

// lookAfter is lookPause after a number of failed looks. Those may have missed what the
// pulse told, so the next ones follow soon, however quiet the log is.
func lookAfter(failed int, quiet time.Duration) time.Duration {
	if failed == 0 {
		return lookPause(quiet)
	}
	return min(lookPause(quiet), max(elsewhereEvery, backoff(failed)))
}

// lookElsewhere takes over what other processes write into a log while it is in use,
// and watches over the prompts that they have accepted, because the other process may
// die. Messages reach the log by themselves, so even a quiet log is compared soon after
// one comes.
func (s *logs) lookElsewhere(ctx context.Context, l *eventlog.Log) {
	moved, failed, looked := time.Now(), 0, int64(-1)
	for ctx.Err() == nil {
		news := waitNews(ctx, l.Elsewhere(), l.NextChange(), lookAfter(failed, time.Since(moved)))
		if news == newsHere {
			moved = time.Now()
			waitTurn(ctx, l.Elsewhere(), elsewhereEvery)
		}
		certain, doubts := s.pulse.certain(looked)
		if failed == 0 && (news == noNews && certain && l.Stored() || news == newsElsewhere && l.HasNewest(ctx)) {
			continue
		}
		before := l.LastSeq()
		if err := l.Refresh(ctx); err != nil {
			if overWith(err) {
				failed = 0
			} else if failed++; failed == 1 && ctx.Err() == nil {
				s.logger.Warn("the log of a conversation cannot be read", "conversation", l.Key(), "error", err)
			}
			continue
		}
		failed, looked = 0, doubts
		if l.LastSeq() > before {
			moved = time.Now()
			l.ReadAgain()
		}
		if l.LastSeq() > before && len(l.Open()) > 0 || len(l.Undecided()) > 0 {
			s.keepWatch(l.Key())
		}
	}
}

// newsOf is the news that waitNews has waited for.
type newsOf int

const (
	noNews        newsOf = iota
	newsHere             // a change that is not known to be elsewhere
	newsElsewhere        // another server may have written
)

// waitNews waits until another server has written a log, or for its next change, or for
// a time.
func waitNews(ctx context.Context, elsewhere, changed <-chan struct{}, atMost time.Duration) newsOf {
	t := time.NewTimer(atMost)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-elsewhere:
		return newsElsewhere
	case <-changed:
		return newsHere
	case <-t.C:
	}
	return noNews
}

// read records messages until something fails.
func (s *logs) read(ctx context.Context, l *eventlog.Log, readied func()) error {
	l.ReadyIfWhole(readied)
	reading, end := l.Reading(ctx) // only the waiting for messages ends early, never a write
	defer end()
	for e, err := range s.fleet.Events(reading, l.Key(), fleet.Cursor(l.Beginning())) {
		if err != nil && errors.Is(context.Cause(reading), eventlog.ErrReadAgain) {
			return nil // whichever error the store makes of it
		}
		if err != nil {
			return err
		}
		if err := l.Hear(ctx, e); err != nil {
			return err
		}
		l.ReadyIfWhole(readied)
	}
	return nil
}

// waitTurn waits for a change, but no longer than atMost. It reports whether there was
// one.
func waitTurn(ctx context.Context, changed <-chan struct{}, atMost time.Duration) bool {
	t := time.NewTimer(atMost)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-changed:
		return true
	case <-t.C:
	}
	return false
}

// backoff returns how long to wait before the next attempt.
func backoff(attempt int) time.Duration {
	return min(50*time.Millisecond<<min(attempt, 10), 5*time.Second)
}

// keepWatch watches over the prompts of a conversation until all have ended, even
// without a reader.
func (s *logs) keepWatch(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watched[key] || s.closing {
		return
	}
	s.watched[key] = true
	s.work.Go(func() {
		again := s.watch(key)
		s.mu.Lock()
		delete(s.watched, key)
		s.mu.Unlock()
		if again {
			s.keepWatch(key)
		}
	})
}

// watch follows the prompts of a conversation, and reports whether some were left.
func (s *logs) watch(key string) (again bool) {
	l, release, err := s.use(s.ctx, key)
	if err != nil {
		if s.ctx.Err() == nil && !closing.is(err) && !overWith(err) {
			s.logger.Warn("the log of a conversation cannot be read", "conversation", key, "error", err)
		}
		return false
	}
	defer release()
	start := startWatch{logs: s, key: key}
	for attempt := 0; s.ctx.Err() == nil && !l.Ended(); {
		next := l.NextChange()
		moved, err := s.checkPrompts(l)
		err = errors.Join(err, s.finishAccepting(s.ctx, l, lastingBound))
		if err != nil && s.ctx.Err() == nil && !overWith(err) {
			s.logger.Warn("the prompts of a conversation cannot be read", "conversation", key, "error", err)
		}
		if len(l.Open()) == 0 && len(l.Undecided()) == 0 {
			return false
		}
		start.look(l.Open())
		if attempt++; moved {
			attempt = 0
			continue
		}
		if waitTurn(s.ctx, next, min(backoff(attempt), time.Second)) {
			attempt = 0 // the change may have been the last message of a turn
		}
	}
	return false
}

// startWatch makes the feed report when the process of a conversation is being started,
// and when it runs. Neither is in the log.
type startWatch struct {
	logs  *logs
	key   string
	state fleet.State
}

// look asks the fleet only while a prompt may wait for its process.
func (w *startWatch) look(open []api.Prompt) {
	if !slices.ContainsFunc(open, func(p api.Prompt) bool { return p.State == api.PromptRunning }) {
		w.state = ""
		return
	}
	if w.state == fleet.StateAwake {
		return
	}
	info, err := w.logs.fleet.Get(w.logs.ctx, w.key)
	if err == nil && info.State != w.state {
		w.state = info.State
		w.logs.feed.touch(w.key)
	}
}

// answerBound is how long the end of a turn waits for the messages of the turn. The
// result never comes if the turn ended before the log had a reader, or in a process
// that this one cannot follow.
const answerBound = 3 * time.Second

// checkPrompts records the state of a conversation's prompts.
func (s *logs) checkPrompts(l *eventlog.Log) (moved bool, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, answerBound) // for all answers together
	defer cancel()
	open := l.Open()
	tickets, err := s.tickets(l.Key(), open)
	if err != nil {
		return false, err
	}
	for _, ticket := range tickets {
		if slices.ContainsFunc(open, func(p api.Prompt) bool { return p.ID == ticket.Prompt && eventlog.StandsAs(&p, &ticket) }) {
			continue
		}
		if ticket.Result != nil {
			l.AwaitAnswer(ctx, ticket.Result)
		}
		if ticket.Status.Done() {
			if err := s.noteQuestions(s.ctx, l, ticket.Prompt); err != nil {
				return moved, err
			}
		}
		var unprompted fleet.Ledger
		if info, err := s.fleet.Get(s.ctx, l.Key()); err == nil {
			unprompted = info.Unprompted
		}
		if err := l.Progress(s.ctx, &ticket, unprompted); err != nil {
			return moved, err
		}
		moved = true
	}
	if moved {
		err = s.lookAgain(s.ctx, l)
	}
	return moved, err
}

// tickets returns the state of prompts: first those that have ended, in that order. It
// reads the others again after them, so they are certain to end later.
func (s *logs) tickets(key string, open []api.Prompt) ([]fleet.Ticket, error) {
	var done, others []fleet.Ticket
	for more := true; more; {
		var left []api.Prompt
		more, others = false, nil
		for _, p := range open {
			t, err := s.fleet.Prompt(s.ctx, key, p.ID)
			if errors.Is(err, fleet.ErrUnknown) {
				t = fleet.Ticket{Prompt: p.ID, Status: fleet.PromptCancelled, Error: "the conversation was deleted"}
			} else if err != nil {
				return nil, err
			}
			if t.Status.Done() {
				done, more = append(done, t), true
			} else {
				others, left = append(others, t), append(left, p)
			}
		}
		open = left
	}
	at := make(map[string]time.Time)
	for _, t := range done {
		at[t.Prompt] = t.Ended
	}
	for _, t := range done {
		if of, ok := at[t.PartOf]; ok { // the prompt ends with that turn
			at[t.Prompt] = of
		}
	}
	slices.SortStableFunc(done, func(a, b fleet.Ticket) int { return at[a.Prompt].Compare(at[b.Prompt]) })
	return append(done, others...), nil
}
