package claude

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/inbox"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/mirror"
	"github.com/claude-agent-go/claude/internal/private"
	"github.com/claude-agent-go/claude/internal/restore"
	"github.com/claude-agent-go/claude/internal/scratch"
	"github.com/claude-agent-go/claude/internal/secret"
	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/internal/wire"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// StoreOptions configures where the transcript of a session is kept while it runs;
// see [Options.Store]. Everything the CLI writes to its transcripts, including those
// of subagents, is stored as it comes: entries that come within a few milliseconds
// are stored together, unless a result, Flush or the end of the session waits for
// them. A batch that cannot be stored is retried until the session is over, in the
// same order.
//
// A resumed session is written from the store into a temporary directory, with a
// copy of the user's settings and credentials, without the refresh token. The CLI
// must be able to read that directory. It serves as the CLI's configuration
// directory (CLAUDE_CONFIG_DIR) and is removed when the session is over; with
// Private or NoLogin, a new session has one too. Other contents of the user's own
// directory, such as skills, agents and plugins, are not there. On macOS the CLI may
// keep credentials in the Keychain, which are not copied; set ANTHROPIC_API_KEY or
// CLAUDE_CODE_OAUTH_TOKEN in Options.Env.
type StoreOptions struct {
	// Store is the store. It is required.
	Store store.Sessions
	// Project is the project in the keys of the transcripts: a tenant, a
	// repository, an environment. It is required; see [store.Key].
	Project string
	// Flush selects when the result of a turn is delivered: with
	// [store.Strict], the default, once everything before it is stored; with
	// [store.Eventually], at once.
	Flush store.Flush
	// Fence is the fencing token of a lease that you have acquired, and renew,
	// yourself. Zero: the session takes its own lease, under its id, unless the
	// store has no leases. Connect then fails with [store.ErrLeased] if another
	// owner has the session; the [*store.HeldError] names it. No tool call
	// begins while it is in doubt whether the lease is still ours, and a session
	// that has lost it stores nothing more and is aborted with
	// [store.ErrLeaseLost].
	Fence store.Fence
	// Owner names the owner of the lease, for people to read. Empty: the name
	// of the host and the number of this process.
	Owner string
	// TTL is how long the lease lasts if this process dies: 30 s. It is renewed
	// three times in that time.
	TTL time.Duration
	// GiveUp is how long a store may take nothing before the session reports
	// it: 60 s; [NoTimeout] means never. Then the stream has a
	// [*message.MirrorError], and the results of strict sessions are delivered
	// with a [*store.NotStoredError]. The session keeps trying. If entries are
	// still not stored when it ends, Wait returns a *store.NotStoredError that
	// names the journal.
	GiveUp time.Duration
	// Journal is the directory for entries that the store does not take. Each
	// session that needs it makes a file in it, and removes the file when
	// everything is stored; [store.ImportJournal] stores one that was left
	// behind. Empty: the directory claude-journals in [os.UserCacheDir], or in
	// [os.TempDir] where that does not exist.
	Journal string
	// Private leaves nothing of the session on this machine when it is over, even
	// of a session that begins rather than resumes. The session always has the
	// temporary configuration directory, and its CLI's temporary files, such as
	// images of prompts and outputs of background tasks, are beside it. If
	// CLAUDE_CODE_TMPDIR is in the environment of the CLI, they are in a folder
	// below that one. Only checkpoints of files stay, in file-history of the user's
	// directory, and the journal if it is needed.
	Private bool
	// NoLogin leaves the user's login out of the temporary configuration directory:
	// the credentials, the CLI's state, and what of the settings signs in, redirects
	// or sets variables. The session always has the directory. Use it if
	// Options.Env has the credential. A CLI that signs in with a sentinel of package
	// egress has no other login in that directory, even if this is not set.
	NoLogin bool
}

// Defaults of StoreOptions.
const (
	defaultTTL    = 30 * time.Second
	defaultGiveUp = 60 * time.Second
)

// withDefaults returns a copy with all defaults filled in.
func (o StoreOptions) withDefaults() *StoreOptions {
	if o.TTL == 0 {
		o.TTL = defaultTTL
	}
	if o.GiveUp == 0 {
		o.GiveUp = defaultGiveUp
	}
	if o.Owner == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown host"
		}
		o.Owner = fmt.Sprintf("%s, process %d", host, os.Getpid())
	}
	if o.Journal == "" {
		o.Journal = mirror.DefaultJournals()
	}
	return &o
}

