package serve

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// logs holds the logs of the conversations that have readers or work to do. Each has a
// goroutine that records its messages.
type logs struct {
	ctx    context.Context // of the server
	fleet  fleet.Conversations
	book   logStore
	feed   *feed
	pulse  *pulse
	logger *slog.Logger
	work   sync.WaitGroup

	mu      sync.Mutex
	open    map[string]*eventLog
	watched map[string]bool
	erasing map[string]bool          // conversations whose deletion is being retried
	doing   map[string]chan struct{} // closed when the last piece of later work is done
	closing bool
}

func newLogs(ctx context.Context, f fleet.Conversations, book logStore, hub *feed, logger *slog.Logger) *logs {
	s := &logs{ctx: ctx, fleet: f, book: book, feed: hub, logger: logger, open: make(map[string]*eventLog), watched: make(map[string]bool), erasing: make(map[string]bool), doing: make(map[string]chan struct{})}
	s.pulse = newPulse(book.records, book.project, logger, s.compare)
	s.pulse.wrote = s.wrote
	return s
}

// exists reports whether a conversation exists: it was begun here and is not being
// deleted, or the fleet knows it.
func (s *logs) exists(ctx context.Context, key string) (bool, error) {
	n, _, err := noteStore(s.book).loadAny(ctx, key)
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
func (s *logs) use(ctx context.Context, key string) (*eventLog, func(), error) {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return nil, nil, closing.because("try again in a moment")
	}
	l := s.open[key]
	if l == nil {
		l = newEventLog(key, s.book, s.exists, s.feed.touch)
		l.wrote, l.older = s.pulse.mark, (&reader{s.fleet, s.book}).before
		ctx, cancel := context.WithCancel(s.ctx)
		l.stop = cancel
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
		return l, release, nil
	case <-ctx.Done():
		release()
		return nil, nil, context.Cause(ctx)
	}
}

// release gives a log back. The last user's release closes it.
func (s *logs) release(l *eventLog) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.refs--; l.refs == 0 {
		s.forget(l)
	}
}

// forget ends a log. The caller has the lock.
func (s *logs) forget(l *eventLog) {
	l.stop()
	if s.open[l.key] == l {
		delete(s.open, l.key)
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
		l.end(wasDeleted)
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
			l.announced(0)
		}
	}
}

// wrote lets a log be compared with the store if it does not have a revision.
func (s *logs) wrote(key string, revision int64) {
	s.mu.Lock()
	l := s.open[key]
	s.mu.Unlock()
	if l != nil {
		l.announced(revision)
	}
}

// close ends all logs and waits for their goroutines.
func (s *logs) close() {
	s.mu.Lock()
	s.closing = true
	for _, l := range s.open {
		l.stop()
		l.end("the server stops")
	}
	s.mu.Unlock()
	s.work.Wait()
}

