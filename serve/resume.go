package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// session returns the session on disk that a conversation begins with, empty if none.
func (c *creation) session() string {
	if c.Fork != nil && c.Fork.Session != "" {
		return c.Fork.Session
	}
	return c.Resume
}

// noSessions returns the problem of a server without sessions on disk.
func noSessions() *api.Problem {
	return unsupported.because("this server does not look at the sessions on its disk")
}

// prepareSession checks that the user may begin a conversation with a session on disk,
// and takes from the session what the request leaves open. Sessions belong to the owner
// of the disk, so a user who may not list one may not read it in this way either.
func (cr *creator) prepareSession(ctx context.Context, u api.User, c *creation) error {
	switch {
	case c.Resume != "" && c.Fork != nil:
		return badRequest.because("a conversation continues something or is a copy of it: leave out resume or fork")
	case c.Fork != nil && (c.Fork.Conversation == "") == (c.Fork.Session == ""):
		return badRequest.because("fork names either a conversation or a session")
	case c.session() == "":
		return nil
	case c.Dir != "":
		return badRequest.because("the session has its directory: leave out dir")
	}
	if err := need(u, api.RoleAdmin); err != nil {
		return err
	}
	if cr.history == nil {
		return noSessions()
	}
	info, err := cr.history.Info(ctx, c.session())
	if err != nil {
		return sessionProblem(err)
	}
	if p := find(cr.presets, c.Preset); p != nil && !p.Contains(info.Dir) {
		return outside.because("the session works in %q; GET /v1/sessions says which presets may continue it", info.Dir)
	}
	title := info.Title
	if c.Fork != nil {
		title = "Copy of " + title
	}
	c.Dir, c.Title = info.Dir, cmp.Or(c.Title, firstLine(title))
	if c.Resume != "" {
		// The same for every request for a session, so that a repetition finds what was
		// cut off between the fleet and the note.
		c.request, c.id = c.id, uuidFrom("resumed session", c.Resume)
	}
	return nil
}

// fromDisk makes a conversation of a session on disk, unless the same request has
// already done so.
func (cr *creator) fromDisk(ctx context.Context, n *note, c *creation) error {
	n.Resumed, n.Request = c.Resume, c.request
	if c.Fork != nil {
		n.Copied = c.Fork.Session
	}
	if made, err := cr.madeBefore(ctx, n, c); made || err != nil {
		return err
	}
	from := fleet.ResumeFrom{Disk: cr.history, Session: c.session(), Fork: c.Fork != nil}
	if c.Fork != nil {
		from.UpTo = c.Fork.Message
	}
	err := cr.fleet.Resume(ctx, n.Key, from)
	if errors.Is(err, fleet.ErrExists) && c.Fork != nil && c.id != "" {
		return cr.recoverFork(ctx, n)
	}
	if err != nil {
		return sessionProblem(err)
	}
	cr.logger.Info("serve: made a conversation of a session on disk", "conversation", n.Key, "session", c.session(), "fork", from.Fork)
	return nil
}

// saidBound is how long a new conversation may take to show the messages of its
// session.
const saidBound = 3 * time.Second

// awaitSaid waits, for a while, until the log of a conversation has the last message of
// its session on disk: even a page without a script should then show the history.
func (cr *creator) awaitSaid(ctx context.Context, n *note, c *creation) {
	ctx, cancel := context.WithTimeout(ctx, saidBound)
	defer cancel()
	last, err := cr.lastSaid(ctx, c)
	if err != nil {
		return // the log is filled anyway
	}
	l, release, err := cr.logs.use(ctx, n.Key)
	if err != nil {
		return
	}
	defer release()
	for ctx.Err() == nil {
		next := l.NextChange()
		if l.Mentions(last) {
			return
		}
		select {
		case <-next:
		case <-ctx.Done():
		}
	}
}

