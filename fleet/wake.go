package fleet

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// waking is a conversation that has a slot and its lease.
type waking struct {
	f     *Fleet
	c     *conversation
	lease *owned
	stop  <-chan struct{} // closed when its work must end
	rec   record
	// When it was last looked at: the ids of the prompts without an outcome, and
	// whether a prompt has one, as far as it was looked for.
	queue, outcomes map[string]bool

	session *claude.Session // nil: no CLI runs
	steered *steered        // what it has besides the prompt of its turn
	gate    *approval.Gate
	spent   *message.Spending
	heard   string // the id of the last answer of the main conversation
	newest  newest
	closed  chan struct{} // closed when the session is closed
	turns   int
	// mode is the permission mode of the CLI, and moved says that the CLI has
	// changed it, as it does when a plan is approved.
	mode  permission.Mode
	moved bool
	own   choices // of the user's options

	// inDoubt says that a prompt which was offered may still be written under this lease.
	// It would be beside the queue, which is all that an offer looks at. So all others are queued.
	inDoubt bool

	going *calls

	starts int // starts in a row that were too slow, of the prompt of the step

	deferredCall *approval.Question // the question about the call that the step finish makes; nil if nobody was asked

	traceDone func(TraceOutcome) map[string]string // of the step; nil if nobody follows it
}

// see takes note of the permission mode and of the last answer.
func (w *waking) see(m message.Message) {
	var mode permission.Mode
	switch m := m.(type) {
	case *message.Init:
		mode = m.PermissionMode
	case *message.Status:
		mode = m.PermissionMode
	case *message.Assistant:
		if m.ParentToolUseID == "" && m.Model != syntheticModel && m.ID != "" {
			w.heard = m.ID
		}
	}
	if mode == "" {
		return
	}
	w.moved = w.moved || w.mode != "" && mode != w.mode
	w.mode = mode
}

// never means that a conversation is not woken again by itself.
const never = time.Duration(-1)

// turnsInARow is how many prompts a conversation may run while others wait for
// its slot.
const turnsInARow = 4

// run lets a conversation use its slot until it sleeps.
func (f *Fleet) run(c *conversation) {
	again := f.use(c)
	f.roster.leave(c, again)
}

// use takes the lease and works until there is nothing to do, others need the
// slot, or something fails. It returns when to try again.
func (f *Fleet) use(c *conversation) (again time.Duration) {
	lease, err := f.leases.own(f.ctx, c.key)
	if err != nil {
		held, isHeld := errors.AsType[*store.HeldError](err)
		f.roster.mu.Lock()
		c.Wanted, c.Held = true, isHeld
		if isHeld {
			c.interrupted = "" // another process runs its turns
		}
		f.roster.mu.Unlock()
		if isHeld {
			return f.leases.askAgain(held)
		}
		f.opts.Logger.Warn("a conversation cannot be woken", "conversation", c.key, "error", err)
		return retryAfter
	}
	f.roster.mu.Lock()
	w := &waking{f: f, c: c, lease: lease, stop: c.stop, going: newCalls()}
	c.token = lease.Token
	f.roster.mu.Unlock()
	w.setTurn(w.newTurn("", sleep))
	again = w.work()
	w.decline()
	if err := w.close(); err != nil {
		f.opts.Logger.Error("a conversation did not end well", "conversation", c.key, "error", err)
	}
	w.setTurn(nil)
	w.forgetCalls()
	if lease.isLost() {
		f.roster.mu.Lock()
		c.interrupted = "" // it was meant for what this process did
		f.roster.mu.Unlock()
	}
	if err := lease.release(f.ctx); err != nil {
		f.opts.Logger.Warn("a lease could not be given back, it will expire", "conversation", c.key, "error", err)
	}
	if lease.isLost() && again == never {
		return retryAfter // another process may continue; if there is none, this one does
	}
	return again
}

// work does one step after another. It returns when to try again.
func (w *waking) work() time.Duration {
	for {
		if w.over() {
			return never
		}
		s, p, err := w.look()
		if err == nil && s != sleep {
			err = w.do(s, p)
			w.turns++
		}
		if err != nil {
			w.recheckAll()
		}
		switch {
		case err != nil && w.over():
			return never
		case w.f.newer.skips(w.c.key, err):
			return never // until there is something new
		case err != nil:
			w.f.opts.Logger.Warn("a turn failed", "conversation", w.c.key, "error", err)
			return w.backoff(p)
		case s == sleep && !w.idle():
			return never
		case s != sleep && w.given(""):
			// The CLI begins with it by itself.
		case s != sleep && w.turns >= turnsInARow && w.f.roster.pressed():
			return 0 // behind the waiting ones
		case s != sleep:
			w.keepLimits()
		}
	}
}

