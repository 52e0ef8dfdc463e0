package acp

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/acp/internal/translate"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/restore"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// closing is how long a CLI may take to end by itself when its session closes, and
// killing is when it is killed: an editor that is gone must not leave one behind for
// more than 5 s.
const (
	closing = 2 * time.Second
	killing = 4 * time.Second
)

// Local is a [Backend] that starts a CLI on this machine for each session. The
// zero value offers Claude Code as it is. It may serve any number of connections
// at once, and must not be changed meanwhile.
type Local struct {
	// Options apply to every session: tools, hooks, MCP servers, model and so on.
	// The working directory, the session and what asks the editor are set for
	// each session. A zero SystemPrompt means Claude Code's own. Nil: defaults.
	//
	// If CanUseTool is set, it is asked before the editor, which decides what it
	// passes.
	Options *claude.Options
	// Policy returns what decides before the CLI and the editor are asked, for a
	// session in a directory: what it denies does not run in any mode, and what
	// it allows is not asked. It is a [hook.Guard]. With a policy, and with a
	// CanUseTool or a hook that decides about calls, an editor's own rules for
	// calls that need no question are refused. Nil: none.
	Policy func(dir string) permission.Func
	// Name and Title are how the agent introduces itself. Empty: those of this
	// module.
	Name, Title string
	// Login are the arguments that make this program sign in, in addition to
	// those that it was started with, as in "--login": an editor then runs it in
	// a terminal. "--claudeai" or "--console" follows them. Nil: signing in is
	// not offered.
	Login []string
	// Questions keeps what the editor is asked about calls: it outlives the editor and
	// this process, is asked again when the session is opened, and may be decided by
	// others that use the same inbox. Nil: [QuestionsIn] of the CLI's configuration
	// directory.
	Questions *approval.Questions
	// Logger logs what happens. Nil: nothing is logged.
	Logger *slog.Logger

	tidied sync.Once // old questions are forgotten
}

func (l *Local) backend() backend { return localAgent{l} }

// localAgent is a Local as Serve uses it.
type localAgent struct{ *Local }

// Initialize describes the agent.
func (l localAgent) Initialize(_ context.Context, e *editor) (*schema.InitializeResponse, error) {
	resp := &schema.InitializeResponse{
		AgentCapabilities: schema.AgentCapabilities{
			LoadSession:        true,
			PromptCapabilities: schema.PromptCapabilities{Image: true, EmbeddedContext: true},
			MCPCapabilities:    schema.MCPCapabilities{HTTP: true, SSE: true},
			SessionCapabilities: schema.SessionCapabilities{
				AdditionalDirectories: new(schema.SessionAdditionalDirectoriesCapabilities),
				Close:                 new(schema.SessionCloseCapabilities), Delete: new(schema.SessionDeleteCapabilities),
				List: new(schema.SessionListCapabilities), Resume: new(schema.SessionResumeCapabilities),
			},
		},
		AgentInfo:   &schema.Implementation{Name: cmp.Or(l.Name, "claude-agent-go"), Title: new(cmp.Or(l.Title, "Claude Agent")), Version: claude.Version},
		AuthMethods: []schema.AuthMethod{},
	}
	if l.Login != nil && (e.Capabilities().Auth.Terminal || e.Capabilities().Meta["terminal-auth"] == true) {
		for _, account := range [...]struct{ id, name, description, flag string }{
			{"claude-ai-login", "Claude Subscription", "Use a Claude subscription", "--claudeai"},
			{"console-login", "Anthropic Console", "Use the API, billed by usage", "--console"},
		} {
			method := &schema.AuthMethodTerminal{
				ID: schema.AuthMethodID(account.id), Name: account.name, Description: &account.description,
				Args: append(slices.Clone(l.Login), account.flag),
			}
			if self, err := os.Executable(); err == nil && e.Capabilities().Meta["terminal-auth"] == true {
				method.Meta = map[string]any{"terminal-auth": map[string]any{
					"command": self, "args": slices.Concat(os.Args[1:], method.Args), "label": account.name,
				}}
			}
			resp.AuthMethods = append(resp.AuthMethods, schema.AuthMethod{Terminal: method})
		}
	}
	return resp, nil
}

// Extensions offers copies and steering.
func (l localAgent) Extensions() extensions { return extensions{Forks: true, Steering: true} }

// Authenticate refuses: a person signs in in a terminal.
func (l localAgent) Authenticate(_ context.Context, _ *editor, method schema.AuthMethodID) error {
	return errorf(schema.ErrorCodeInvalidParams, "%q does not sign in by a request: run the command of the method in a terminal", method)
}

// Logout refuses: what signed in is the CLI, for all programs of this user.
func (l localAgent) Logout(context.Context) error {
	return errorf(schema.ErrorCodeMethodNotFound, `sign out with "claude auth logout"`)
}