// keep fills a log for as long as it is used.
func (s *logs) keep(ctx context.Context, l *eventLog) {
	defer close(l.done)
	readied := sync.OnceFunc(func() { close(l.ready) })
	defer readied()
	if err := l.load(ctx); err != nil {
		l.failed = err
		s.mu.Lock()
		s.forget(l)
		s.mu.Unlock()
		return
	}
	if err := s.finishAccepting(ctx, l, 0); err != nil && ctx.Err() == nil {
		s.logger.Warn("prompts may be missing in the log of their conversation", "conversation", l.key, "error", err)
	}
	if len(l.open()) > 0 || len(l.undecided()) > 0 {
		s.keepWatch(l.key)
	}
	if err := s.lookAgain(ctx, l); err != nil && ctx.Err() == nil {
		s.logger.Warn("approvals are not in the log of their conversation", "conversation", l.key, "error", err)
	}
	s.work.Go(func() { s.lookElsewhere(ctx, l) })
	for attempt := 0; ctx.Err() == nil; attempt++ {
		err := s.read(ctx, l, readied)
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
			s.logger.Warn("the messages of a conversation cannot be read", "conversation", l.key, "error", err)
		}
		waitTurn(ctx, l.nextChange(), backoff(attempt))
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
func (s *logs) lookElsewhere(ctx context.Context, l *eventLog) {
	moved, failed, looked := time.Now(), 0, int64(-1)
	for ctx.Err() == nil {
		news := waitNews(ctx, l.elsewhere, l.nextChange(), lookAfter(failed, time.Since(moved)))
		if news == newsHere {
			moved = time.Now()
			waitTurn(ctx, l.elsewhere, elsewhereEvery)
		}
		certain, doubts := s.pulse.certain(looked)
		if failed == 0 && (news == noNews && certain && l.stored() || news == newsElsewhere && l.hasNewest(ctx)) {
			continue
		}
		before := l.lastSeq()
		if err := l.refresh(ctx); err != nil {
			if overWith(err) {
				failed = 0
			} else if failed++; failed == 1 && ctx.Err() == nil {
				s.logger.Warn("the log of a conversation cannot be read", "conversation", l.key, "error", err)
			}
			continue
		}
		failed, looked = 0, doubts
		if l.lastSeq() > before {
			moved = time.Now()
			l.readAgain()
		}
		if l.lastSeq() > before && len(l.open()) > 0 || len(l.undecided()) > 0 {
			s.keepWatch(l.key)
		}
	}
}

// newsOf is what waitNews has waited for.
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
func (s *logs) read(ctx context.Context, l *eventLog, readied func()) error {
	l.readyIfWhole(readied)
	reading, end := l.reading(ctx) // only the waiting for messages ends early, never a write
	defer end()
	for e, err := range s.fleet.Events(reading, l.key, fleet.Cursor(l.beginning())) {
		if err != nil && errors.Is(context.Cause(reading), errReadAgain) {
			return nil // whichever error the store makes of it
		}
		if err != nil {
			return err
		}
		if err := s.note(ctx, l, e); err != nil {
			return err
		}
		l.readyIfWhole(readied)
	}
	return nil
}

// note takes one event of the fleet into the log.
func (s *logs) note(ctx context.Context, l *eventLog, e fleet.ConversationEvent) error {
	if piece, ok := e.Message.(*message.StreamEvent); ok {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.writingOn.take(piece, e.Offset) {
			l.wake()
		}
		return nil
	}
	if e.Live { // the end of a turn, for which the log has its own event
		l.mu.Lock()
		defer l.mu.Unlock()
		l.writingOn.blocks = nil // a block that is not stored by now never will be
		if r, ok := e.Message.(*message.Result); ok {
			l.results.add(r.UUID)
		}
		l.wake()
		return nil
	}
	cursor := string(e.Cursor)
	err := l.append(ctx, func(h *logHead) []logEvent {
		if _, known := l.cursors[e.Cursor.ID()]; known {
			return nil
		}
		h.Context = h.Context.heard(&e)
		return []logEvent{{Event: api.Event{Type: api.EventMessage, Message: []byte(e.Entry)}, cursor: cursor}}
	})
	if err == nil {
		l.fill(cursor, []byte(e.Entry))
	}
	return err
}

// answerBound is how long the end of a turn waits for the messages of the turn. The
// result never comes if the turn ended before the log had a reader, or in a process
// that this one cannot follow.
const answerBound = 3 * time.Second

// awaitAnswer waits until the log has every message before a result. A client that
// leaves at the end of a turn must not miss the answer.
func (s *logs) awaitAnswer(ctx context.Context, l *eventLog, r *message.Result) {
	for before := l.results.last(); ; {
		next := l.nextChange()
		if l.results.has(r.UUID) || l.results.last() != before || ctx.Err() != nil {
			return
		}
		select {
		case <-next:
		case <-ctx.Done():
		}
	}
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
	for attempt := 0; s.ctx.Err() == nil && !l.ended(); {
		next := l.nextChange()
		moved, err := s.checkPrompts(l)
		err = errors.Join(err, s.finishAccepting(s.ctx, l, lastingBound))
		if err != nil && s.ctx.Err() == nil && !overWith(err) {
			s.logger.Warn("the prompts of a conversation cannot be read", "conversation", key, "error", err)
		}
		if len(l.open()) == 0 && len(l.undecided()) == 0 {
			return false
		}
		start.look(l.open())
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

// checkPrompts records the state of a conversation's prompts.
func (s *logs) checkPrompts(l *eventLog) (moved bool, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, answerBound) // for all answers together
	defer cancel()
	open := l.open()
	tickets, err := s.tickets(l.key, open)
	if err != nil {
		return false, err
	}
	for _, ticket := range tickets {
		if slices.ContainsFunc(open, func(p api.Prompt) bool { return p.ID == ticket.Prompt && standsAs(&p, &ticket) }) {
			continue
		}
		if ticket.Result != nil {
			s.awaitAnswer(ctx, l, ticket.Result)
		}
		if ticket.Status.Done() {
			if err := s.noteQuestions(s.ctx, l, ticket.Prompt); err != nil {
				return moved, err
			}
		}
		var unprompted fleet.Ledger
		if info, err := s.fleet.Get(s.ctx, l.key); err == nil {
			unprompted = info.Unprompted
		}
		if err := l.append(s.ctx, func(h *logHead) []logEvent { return l.advance(h, &ticket, unprompted) }); err != nil {
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

// takeTicket sets the state of a prompt to that of a ticket.
func takeTicket(p *api.Prompt, t *fleet.Ticket) {
	p.State, p.Approval = api.PromptState(t.Status), t.Question
	p.Problem, p.Error = failureOf(t.Cause, t.Error)
}

// standsAs reports whether a prompt is as far along as a ticket.
func standsAs(p *api.Prompt, t *fleet.Ticket) bool {
	now := *p
	takeTicket(&now, t)
	return now == *p
}

// difference returns what was spent between two states of a ledger.
func difference(now, before fleet.Ledger) (more fleet.Ledger) {
	if now.Turns <= before.Turns {
		return more
	}
	for name, u := range now.Models {
		old := before.Models[name]
		u.InputTokens -= old.InputTokens
		u.OutputTokens -= old.OutputTokens
		u.CacheReadInputTokens -= old.CacheReadInputTokens
		u.CacheCreationInputTokens -= old.CacheCreationInputTokens
		u.CostUSD -= old.CostUSD
		if u.InputTokens|u.OutputTokens|u.CacheReadInputTokens|u.CacheCreationInputTokens != 0 || u.CostUSD > 0 {
			if more.Models == nil {
				more.Models = make(map[string]message.ModelUsage)
			}
			more.Models[name] = u
		}
	}
	more.USD, more.Turns = max(0, now.USD-before.USD), now.Turns-before.Turns
	return more
}