// look is next, unless it is known that there is nothing to do: after a turn whose
// prompt was the last.
func (w *waking) look() (step, *queued, error) {
	if o := w.offered(); o != nil {
		p, err := w.accept(w.f.ctx, o.p)
		if err == nil {
			p.offer = o
			return send, p, nil
		}
		if !errors.Is(err, errDeclined) {
			w.inDoubt = true
			w.f.roster.want(w.c.key) // it may be in the queue, and nobody else may look
		}
		o.answer <- err
	}
	if w.turns > 0 && w.f.roster.nothingNew(w.c) {
		return sleep, nil, nil
	}
	w.decline()
	w.f.roster.mu.Lock()
	w.c.Wanted, w.c.stuck = false, false
	w.f.roster.mu.Unlock()
	if looks := w.f.opts.looks; looks != nil {
		return looks(w)
	}
	return w.next(w.f.ctx)
}

// recheckAll lets those who watch prompts look at the store: the conversation failed,
// and what was announced of it in the meantime was taken for its own.
func (w *waking) recheckAll() {
	w.f.roster.mu.Lock()
	defer w.f.roster.mu.Unlock()
	w.c.recheckAll()
}

// backoff is how long to wait after a failure.
func (w *waking) backoff(p *queued) time.Duration {
	if p == nil {
		return retryAfter
	}
	return retryAfter << min(p.Begun+p.Starts, 6)
}

// over reports whether nothing more may be begun: the fleet closes, the lease is
// lost, or the conversation is deleted.
func (w *waking) over() bool {
	select {
	case <-w.f.closing:
		return true
	case <-w.lease.lost:
		return true
	case <-w.stop:
		return true
	default:
		return w.f.ctx.Err() != nil
	}
}

// do takes a step. A prompt is counted as begun before a CLI can see it.
func (w *waking) do(s step, p *queued) (err error) {
	if s != rewind {
		done := w.begins(p, s)
		defer func() { done(err != nil) }()
	}
	if s != finish {
		w.deferredCall = nil
	}
	if o := p.offer; o != nil {
		p.offer = nil
		o.answer <- nil // those who interrupt it from now on find its turn
	} else if s != await { // which the CLI was given with this
		p.Begun++
		p.Sent = true
		p.Question = "" // it was decided, or nobody will ask it again
		err := w.f.records.update(w.f.ctx, p, w.lease.Fence)
		if errors.Is(err, store.ErrConflict) {
			return nil // it was cancelled, or is to be tried again: look at it again
		}
		if err != nil {
			return err
		}
	}
	ctx := w.traced(w.f.ctx, s, p)
	defer func() { w.worked(p, TraceOutcome{Status: Running, Err: err}) }()
	if s == rewind {
		return w.rewindFiles(ctx, p)
	}
	if s == finish || s == resume || w.session == nil || s == send && w.steered.used[p.ID] {
		w.starts = p.Starts
		if err := w.connect(ctx, s); err != nil {
			return w.failed(p, err)
		}
		p.Starts = 0
	}
	w.going.begin()
	began := time.Now()
	r, err := w.turn(ctx, s, p)
	if err == nil && r != nil {
		w.f.roster.took(time.Since(began))
		return w.result(ctx, p, r)
	}
	if errors.Is(err, claude.ErrAnswered) {
		err = nil // the transcript has the answer
	}
	return w.failed(p, errors.Join(err, w.close()))
}