// New starts a CLI for a new session.
func (l localAgent) New(ctx context.Context, e *editor, req *schema.NewSessionRequest) (agentSession, error) {
	wishes, err := l.wishes(req.Meta)
	if err != nil {
		return nil, err
	}
	id := uuid.New()
	return l.connect(ctx, e, opening{kept: l.keep(e, id), cwd: req.Cwd, dirs: req.AdditionalDirectories, servers: req.MCPServers, wishes: wishes})
}

// Load shows an earlier conversation, with what slash commands have printed, its compactions
// and what these have left behind, and starts a CLI that continues it.
func (l localAgent) Load(ctx context.Context, e *editor, req *schema.LoadSessionRequest) (agentSession, error) {
	wishes, err := l.wishes(req.Meta)
	if err != nil {
		return nil, err
	}
	id := string(req.SessionID)
	kept := l.keep(e, id)
	known, err := kept.takeUp(ctx, l.history())
	if err != nil {
		return nil, historyError(req.SessionID, err)
	}
	transcript, err := l.history().Read(ctx, id)
	if err != nil {
		return nil, historyError(req.SessionID, err)
	}
	s, opts, err := l.prepare(ctx, e, opening{kept: kept, cwd: req.Cwd, dirs: req.AdditionalDirectories, servers: req.MCPServers, wishes: wishes, resumes: true, known: known})
	if err != nil {
		return nil, err // before anything is shown
	}
	m := newMachine(e, req.Cwd)
	for stored, err := range transcript.Messages(ctx, history.Page{System: true, Entries: true, Whole: true}) {
		if err != nil {
			return nil, historyError(req.SessionID, err)
		}
		for _, up := range replayed(m, stored) {
			if err := e.Update(ctx, req.SessionID, up); err != nil {
				return nil, err
			}
		}
	}
	return s.start(ctx, opts)
}

// Resume starts a CLI that continues an earlier conversation.
func (l localAgent) Resume(ctx context.Context, e *editor, req *schema.ResumeSessionRequest) (agentSession, error) {
	wishes, err := l.wishes(req.Meta)
	if err != nil {
		return nil, err
	}
	id := string(req.SessionID)
	kept := l.keep(e, id)
	known, err := kept.takeUp(ctx, l.history())
	if err == nil {
		_, err = l.history().Info(ctx, id)
	}
	if err != nil {
		return nil, historyError(req.SessionID, err)
	}
	return l.connect(ctx, e, opening{kept: kept, cwd: req.Cwd, dirs: req.AdditionalDirectories, servers: req.MCPServers, wishes: wishes, resumes: true, known: known})
}

// Delete removes a session from the disk, with what was asked in it. Its questions are
// removed even if the session is gone already.
func (l localAgent) Delete(ctx context.Context, id schema.SessionID) error {
	_, err := l.history().Delete(ctx, string(id))
	if err != nil && !errors.Is(err, history.ErrNotFound) {
		return historyError(id, err)
	}
	if err := l.questions().Erase(ctx, string(id), store.Fence{}); err != nil {
		return err
	}
	return historyError(id, err)
}

func historyError(id schema.SessionID, err error) error {
	for _, missing := range [...]error{history.ErrNotFound, history.ErrInvalidID, history.ErrEmpty, claude.ErrNoSession} {
		if errors.Is(err, missing) {
			return notFound(id)
		}
	}
	return err
}

// history returns the sessions of the CLI's own environment.
func (l *Local) history() *history.History {
	if l.Options == nil || l.Options.Env == nil {
		return history.Disk("")
	}
	return history.Disk(restore.ConfigDir(l.Options.Env))
}

func newMachine(e *editor, cwd string) *translate.Machine {
	m := &translate.Machine{Shown: translate.Shown{Cwd: cwd, Terminal: e.Capabilities().Meta["terminal_output"] == true}}
	if s := e.Capabilities().Session; s != nil {
		m.Compaction, m.Notices = s.Compaction != nil, s.Notices != nil
	}
	return m
}

// keep returns the keeper of a session's questions.
func (l *Local) keep(e *editor, id string) *keeper {
	k := &keeper{inbox: l.questions(), session: id, by: "editor", gone: e.conn.Done(), log: l.Logger}
	if info := e.Info(); info != nil {
		k.by = cmp.Or(info.Name, k.by)
	}
	if k.log == nil {
		k.log = slog.New(slog.DiscardHandler)
	}
	k.written = writtenIn(l.history(), id, k.log)
	return k
}

// questions returns the inbox.
func (l *Local) questions() *approval.Questions {
	if l.Questions != nil {
		return l.Questions
	}
	return QuestionsIn(l.history().ConfigDir())
}

// tidy forgets questions that have long been over and whose session is gone. While it
// can be opened, they keep its calls from running a second time.
func (l *Local) tidy(ctx context.Context, inbox *approval.Questions, log *slog.Logger) {
	l.tidied.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, storing)
		defer cancel()
		known := make(map[string]bool)
		needed := func(q *approval.Question) bool {
			if _, ok := known[q.Conversation]; !ok {
				_, err := l.history().Info(ctx, q.Conversation)
				known[q.Conversation] = !errors.Is(err, history.ErrNotFound) && !errors.Is(err, history.ErrInvalidID)
			}
			return known[q.Conversation]
		}
		if _, err := inbox.Forget(ctx, time.Now().Add(-keepQuestions), needed); err != nil {
			log.Warn("acp: old questions were not forgotten", "error", err)
		}
	})
}

