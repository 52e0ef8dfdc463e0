package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// worker lets a CLI work on the prompts of a conversation, and records its answers and
// costs.
type worker struct {
	callGate
	files files

	session *claude.Session // nil: no CLI runs
	egress  outlet          // of the CLI
	gate    *approval.Gate
	spent   *message.Spending
	heard   string // the id of the last answer of the main conversation
	newest  newest
	closed  chan struct{} // closed when the session is closed
	// mode is the permission mode of the CLI, and moved means that the CLI has changed
	// it, as it does when a plan is approved.
	mode  permission.Mode
	moved bool
	// chosen is record.Chosen when the CLI was last in the mode of the record: a higher one
	// means that a person has chosen since.
	chosen int
	own    choices // of the user's options

	// apiError is the class of the API error that the main agent has named last in the
	// turn; empty: none.
	apiError message.AssistantError

	// inDoubt means that an offered prompt may still be written under this lease. It
	// would be beside the queue, which is all that an offer looks at. So all others are
	// queued.
	inDoubt bool

	starts int // starts in a row that were too slow, of the prompt of the step

	deferredCall *approval.Question // the question about the call that the step finish makes; nil if no person was asked
}

// connect starts the CLI of the conversation.
func (w *worker) connect(ctx context.Context, s step) error {
	if err := w.close(); err != nil {
		return err
	}
	had := w.rec
	o, err := w.options(ctx, s)
	if err != nil {
		w.egress.close()
		return err
	}
	w.starting(true)
	session, err := claude.Connect(ctx, o)
	if err != nil {
		w.egress.close()
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
	if s == finish {
		w.mode = o.PermissionMode // a plan may be approved before the CLI says in which mode it is
	}
	w.session, w.spent, w.heard, w.closed = session, new(message.Spending), "", make(chan struct{})
	w.roster.mu.Lock()
	w.c.session, w.c.own, w.c.starting = session, w.own, false
	w.c.withdraw = w.withdrawal(session, given)
	w.roster.mu.Unlock()
	go w.watch(session, w.gate, w.closed)
	if err := w.catchUp(ctx, had.Mode, had.Model); err != nil {
		return err
	}
	w.chosen = w.rec.Chosen
	w.keepCommands(ctx, session.Commands())
	return nil
}

// starting shows people that the CLI is being started. Only this process knows.
func (w *worker) starting(now bool) {
	w.roster.mu.Lock()
	defer w.roster.mu.Unlock()
	w.c.starting = now
}

// catchUp changes the mode and the model of a CLI that was started with others than the
// record has now: callers who chose them meanwhile found no session. It repeats until
// the record has nothing new; from then on they find the session.
func (w *worker) catchUp(ctx context.Context, mode permission.Mode, model string) error {
	for {
		rec, err := w.records.load(ctx, w.c.key)
		if err != nil {
			return err
		}
		w.rec = rec
		var op instruction
		if rec.Mode != mode {
			op.Mode = &rec.Mode
		}
		if rec.Model != model {
			op.Model = &rec.Model
		}
		if op == (instruction{}) {
			return nil
		}
		err = op.apply(ctx, w.session, w.own)
		if op.Model != nil && modelRefused(err) {
			if err := w.dropModel(ctx, rec.Model, err); err != nil {
				return err
			}
			op.Model, rec.Model = nil, model
			err = op.apply(ctx, w.session, w.own)
		}
		if err != nil {
			return fmt.Errorf("claude: fleet: conversation %q: what was chosen while its CLI started: %w", w.c.key, err)
		}
		mode, model = rec.Mode, rec.Model
	}
}

// dropModel restores the model before one that the CLI refuses. The caller who chose it
// may be gone, and the prompts that wait must not fail because of it.
func (w *worker) dropModel(ctx context.Context, refused string, why error) error {
	w.opts.Logger.Warn("a model that was chosen while the CLI started is refused, so the one before it stays",
		"conversation", w.c.key, "model", refused, "error", why)
	_, err := w.records.change(ctx, w.c.key, w.lease.Fence, func(r *record) error {
		r.refuseModel(refused)
		return nil
	})
	return err
}

// The variables by which a CLI that resumes a session continues a turn that
// broke off, and shows the model the calls that broke off with it. Left on, they
// would make it continue turns that a person has stopped.
var recovery = []string{"CLAUDE_CODE_RESUME_INTERRUPTED_TURN=1", "CLAUDE_CODE_RESUME_SHOWS_CUT_OFF_CALLS=1"}

// options are the user's, with the additions that make the session part of the
// fleet.
func (w *worker) options(ctx context.Context, s step) (*claude.Options, error) {
	ctx, err := w.files.open(ctx, w.c.key)
	if err != nil {
		return nil, err
	}
	given, err := w.opts.Session(ctx, w.c.key)
	if err != nil {
		return nil, fmt.Errorf("claude: fleet: options of conversation %q: %w", w.c.key, sessionError{err})
	}
	o := new(claude.Options)
	if given != nil {
		*o = *given
	}
	if w.files.dir != nil {
		o.Cwd = w.files.dir.Path()
	}
	w.temps.learn(o)
	if err := w.egress.open(w.opts.Egress, w.c.key, w.lease.lost, o); err != nil {
		return nil, err
	}
	o.Hooks = append([]hook.Hook{hook.PreToolUse("", w.release).FailClosed().At(hook.StageRelease)}, o.Hooks...)
	if w.opts.Gate != nil {
		o.Hooks = append(o.Hooks, hook.PreToolUse("", w.guard).FailClosed().At(hook.StageGuard)) // also before people are asked
	}
	if lost := w.going.untold(); len(lost) > 0 {
		o.Hooks = append(o.Hooks, w.tellWithPrompt(lost))
	}
	o.Subagents.Started += startedAgents(w.going.untold())
	o.Store = &claude.StoreOptions{
		Store: &callStore{w.store, w.going, &w.newest}, Project: w.opts.Project, Fence: w.lease.Fence, Owner: w.opts.Owner, TTL: w.opts.TTL, Journal: w.opts.Journal,
		GiveUp:  claude.NoTimeout, // a result counts when it is stored, or the lease is lost
		Private: true,
		NoLogin: w.opts.Egress != nil, // what the proxy keeps from the CLI must not be in its files
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
	if w.opts.Gate != nil {
		w.gate = approval.NewGate(w.inbox, w.c.key, w.lease.Fence, *w.opts.Gate)
		if err := w.gate.Install(o); err != nil {
			return nil, err
		}
	}
	return o, w.chooseSession(ctx, o)
}

// chooseSession resumes the session of the conversation if the store has something of
// it. Otherwise it begins another: the CLI may have used the id for lines that were
// never stored.
func (w *worker) chooseSession(ctx context.Context, o *claude.Options) error {
	t, err := w.asked.transcript(ctx, w.rec.Session)
	if err != nil {
		return err
	}
	o.Continue, o.ForkSession, o.SessionID, o.Resume = false, false, "", ""
	if t != nil {
		o.Resume = w.rec.Session
		return w.countLeft(ctx, t)
	}
	o.SessionID = uuid.New()
	w.rec, err = w.records.change(ctx, w.c.key, w.lease.Fence, func(r *record) error {
		if r.Session != "" {
			r.Unstored = append(r.Unstored, r.Session)
		}
		r.Session = o.SessionID
		return nil
	})
	return err
}

// patient gives a CLI that was too slow to start more time with each start.
func (w *worker) patient(t *claude.Timeouts) {
	if w.starts == 0 || t.Initialize == claude.NoTimeout {
		return
	}
	if t.Initialize == 0 {
		t.Initialize = defaultInitialize
	}
	t.Initialize <<= min(w.starts, 4)
}

// watch ends the session when it must end: without grace if the lease is lost,
// and when the fleet's time is over. When the fleet begins to close, calls that
// wait for a person are deferred.
func (w *worker) watch(s *claude.Session, gate *approval.Gate, ended <-chan struct{}) {
	closing := w.closing
	for {
		select {
		case <-ended:
			return
		case <-w.lease.lost:
			w.opts.Logger.Warn("a lease was lost while a CLI was at work", "conversation", w.c.key)
			s.Abort(store.ErrLeaseLost)
			return
		case <-w.stop:
			s.Abort(ErrDeleted)
			return
		case <-w.ctx.Done():
			_ = s.Close() // close reports it
			return
		case <-closing:
			closing = nil
			if gate != nil {
				_ = gate.Park(w.ctx) // what cannot be parked is cut off
			}
		}
	}
}

// parkBound is how long questions of a CLI that ends may take to be parked.
const parkBound = 5 * time.Second

// close ends the CLI, if there is one.
func (w *worker) close() error {
	s := w.session
	if s == nil {
		return nil
	}
	w.session, w.steered = nil, nil
	w.decline()
	w.roster.mu.Lock()
	w.c.session, w.c.withdraw = nil, nil
	w.roster.mu.Unlock()
	if w.gate != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), parkBound)
		defer cancel()
		_ = w.gate.Park(ctx) // no call waits, unless the CLI has ended
	}
	err := s.Close()
	w.egress.close()
	close(w.closed)
	w.saveFiles()
	w.news.endLiveText(w.c)
	return err
}