// turn gives a prompt to the CLI, or lets the CLI continue with it, and returns
// the result.
func (w *waking) turn(ctx context.Context, s step, p *queued) (r *message.Result, err error) {
	var stream iter.Seq2[message.Message, error]
	if s != send {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		go mustBegin(ctx, cancel, w.session)
		stream = w.session.Messages(ctx)
	} else {
		// A context that ends would interrupt the turn, which the transcript then
		// reports as the user's. The session ends when it must.
		stream = w.session.RunMessage(context.WithoutCancel(ctx), &message.User{Header: message.Header{UUID: p.ID}, Content: p.Content})
	}
	if s != send {
		w.interruptIfWanted(w.session) // it works already
	}
	began, stop := w.steering()
	defer stop()
	say := func(m message.Message) {
		w.see(m)
		w.f.news.publish(w.c, p.ID, m, nil)
		w.passOn(m, p.ID)
	}
	for m, err := range stream {
		if err != nil {
			if _, failed := err.(*claude.ResultError); failed && r != nil {
				break // its result says so; joined with another error, it is not stored
			}
			return nil, err
		}
		result, ok := m.(*message.Result)
		answers := ok && (s == finish || s == resume || slices.Contains(result.Prompts, p.ID))
		if answers && result.DeferredToolUse == nil {
			w.turnEnded()
		}
		if answers && s == send {
			r = result
			continue // an error follows if the transcript does not have what it answers
		}
		if ok {
			if err := w.session.Flush(ctx); err != nil {
				return nil, err // it answers something that the transcript does not have
			}
		}
		say(m)
		switch m := m.(type) {
		case *message.Init:
			w.begun(w.session) // before the CLI is given more, which no word for this turn may stop
			began()
		case *message.Result:
			if answers {
				r = m
			} else if err := w.others(ctx, m, p.ID); err != nil {
				return nil, err
			}
		}
		if r != nil && s != send {
			return r, nil
		}
	}
	if r == nil {
		return nil, claude.ErrNoResult
	}
	say(r)
	return r, nil
}

// result writes down how a turn ended: what it has cost, and its outcome or what
// it waits for.
func (w *waking) result(ctx context.Context, p *queued, r *message.Result) error {
	if err := w.settle(ctx, r); err != nil {
		return err
	}
	if r.DeferredToolUse == nil && !w.tookIn(r, p.ID) {
		return w.answered(ctx, p, r)
	}
	if err := w.count(ctx, r, p.ID); err != nil {
		return err
	}
	if r.DeferredToolUse != nil {
		return w.deferred(ctx, p) // and what the turn took in ends with it
	}
	if err := w.endOthers(ctx, r, p.ID, p.ID); err != nil {
		return err
	}
	return w.persist(func() error { return w.ended(ctx, p, w.ticket(r)) })
}

// change changes the record of the conversation.
func (w *waking) change(ctx context.Context, do func(*record) error) error {
	rec, err := w.f.records.change(ctx, w.c.key, w.lease.Fence, do)
	if err == nil {
		w.rec = rec
	}
	return err
}

// ticket is how prompts stand that a result answers.
func (w *waking) ticket(r *message.Result) Ticket {
	o := Ticket{Status: Answered, Text: r.Text, Result: r, Output: r.StructuredOutput, Session: w.rec.Session, Interrupted: r.Interrupted()}
	if r.Failed() {
		o.Status, o.Error = Failed, (&claude.ResultError{Result: r}).Error()
	}
	return o
}

// persist writes down what only this process knows, for as long as it may.
func (w *waking) persist(write func() error) error {
	for attempt := 0; ; attempt++ {
		err := write()
		if err == nil || errors.Is(err, store.ErrLeaseLost) || errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrNewer) {
			return err
		}
		select {
		case <-w.lease.lost:
			return err
		case <-w.stop:
			return err
		default:
		}
		w.f.opts.Logger.Warn("the outcome of a turn is not stored yet", "conversation", w.c.key, "error", err)
		if !pause(w.f.ctx, retryDelay(attempt)) {
			return err
		}
	}
}

// ended gives the prompt of a step its outcome.
func (w *waking) ended(ctx context.Context, p *queued, o Ticket) error {
	if err := w.conclude(ctx, p, &o); err != nil {
		return err
	}
	w.told(p, o)
	return nil
}

// told says how the prompt of a step has ended, to all who follow it.
func (w *waking) told(p *queued, o Ticket) {
	w.worked(p, TraceOutcome{Status: o.Status})
	w.f.news.finished(w.c, o)
}

// conclude writes the outcome of a prompt down.
func (w *waking) conclude(ctx context.Context, p *queued, o *Ticket) error {
	now, err := w.f.clock.about(ctx, w.f.store)
	if err != nil {
		return err
	}
	o.Ended, o.Prompt, o.Cost = now, p.ID, w.rec.Spent[p.ID].Ledger
	if err := w.f.records.end(ctx, w.c.key, p, *o, w.lease.Fence); err != nil {
		return err
	}
	w.out(p)
	return nil
}

