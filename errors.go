package claude

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/internal/restore"
	"github.com/claude-agent-go/claude/internal/terminal"
	"github.com/claude-agent-go/claude/message"
)

// The texts of errors are for people and often end up in a terminal. They
// repeat words of the CLI and of what it reads, so escape sequences in them are
// made visible. The fields of errors hold the words unchanged.

// Errors of sessions and their message streams. Match them with errors.Is.
var (
	// ErrClosed means that the session was closed by Close.
	ErrClosed = errors.New("claude: session closed")
	// ErrBusy means that the message stream already has a reader. Run, Ask and
	// Messages read it, one at a time.
	ErrBusy = errors.New("claude: the message stream has another reader")
	// ErrUsed means that a stream was ranged over a second time. Each call to
	// Run or Query sends its prompt once.
	ErrUsed = errors.New("claude: stream already used")
	// ErrSlow means that messages stayed unread until they exceeded
	// Limits.Unread. The session has ended.
	ErrSlow = errors.New("claude: messages were not read in time")
	// ErrCancelled means that a prompt ended without a result because it was
	// removed from the queue before its turn began.
	ErrCancelled = errors.New("claude: prompt cancelled before its turn")
	// ErrAnswered means that a prompt has the id of one that the session
	// already answered or deferred before it was resumed. The CLI does not take
	// it again and gives no result; the answer is in the transcript.
	ErrAnswered = errors.New("claude: prompt answered before")
	// ErrNoResult means that the prompt ended without a readable result,
	// usually because the CLI ended first.
	ErrNoResult = errors.New("claude: no result")
	// ErrInterrupted means that the turn was stopped, by Session.Interrupt or
	// by a permission denied with permission.DenyAndStop. It matches a
	// [*ResultError].
	ErrInterrupted = errors.New("claude: turn interrupted")
	// ErrWithdrawn is the cause of a callback's context, see [context.Cause], when
	// the CLI withdrew its request and no longer awaits the answer.
	ErrWithdrawn = peer.ErrCancelled
)

// Reasons of a [StartError].
var (
	// ErrUnsupportedVersion means that the CLI is too old for the options.
	ErrUnsupportedVersion = errors.New("unsupported CLI version")
	// ErrNotFound means that no CLI was found.
	ErrNotFound = errors.New("the Claude Code CLI was not found")
	// ErrNoSession means that no session has the id in Options.Resume, in this
	// working directory and for this user, or in the store.
	ErrNoSession = errors.New("no such session")
	// ErrStore means that the store could not be used: it did not answer, its
	// copy of the session is damaged, or another owner holds the session (then
	// the error is also a *store.HeldError).
	ErrStore = errors.New("the store could not be used")
	// ErrSpawn means that the CLI could not be started.
	ErrSpawn = errors.New("could not start the CLI")
	// ErrInitializeTimeout means that the CLI did not answer the handshake in
	// time (Timeouts.Initialize).
	ErrInitializeTimeout = errors.New("initialize timed out")
	// ErrInitializeRefused means that the CLI answered the handshake with an
	// error.
	ErrInitializeRefused = errors.New("initialize refused")
	// ErrExited means that the CLI ended before it answered the handshake.
	ErrExited = errors.New("the CLI exited during initialize")
)

// Reasons of a [ControlError].
var (
	// ErrTimeout means that the CLI did not answer an operation in time.
	ErrTimeout = errors.New("timed out")
	// ErrNotInitialized means that the handshake failed while the operation
	// waited for it. The error also holds the reason.
	ErrNotInitialized = errors.New("session not initialized")
	// ErrQueueFull means that too many operations waited for the handshake
	// (Limits.Queued).
	ErrQueueFull = errors.New("too many control operations queued during initialization")
	// ErrTooManyPending means that too many operations are waiting for their
	// reply (Limits.Pending).
	ErrTooManyPending = errors.New("too many pending control requests")
	// ErrNoCheckpoints means that SessionFiles.Rewind was called on a session that was
	// started without Options.FileCheckpointing.
	ErrNoCheckpoints = errors.New("file checkpointing is not enabled (set Options.FileCheckpointing)")
)

// OptionError reports an option that cannot be used. Nothing was started.
type OptionError struct {
	Field   string // as in Options, for example "MaxTurns"
	Problem string
}

func (e *OptionError) Error() string {
	return terminal.Clean("claude: option " + e.Field + ": " + e.Problem)
}

// StartError reports that a session could not be started. No process is left
// running.
type StartError struct {
	// Reason is one of ErrUnsupportedVersion, ErrNotFound, ErrNoSession,
	// ErrStore, ErrSpawn, ErrInitializeTimeout, ErrInitializeRefused and ErrExited.
	Reason error
	// Path is the executable, if it was known.
	Path string
	// Output holds the CLI's last words before it failed: the end of its
	// stderr, anything on stdout that is not JSON, or the errors of an early
	// result. It is bounded, and secrets are redacted.
	Output string
	// Nearby lists, for ErrNoSession, sessions that do exist in the working
	// directory, by id and title: at most three, newest first.
	Nearby []string
	// Err is the cause, if there is one beyond Reason, such as an error from
	// the operating system or a *ProcessError.
	Err error
}

func (e *StartError) Error() string {
	reason := e.Reason.Error()
	if e.Path != "" {
		reason += " (" + e.Path + ")"
	}
	hint := ""
	if e.Reason == ErrNotFound {
		hint = installHint
	}
	if len(e.Nearby) > 0 {
		hint = "sessions of this directory are " + strings.Join(e.Nearby, ", ")
	}
	return errorText(reason, textOf(e.Err), e.Output, hint)
}