// see notes the permission mode, the last answer, why the API failed, and changes of the
// commands.
func (w *worker) see(m message.Message) {
	var mode permission.Mode
	switch m := m.(type) {
	case *message.Init:
		mode = m.PermissionMode
	case *message.Status:
		mode = m.PermissionMode
	case *message.CommandsChanged:
		w.keepCommands(w.ctx, m.Commands)
	case *message.Assistant:
		if m.ParentToolUseID == "" && m.Model != syntheticModel && m.ID != "" {
			w.heard = m.ID
		}
		if m.ParentToolUseID == "" && m.Error != "" {
			w.apiError = m.Error
		}
	}
	if mode == "" {
		return
	}
	moved := w.mode != "" && mode != w.mode
	w.mode = mode
	if moved {
		w.moved = true
		w.keepMode(w.ctx)
	}
}

// keepMode records the mode that the CLI has changed to as soon as it holds: people see it,
// and a CLI that takes the turn over begins in it. If that fails, the result of the turn
// records it. A choice that a person has made in the meantime stays: the CLI reports it
// later.
func (w *worker) keepMode(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, modeBound)
	defer cancel()
	w.own = w.roster.ownChoices(w.c.key) // a choice that is taken back returns to what they are now
	err := w.change(ctx, func(r *record) error {
		switch {
		case w.own.modeOf(r.Mode) == w.mode:
			w.chosen = r.Chosen
			return errUnchanged
		case w.chosen != r.Chosen:
			return errUnchanged
		}
		r.Mode = w.mode
		return nil
	})
	if err != nil {
		w.opts.Logger.Warn("the mode of a conversation is kept only at the end of its turn", "conversation", w.c.key, "error", err)
	}
}

// modeBound is how long a running turn waits for its mode to be kept.
const modeBound = 10 * time.Second

// keepCommands keeps the commands that the CLI has announced, if they are others than
// before. The turn does not depend on them, so a failure is only logged: the next start of
// a CLI tries again.
func (w *worker) keepCommands(ctx context.Context, announced []control.Command) {
	ctx, cancel := context.WithTimeout(ctx, commandsBound)
	defer cancel()
	kept := boundCommands(announced)
	digest, err := digestOf(kept)
	if err == nil && digest == w.rec.Commands {
		return
	}
	if err == nil {
		// The list comes first: a crash in between leaves the old digest, and the list is
		// written again.
		err = w.records.putCommands(ctx, w.c.key, kept, w.lease.Fence)
	}
	if err == nil {
		var rec record
		rec, err = w.records.change(ctx, w.c.key, w.lease.Fence, func(r *record) error {
			r.Commands = digest
			return nil
		})
		if err == nil {
			w.rec = rec
		}
	}
	if err != nil {
		w.opts.Logger.Warn("the slash commands of a conversation were not kept", "conversation", w.c.key, "error", err)
	}
}