// out forgets a prompt that has its outcome.
func (w *waking) out(p *queued) {
	w.f.roster.ended(w.c, p)
	w.steered.forget(p.ID)
	delete(w.queue, p.ID)
}

// deferred lets a prompt wait for a person. The CLI must not be sent anything
// more, or it gives the call up.
func (w *waking) deferred(ctx context.Context, p *queued) error {
	question, asked := "", false
	if w.gate != nil {
		question, asked = w.gate.Deferred()
	}
	err := w.close()
	w.worked(p, TraceOutcome{Status: Waiting, Question: question})
	carrier := p.Carrier
	err = errors.Join(err, w.amend(ctx, p, func(p *queued) {
		p.Question, p.Carrier = question, carrier
		if asked {
			p.startAgain() // it got somewhere
		}
	}))
	if !w.rests(p) {
		return err // it was interrupted in the moment in which it was deferred, and ends with the next look
	}
	w.f.news.publish(w.c, p.ID, nil, &DeferredError{w.c.key, p.ID, p.Question})
	return err
}

// maxFailure is how much is kept of what ended an attempt.
const maxFailure = 2000

// cutFailure is what is kept of an error.
func cutFailure(err error) string {
	text := err.Error()
	if len(text) > maxFailure {
		text = strings.ToValidUTF8(text[:maxFailure], "")
	}
	return text
}

// The variables by which a CLI that resumes a session continues a turn that
// broke off, and shows the model the calls that broke off with it. Left on, they
// would make it continue turns that a person has stopped.
var recovery = []string{"CLAUDE_CODE_RESUME_INTERRUPTED_TURN=1", "CLAUDE_CODE_RESUME_SHOWS_CUT_OFF_CALLS=1"}

// connect starts the CLI of the conversation.
func (w *waking) connect(ctx context.Context, s step) error {
	if err := w.close(); err != nil {
		return err
	}
	had := w.rec
	o, err := w.options(ctx, s)
	if err != nil {
		return err
	}
	w.starting(true)
	session, err := claude.Connect(ctx, o)
	if err != nil {
		w.starting(false)
		return fmt.Errorf("claude: fleet: conversation %q: %w", w.c.key, err)
	}
	given := newSteered()
	if w.gate != nil {
		w.gate.Attach(session)
		w.gate.BeforeDefer(func(ctx context.Context) {
			w.takeBack(ctx, session, given)
			bounded, cancel := context.WithTimeout(ctx, parkBound)
			defer cancel()
			_ = session.Flush(bounded) // the call with what comes before it; without it, the model asks again after a crash
		})
	}
	w.steered = given
	w.mode, w.moved = "", false
	w.session, w.spent, w.heard, w.closed = session, new(message.Spending), "", make(chan struct{})
	w.f.roster.mu.Lock()
	w.c.session, w.c.own, w.c.starting = session, w.own, false
	w.f.roster.mu.Unlock()
	go w.watch(session, w.gate, w.closed)
	return w.catchUp(ctx, had.Mode, had.Model)
}

// starting lets people see that the CLI is being started. Only this process knows.
func (w *waking) starting(now bool) {
	w.f.roster.mu.Lock()
	defer w.f.roster.mu.Unlock()
	w.c.starting = now
}

// catchUp changes the mode and the model of a CLI that was started with others than
// the record has now: those who chose them meanwhile found no session. It is done when
// the record has nothing new, and from then on they find it.
func (w *waking) catchUp(ctx context.Context, mode permission.Mode, model string) error {
	for {
		rec, err := w.f.records.load(ctx, w.c.key)
		if err != nil {
			return err
		}
		w.rec = rec
		var op Instruction
		if rec.Mode != mode {
			op.Mode = &rec.Mode
		}
		if rec.Model != model {
			op.Model = &rec.Model
		}
		if op == (Instruction{}) {
			return nil
		}
		if err := op.apply(ctx, w.session, w.own); err != nil {
			return fmt.Errorf("claude: fleet: conversation %q: what was chosen while its CLI started: %w", w.c.key, err)
		}
		mode, model = rec.Mode, rec.Model
	}
}