// checkStore refuses a store that cannot be used.
func checkStore(o *Options) *OptionError {
	s := o.Store
	if s == nil {
		return nil
	}
	switch {
	case s.Store == nil:
		return &OptionError{"Store.Store", "is missing"}
	case s.Flush != store.Strict && s.Flush != store.Eventually:
		return &OptionError{"Store.Flush", "is neither store.Strict nor store.Eventually"}
	case s.TTL < 0 || s.TTL > 0 && s.TTL < minTTL:
		return &OptionError{"Store.TTL", fmt.Sprintf("%v is less than %v", s.TTL, minTTL)}
	case s.GiveUp < 0 && s.GiveUp != NoTimeout:
		return &OptionError{"Store.GiveUp", fmt.Sprintf("%v is negative (NoTimeout takes the bound away)", s.GiveUp)}
	case o.NoPersistence:
		return &OptionError{"Store", "NoPersistence is set too: without a transcript there is nothing to store"}
	}
	if err := store.CheckProject(s.Project); err != nil {
		return &OptionError{"Store.Project", err.Error()}
	}
	if !s.Fence.IsZero() {
		if err := store.CheckLease(s.Fence.Project, s.Fence.Name); err != nil {
			return &OptionError{"Store.Fence", err.Error()}
		}
		if s.Fence.Project != s.Project {
			return &OptionError{"Store.Fence", fmt.Sprintf("is for project %q, Project is %q", s.Fence.Project, s.Project)}
		}
	}
	return nil
}

// minTTL is the shortest lease: it must be renewed in time by a busy process.
const minTTL = time.Second

// leases reports whether the session takes a lease of its own, if its store has
// leases.
func (o *StoreOptions) leases() bool { return o != nil && o.Fence.IsZero() }

// registerFence adds a hook that lets no tool begin while it is in doubt whether
// the session is still ours. A fencing token keeps a lost owner from writing to
// the store, but not from writing anywhere else; and an owner that stands still
// answers no hook.
func (o *StoreOptions) registerFence(p *plan) {
	if o.leases() {
		guard := hook.PreToolUse("", fence).FailClosed()
		p.addHook(registration{"fence", guard.At(hook.StageRelease), true})
		if slices.ContainsFunc(p.before, func(r registration) bool { return r.hook.Stage == hook.StageGate }) {
			p.addHook(registration{"fence", guard.At(hook.StageGuard), true}) // so that no person is asked in vain
		}
	}
}

// fence waits until the lease is certainly ours.
func fence(ctx context.Context, _ *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
	if err := SessionFrom(ctx).store.mirror.Owned(ctx); err != nil {
		return hook.DenyTool("This session may have another owner: " + err.Error()), nil
	}
	return nil, nil
}

// openMirror makes the mirror of a session about to start, and takes the
// session's lease. It returns nil if there is no store.
func openMirror(ctx context.Context, s *Session) (*mirror.Mirror, error) {
	if s.opts.Store == nil {
		return nil, nil
	}
	// A killed host leaves a copy of the user's credentials with the session it had
	// restored. This start may restore no session, and then would make no folder and
	// sweep none.
	scratch.Sweep()
	o := s.opts.Store.withDefaults()
	m := mirror.New(mirror.Config{
		Store: o.Store, Project: o.Project, Fence: o.Fence, Owner: o.Owner, TTL: o.TTL, GiveUp: o.GiveUp,
		Journals: o.Journal, Log: s.log,
		OnNotStored: s.reportNotStored,
		OnLost:      func(err error) { s.abort(fmt.Errorf("claude: the store has ended the session: %w", err), false) },
	})
	if s.conversation.id != "" {
		if err := m.Acquire(ctx, s.conversation.id); err != nil {
			return nil, &StartError{Reason: ErrStore, Err: err}
		}
	}
	return m, nil
}

// reportNotStored puts a message about entries that are not stored into the
// stream.
func (s *Session) reportNotStored(key store.Key, err *store.NotStoredError) {
	s.log.Error("entries of the transcript are not stored", "key", key.String(), "journal", err.Journal, "error", err.Err)
	line, failed := jsonx.Marshal(message.NewMirrorError(s.ID(), err.Err.Error(), err.Journal, message.MirrorKey{
		Project: key.Project, Session: key.Session, Sub: key.Sub,
	}))
	if failed != nil {
		return
	}
	if f, err := wire.Parse(line); err == nil {
		dispatcher{s}.Message(f)
		s.inbox.Flush()
	}
}

// strict reports whether results wait for their entries.
func (s *Session) strict() bool { return s.store.mirror != nil && s.opts.Store.Flush == store.Strict }