// opening is a session to open, as an editor asks for it.
type opening struct {
	kept    *keeper
	cwd     string
	dirs    []string
	servers []schema.MCPServer
	wishes  wishes
	resumes bool              // an earlier session
	known   map[string]string // its questions, by their calls
}

// connect starts the CLI of a session.
func (l *Local) connect(ctx context.Context, e *editor, o opening) (agentSession, error) {
	s, opts, err := l.prepare(ctx, e, o)
	if err != nil {
		return nil, err
	}
	return s.start(ctx, opts)
}

// prepare returns a session that can start, with its options, or says what is wrong with
// them.
func (l *Local) prepare(ctx context.Context, e *editor, o opening) (s *localSession, opts *claude.Options, err error) {
	opts = new(claude.Options)
	if l.Options != nil {
		*opts = *l.Options
	}
	opts.Cwd, opts.PartialMessages = o.cwd, true
	if o.dirs == nil {
		o.dirs = o.wishes.roots
	}
	opts.AddDirs = slices.Concat(opts.AddDirs, o.dirs)
	opts.SessionID, opts.Resume, opts.Continue, opts.ForkSession = "", "", false, false
	if opts.Timeouts.Close == 0 {
		opts.Timeouts.Close = closing
	}
	if opts.Timeouts.Kill == 0 {
		opts.Timeouts.Kill = killing
	}
	o.wishes.apply(opts)
	if p := opts.SystemPrompt; p.Text == "" && p.Sections == nil {
		opts.SystemPrompt.Preset = true
	}
	if opts.MCPServers, err = mcpServers(opts.MCPServers, o.servers); err != nil {
		return nil, nil, err
	}
	if l.Policy != nil {
		opts.Hooks = append(slices.Clone(opts.Hooks), hook.Guard("", l.Policy(o.cwd)))
	}
	id := o.kept.session
	s = &localSession{id: schema.SessionID(id), editor: e, machine: newMachine(e, o.cwd), history: l.history(), log: o.kept.log}
	l.tidy(ctx, o.kept.inbox, s.log)
	if o.resumes {
		opts.Resume = id
	} else {
		opts.SessionID = id
	}
	o.kept.written.known = o.known
	if len(o.known) > 0 {
		opts.Hooks = append(slices.Clone(opts.Hooks), o.kept.again(o.known))
		s.announced.know(maps.Keys(o.known)) // the CLI does not announce them again
	}
	s.asker = asker{editor: e, session: s.id, shown: s.machine.Shown, first: opts.CanUseTool, bypass: opts.AllowBypassPermissions, kept: o.kept}
	opts.CanUseTool = s.ask
	if opts.OnElicitation == nil {
		opts.OnElicitation = s.asker.elicit
	}
	return s, opts, s.startError(opts.Validate())
}

// start starts the CLI.
func (s *localSession) start(ctx context.Context, opts *claude.Options) (_ agentSession, err error) {
	if s.cli, err = claude.Connect(ctx, opts); err != nil {
		return nil, s.startError(err)
	}
	s.choices = newChoices(s.cli.Info(), opts, s.editor)
	return s, nil
}

// startError says what is wrong in the words of the protocol.
func (s *localSession) startError(err error) error {
	if bad, ok := errors.AsType[*claude.OptionError](err); ok {
		return errorf(schema.ErrorCodeInvalidParams, "the session cannot begin like this: %s: %s", bad.Field, bad.Problem)
	}
	return historyError(s.id, err)
}

// mcpServers adds the editor's servers to the agent's own, which win.
func mcpServers(own claude.MCPServers, servers []schema.MCPServer) (claude.MCPServers, error) {
	all := make(claude.MCPServers)
	for i, s := range servers {
		switch {
		case s.Stdio != nil:
			env := make(map[string]string)
			for _, v := range s.Stdio.Env {
				env[v.Name] = v.Value
			}
			all[s.Stdio.Name] = claude.StdioServer{Command: s.Stdio.Command, Args: s.Stdio.Args, Env: env}
		case s.HTTP != nil:
			all[s.HTTP.Name] = claude.HTTPServer{URL: s.HTTP.URL, Headers: headers(s.HTTP.Headers)}
		case s.SSE != nil:
			all[s.SSE.Name] = claude.SSEServer{URL: s.SSE.URL, Headers: headers(s.SSE.Headers)}
		default:
			return nil, errorf(schema.ErrorCodeInvalidParams, "MCP server %d is of an unknown kind: stdio, http and sse are supported", i)
		}
	}
	maps.Copy(all, own)
	return all, nil
}

func headers(list []schema.HTTPHeader) map[string]string {
	m := make(map[string]string)
	for _, h := range list {
		m[h.Name] = h.Value
	}
	return m
}