// options are those of the user, with what makes the session one of the fleet.
func (w *waking) options(ctx context.Context, s step) (*claude.Options, error) {
	given, err := w.f.opts.Session(ctx, w.c.key)
	if err != nil {
		return nil, fmt.Errorf("claude: fleet: options of conversation %q: %w", w.c.key, sessionError{err})
	}
	o := new(claude.Options)
	if given != nil {
		*o = *given
	}
	w.f.temps.learn(o)
	o.Hooks = append([]hook.Hook{hook.PreToolUse("", w.release).FailClosed().At(hook.StageRelease)}, o.Hooks...)
	if w.f.opts.Gate != nil {
		o.Hooks = append(o.Hooks, hook.PreToolUse("", w.guard).FailClosed().At(hook.StageGuard)) // also before people are asked
	}
	if lost := w.going.untold(); len(lost) > 0 {
		o.Hooks = append(o.Hooks, w.tellWithPrompt(lost))
	}
	o.Store = &claude.StoreOptions{
		Store: &callStore{w.f.store, w.going, &w.newest}, Project: w.f.opts.Project, Fence: w.lease.Fence, Owner: w.f.opts.Owner, TTL: w.f.opts.TTL, Journal: w.f.opts.Journal,
		GiveUp:  claude.NoTimeout, // a result counts when it is stored, or the lease is lost
		Private: true,
	}
	w.patient(&o.Timeouts)
	w.own = choices{o.PermissionMode, o.Model}
	if w.rec.Mode != "" {
		o.PermissionMode = w.rec.Mode
	}
	if w.rec.Model != "" {
		o.Model = w.rec.Model
	}
	if s == resume {
		o.Env = append(slices.Clone(environ(o)), recovery...)
	}
	w.gate = nil
	if w.f.opts.Gate != nil {
		w.gate = approval.NewGate(w.f.inbox, w.c.key, w.lease.Fence, *w.f.opts.Gate)
		if err := w.gate.Install(o); err != nil {
			return nil, err
		}
	}
	return o, w.chooseSession(ctx, o)
}

// chooseSession resumes the session of the conversation if the store has
// something of it. Otherwise it begins another: the CLI may have used the id for
// something that was never stored.
func (w *waking) chooseSession(ctx context.Context, o *claude.Options) error {
	t, err := w.f.asked.transcript(ctx, w.rec.Session)
	if err != nil {
		return err
	}
	o.Continue, o.ForkSession, o.SessionID, o.Resume = false, false, "", ""
	if t != nil {
		o.Resume = w.rec.Session
		return w.countLeft(ctx, t)
	}
	o.SessionID = uuid.New()
	w.rec, err = w.f.records.change(ctx, w.c.key, w.lease.Fence, func(r *record) error {
		if r.Session != "" {
			r.Unstored = append(r.Unstored, r.Session)
		}
		r.Session = o.SessionID
		return nil
	})
	return err
}

// watch ends the session when it must end: without grace if the lease is lost,
// and when the fleet's time is over. When the fleet begins to close, calls that
// wait for a person are deferred.
func (w *waking) watch(s *claude.Session, gate *approval.Gate, ended <-chan struct{}) {
	closing := w.f.closing
	for {
		select {
		case <-ended:
			return
		case <-w.lease.lost:
			s.Abort(store.ErrLeaseLost)
			return
		case <-w.stop:
			s.Abort(ErrDeleted)
			return
		case <-w.f.ctx.Done():
			_ = s.Close() // close reports it
			return
		case <-closing:
			closing = nil
			if gate != nil {
				_ = gate.Park(w.f.ctx) // what cannot be parked is cut off
			}
		}
	}
}

// parkBound is how long questions of a CLI that ends may take to be parked.
const parkBound = 5 * time.Second

// close ends the CLI, if there is one.
func (w *waking) close() error {
	s := w.session
	if s == nil {
		return nil
	}
	w.session, w.steered = nil, nil
	w.decline()
	w.f.roster.mu.Lock()
	w.c.session = nil
	w.f.roster.mu.Unlock()
	if w.gate != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.f.ctx), parkBound)
		defer cancel()
		_ = w.gate.Park(ctx) // nobody waits, unless the CLI has ended
	}
	err := s.Close()
	close(w.closed)
	w.f.news.endLiveText(w.c)
	return err
}