// next returns the next frame to the reader of the stream; a result of a strict
// session only once everything before it is stored. The wait is here, not where
// frames are read, so the control channel keeps working.
func (s *Session) next(ctx context.Context, untilIdle bool) (it inbox.Item, err error) {
	if untilIdle {
		it, err = s.inbox.NextUntilIdle(ctx)
	} else {
		it, err = s.inbox.Next(ctx)
	}
	if err != nil || it.Barrier() == 0 {
		return it, err
	}
	s.inbox.Hold(true)
	s.store.barrier.Store(it.Barrier())
	err = s.store.mirror.Wait(ctx, it.Barrier())
	s.store.barrier.Store(0)
	s.inbox.Hold(false)
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		s.inbox.PutBack(it)
		return inbox.Item{}, err
	}
	s.store.notStored = err
	return it, nil
}

// waitForBarrier applies back pressure: it holds a prompt back while the reader
// waits for the store. Otherwise answers that build on unstored ones would pile
// up.
func (s *Session) waitForBarrier(ctx context.Context) error {
	count := s.store.barrier.Load()
	if count == 0 {
		return nil
	}
	_ = s.store.mirror.Wait(ctx, count) // the reader of the stream gets the error
	if ctx.Err() != nil {
		return fmt.Errorf("claude: send prompt: %w", context.Cause(ctx))
	}
	return nil
}

// Flush waits until everything the CLI has written to its transcripts so far is
// stored. It returns a [*store.NotStoredError] if the store takes nothing for
// StoreOptions.GiveUp. Without Options.Store it returns nil at once.
//
// The CLI writes to its transcript with a delay of about a tenth of a second,
// but everything from a turn before the turn's result.
func (s *Session) Flush(ctx context.Context) error {
	if s.store.mirror == nil {
		return nil
	}
	return s.store.mirror.Wait(ctx, s.store.mirror.Count())
}

// Abort ends the session because of cause, without grace: the CLI and
// everything it has started are killed, and nothing more is stored. It does not
// wait; Wait returns cause. Entries that were not stored are kept in a journal,
// and cause is then joined with a [*store.NotStoredError] that names it. Use
// Close unless the CLI's next action would do harm.
func (s *Session) Abort(cause error) {
	s.abort(cmp.Or(cause, ErrClosed), true)
}

// abort is Abort. It is not wanted if the session has the reason.
func (s *Session) abort(cause error, wanted bool) {
	if s.store.mirror != nil {
		s.store.mirror.Abort(cause)
	}
	s.life.shutdown.Do(func() {
		s.mu.Lock()
		s.life.stopCause, s.life.cutOff, s.life.aborted = cause, true, wanted
		s.mu.Unlock()
		s.peer.Close(cause)
		close(s.life.ladderEnd)
	})
	go func() {
		s.kill()
		if !waited(s.life.exited, inputBound) && !waited(s.life.outputEnd, readBound) {
			s.finish()
		}
	}()
}

// kill ends the CLI at once.
func (s *Session) kill() {
	if err := s.conn.Kill(); err != nil {
		s.log.Error("the CLI could not be killed", "error", err)
	}
}

// lastFlush stores the rest and returns the lease, when nothing more can come.
// Its error names what could not be stored.
func (s *Session) lastFlush() error {
	if s.store.mirror == nil {
		return nil
	}
	ctx, cancel := context.Background(), func() {}
	if d := s.opts.Timeouts.Flush; d != NoTimeout {
		ctx, cancel = context.WithTimeout(ctx, d)
	}
	defer cancel()
	return s.store.mirror.Close(ctx)
}

// findStored resolves options for a session in a store to one id. The CLI cannot
// continue "the last one": it sees only the session it is given. The id of a
// fork is chosen here, so that its lease can be taken before it starts.
func findStored(ctx context.Context, o *Options) error {
	if !o.fromStore() {
		return nil
	}
	if o.Continue {
		id, err := sourceOf(o).Latest(ctx)
		if errors.Is(err, errors.ErrUnsupported) {
			return &OptionError{"Continue", "needs a store that lists its sessions"}
		}
		if err != nil {
			return storedError(ctx, err)
		}
		o.Resume, o.Continue = id, false
	}
	if o.ForkSession && o.SessionID == "" {
		o.SessionID = uuid.New()
	}
	return nil
}

func sourceOf(o *Options) restore.Source {
	return restore.Source{Store: o.Store.Store, Project: o.Store.Project}
}