// installHint tells the user what to do when there is no CLI.
const installHint = "install it with npm install -g @anthropic-ai/claude-code, or name it in Options.CLIPath"

// Unwrap returns Reason and Err.
func (e *StartError) Unwrap() []error { return nonNil(e.Reason, e.Err) }

// ControlError reports that a control operation failed. Unless the CLI itself
// refused it, the operation may or may not have taken effect.
type ControlError struct {
	Op        string // the subtype on the wire, for example "set_model"
	RequestID string // "" when the operation was never sent
	Code      string // error_code of the CLI, if it gave one
	Message   string // the CLI's reason, if it refused
	Err       error  // ErrTimeout, ErrClosed, a context's error …; nil when refused
}

func (e *ControlError) Error() string {
	op := e.Op
	if e.RequestID != "" {
		op += " (" + e.RequestID + ")"
	}
	said := e.Message
	if e.Code != "" {
		said += " [" + e.Code + "]"
	}
	return errorText(op, said, textOf(e.Err))
}

// Unwrap returns Err.
func (e *ControlError) Unwrap() error { return e.Err }

// ProcessError reports that the CLI process ended unexpectedly, and how.
type ProcessError struct {
	ExitCode int    // -1 when a signal ended it
	Signal   string // "" unless a signal ended it
	Stderr   string // the end of what it wrote there, secrets redacted
	// Result is an error result that the CLI gave outside any turn before it
	// ended, or nil.
	Result *message.Result
	Err    error
}

func (e *ProcessError) Error() string {
	end := fmt.Sprintf("the CLI exited with code %d", e.ExitCode)
	if e.Signal != "" {
		end = "the CLI was ended by signal " + e.Signal
	}
	early := ""
	if e.Result != nil {
		early = e.Result.Problem()
	}
	return errorText(end, textOf(e.Err), early, e.Stderr)
}

// Unwrap returns Err.
func (e *ProcessError) Unwrap() error { return e.Err }

// ResultError reports that a turn ended with an error result: the API failed,
// a limit was reached, or the turn was interrupted.
type ResultError struct {
	Result *message.Result
}

func (e *ResultError) Error() string {
	switch {
	case e.Result == nil:
		return "claude: turn failed"
	case e.Result.Interrupted():
		return errorText("turn interrupted", e.Result.Problem())
	}
	return errorText("turn failed", e.Result.Problem())
}

// Is matches ErrInterrupted if the turn was interrupted.
func (e *ResultError) Is(target error) bool {
	return target == ErrInterrupted && e.Result != nil && e.Result.Interrupted()
}

// Retryable reports whether the turn failed for a temporary reason, such as an
// API that is overloaded, limits the rate or cannot be reached. The same
// prompt may succeed after a while. See [message.Result.Retryable].
func (e *ResultError) Retryable() bool { return e.Result != nil && e.Result.Retryable() }

// renamed gives an error of the engine the name by which users know it, and
// keeps the text.
type renamed struct{ name, err error }

func (e *renamed) Error() string { return e.err.Error() }

func (e *renamed) Unwrap() []error { return []error{e.name, e.err} }

// rename renames the errors of outgoing requests and returns all others
// unchanged.
func rename(err error) error {
	for inner, name := range map[error]error{
		peer.ErrNotOpened:    ErrNotInitialized,
		peer.ErrQueueFull:    ErrQueueFull,
		peer.ErrTooManyCalls: ErrTooManyPending,
	} {
		if errors.Is(err, inner) {
			return &renamed{name, err}
		}
	}
	return err
}

func nonNil(errs ...error) []error {
	var all []error
	for _, err := range errs {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// errorText returns the text of an error: its parts in their order, without
// repetitions. Much of the CLI's output comes twice, on stderr and in a result.
func errorText(parts ...string) string {
	// Errors inside others also begin with the name, including those of
	// errors.Join.
	inner := strings.NewReplacer(": claude: ", ": ", "\nclaude: ", ": ")
	text := "claude"
	for _, part := range parts {
		part = inner.Replace(strings.TrimPrefix(strings.TrimSpace(part), "claude: "))
		if rest := unsaid(part, text); rest != "" {
			text += ": " + rest
		}
	}
	return terminal.Clean(text)
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// unsaid returns the lines of an output that a text does not already contain.
func unsaid(output, text string) string {
	if strings.Contains(text, output) {
		return ""
	}
	lines := strings.Split(output, "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool {
		line = strings.TrimSpace(line)
		return line != "" && strings.Contains(text, line)
	})
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// Bounds of the suggestions in an error: how many sessions, how much of a title,
// and how long to look for them.
const (
	nearbySessions = 3
	nearbyTitle    = 60
	nearbyTime     = 2 * time.Second
)

// nearby names existing sessions of the working directory, for a user who asked
// for one that does not exist. A directory that cannot be read has no sessions.
func (s opening) nearby() []string {
	if s.opts.Transport != nil { // a CLI that may keep its sessions anywhere
		return nil
	}
	dir := s.opts.Cwd
	if dir == "" {
		dir, _ = os.Getwd() // "" would list all directories
	}
	if dir == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), nearbyTime)
	defer cancel()
	var found []string
	for info, err := range history.Disk(restore.ConfigDir(s.plan.env)).List(ctx, history.Query{Dir: dir, SkipWorktrees: true, Limit: nearbySessions}) {
		if err != nil {
			break
		}
		title := []rune(s.odd.hidden().Hide(info.Title))
		if len(title) > nearbyTitle {
			title = append(title[:nearbyTitle-1], '…')
		}
		found = append(found, info.ID+" ("+string(title)+")")
	}
	return found
}