// lastSaid returns the id of the last message that a conversation takes over from disk.
// In a copy the message has a new id, and names this one.
func (cr *creator) lastSaid(ctx context.Context, c *creation) (id string, err error) {
	if c.Fork != nil && c.Fork.Message != "" {
		return c.Fork.Message, nil
	}
	t, err := cr.history.Read(ctx, c.session())
	if err != nil {
		return "", err
	}
	for m, err := range t.Messages(ctx, history.Page{Offset: max(0, t.Len()-1)}) {
		if err != nil {
			return "", err
		}
		id = m.UUID
	}
	return id, nil
}

// sessionProblem explains why a session is not continued, and what to do.
func sessionProblem(err error) *api.Problem {
	p := describeSession(err)
	p.Cause = err
	return p
}

func describeSession(err error) *api.Problem {
	if held, ok := errors.AsType[*fleet.ResumedError](err); ok {
		p := resumed.because("continue the conversation; for another one, begin a copy with fork")
		if held.Key != "" {
			p.Conversation = idOf(held.Key)
		}
		return p
	}
	if open, ok := errors.AsType[*fleet.SessionOpenError](err); ok {
		who := "it was written to while it was copied"
		if open.PID != 0 {
			who = fmt.Sprintf("process %d has it", open.PID)
		}
		return sessionOpen.because("%s: end that CLI and try again, or begin a copy with fork", who)
	}
	switch {
	case errors.Is(err, history.ErrNotFound), errors.Is(err, history.ErrInvalidID):
		return notFound.because("check the id; GET /v1/sessions lists the sessions on the server's disk")
	case errors.Is(err, store.ErrDeleted):
		return sessionDeleted.because("begin a copy with fork")
	case errors.Is(err, history.ErrEmpty):
		return unusable.because("nothing was said in it: begin a new conversation")
	case errors.Is(err, store.ErrConflict):
		return unusable.because("the server has another session with this id: begin a copy with fork")
	case errors.Is(err, store.ErrDamaged):
		return unusable.because("something is missing in the middle of it, or it is too large; the CLI on the server's machine may still continue it, or begin a copy with fork")
	case errors.Is(err, store.ErrLeased):
		return leased.because("another process is working on this session: try again in a moment")
	}
	return problemOf(err)
}

// resumedWithout returns the problem of a session that was resumed, but whose first
// prompt was not accepted. The conversation stays, because a store takes a session only
// once.
func resumedWithout(n *note, err error) *api.Problem {
	p := *problemOf(err)
	p.Conversation = idOf(n.Key)
	p.Detail = "the session is a conversation now, but its prompt was not accepted: send it there again. " + p.Detail
	return &p
}

// alreadyResumed returns the problem of a request for a session that another request,
// perhaps a concurrent one, has made a conversation of.
func alreadyResumed(n *note, c *creation) *api.Problem {
	p := sessionProblem(&fleet.ResumedError{Session: c.Resume, Key: n.Key})
	if c.firstPrompt(n.Key) != nil {
		p.Detail = "the prompt was not sent: send it to that conversation, or begin a copy with fork"
	}
	return p
}

// sessionsInUse returns the conversations that have a session, by the session's id.
func (cr *creator) sessionsInUse(ctx context.Context) (map[string]string, error) {
	have := make(map[string]string)
	for info, err := range cr.fleet.List(ctx) {
		if err != nil {
			return nil, err
		}
		have[info.Session] = idOf(info.Key)
	}
	for n, err := range cr.notes.all(ctx) {
		if err != nil {
			return nil, err
		}
		if n.Resumed != "" {
			have[n.Resumed] = idOf(n.Key)
		}
	}
	return have, nil
}

// presetsIn returns the names of the presets that may work in a directory.
func (cr *creator) presetsIn(dir string) []string {
	var names []string
	for i := range cr.presets {
		if p := &cr.presets[i]; p.Contains(dir) {
			names = append(names, p.Name)
		}
	}
	return names
}