// borrowsConfig reports whether a CLI would use the configuration folder of the user who
// runs this program, with the login and with settings that may lead around a proxy.
//
// That folder has several names: CLAUDE_CONFIG_DIR of this program, .claude in its HOME and
// in the home that the system knows for the user, and links to them.
func borrowsConfig(env, own []string) bool {
	folders := []string{restore.ConfigDir(own), filepath.Join(restore.Home(own), ".claude"), filepath.Join(restore.Home(nil), ".claude")}
	config := restore.ConfigDir(env)
	used, err := os.Stat(config)
	return slices.ContainsFunc(folders, func(folder string) bool {
		if filepath.Clean(config) == filepath.Clean(folder) {
			return true
		}
		info, statErr := os.Stat(folder)
		return err == nil && statErr == nil && os.SameFile(used, info)
	})
}

// restore gives the CLI a configuration directory of its own if the session is
// private, signs in by a proxy and would use that of the user, or is resumed from the
// store, which is then written into it.
func (s *Session) restore(ctx context.Context) error {
	o := s.opts.Store
	if o == nil {
		o = new(StoreOptions)
	}
	signedIn := secret.HasSentinel(s.plan.env) // by a proxy
	borrowed := signedIn && borrowsConfig(s.plan.env, os.Environ())
	if borrowed && s.opts.Store == nil && s.opts.resumes() {
		return &OptionError{"Resume", "a CLI that signs in with a sentinel does not use the configuration folder of this user, where the session would be: name one of its own as CLAUDE_CONFIG_DIR in Env, or set Store"}
	}
	if !s.opts.fromStore() && !o.Private && !o.NoLogin && !borrowed {
		return nil
	}
	dir, err := s.files.Dir(scratch.ConfigName)
	if err != nil {
		return &StartError{Reason: ErrSpawn, Err: err}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return &StartError{Reason: ErrSpawn, Err: err}
	}
	defer root.Close()
	if s.opts.fromStore() {
		if err := sourceOf(s.opts).Write(ctx, root, projectFolder(s.opts.Cwd), s.opts.Resume); err != nil {
			return storedError(ctx, err)
		}
	}
	config, state := restore.ConfigDir(s.plan.env), restore.Home(s.plan.env)
	if setIn(s.plan.env, restore.ConfigVar) {
		state = config
	}
	if err := restore.Config(root, config, state, !o.NoLogin && !signedIn); err != nil {
		return &StartError{Reason: ErrSpawn, Err: err}
	}
	if s.opts.FileCheckpointing && (!borrowed || s.opts.Store != nil) { // else nothing of the session stays
		if err := restore.Checkpoints(dir, config); err != nil {
			s.log.Warn("files cannot be rewound to what they were before this start", "error", err)
		}
	}
	s.plan.setEnv(restore.ConfigVar, dir)
	s.plan.files = append(s.plan.files, LaunchFile{Name: scratch.ConfigName, Path: dir, Dir: true})
	if o.Private {
		return s.hideTemporary()
	}
	return nil
}

// tempVar names the directory for the CLI's temporary files.
const tempVar = "CLAUDE_CODE_TMPDIR"

// hideTemporary gives the CLI a directory for temporary files that is removed with the
// session: below the one that the user has chosen, if any.
func (s *Session) hideTemporary() error {
	files := s.files
	if chosen := restore.Variable(s.plan.env, tempVar); chosen != "" {
		if err := private.MkdirAll(chosen); err != nil { // as the CLI does
			return &StartError{Reason: ErrSpawn, Err: err}
		}
		s.temporary.In = chosen
		files = &s.temporary
	}
	dir, err := files.Dir(scratch.TempName)
	if err != nil {
		return &StartError{Reason: ErrSpawn, Err: err}
	}
	s.plan.setEnv(tempVar, dir)
	s.plan.files = append(s.plan.files, LaunchFile{Name: scratch.TempName, Path: dir, Dir: true})
	return nil
}

// removeFiles removes the files of the session.
func (s *Session) removeFiles() error { return errors.Join(s.files.Remove(), s.temporary.Remove()) }

// projectFolder returns the name under which the CLI first looks for the
// sessions of a working directory.
func projectFolder(cwd string) string {
	path, err := filepath.Abs(cwd)
	if err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
	}
	return transcript.ProjectName(path)
}

// storedError returns the error for a session that could not be read from its
// store.
func storedError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("claude: connect: %w", context.Cause(ctx))
	case errors.Is(err, store.ErrNotFound):
		return &StartError{Reason: ErrNoSession, Err: err}
	}
	return &StartError{Reason: ErrStore, Err: err}
}
