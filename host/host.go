package host

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// Agent answers the prompts of a client. Turn is called for one turn at a time.
type Agent interface {
	// Turn answers the prompts of t. It returns when the turn is over: nil if
	// the agent is done, or an error, which becomes an error result. An error
	// for which errors.Is(err, ErrOver) holds came from a method of t; return
	// it unchanged.
	//
	// If a Stop hook of the client objects, Turn is called again with the same
	// t, and t.Notes has the objection.
	//
	// The context ends when the client interrupts the turn. It may have ended
	// before the turn began; the prompts still belong to the conversation.
	Turn(ctx context.Context, t *Turn) error
}

// AgentFunc is a function as an [Agent].
type AgentFunc func(ctx context.Context, t *Turn) error

// Turn calls f.
func (f AgentFunc) Turn(ctx context.Context, t *Turn) error { return f(ctx, t) }

// Errors of [Serve] and of the methods of [Turn].
var (
	// ErrOver is in the errors of a Turn that ended before the agent was done:
	// interrupted, stopped by a hook, or at its limit.
	ErrOver = errors.New("host: the turn is over")
	// ErrFailed means that the session ended normally but its last turn failed.
	// The CLI then exits with code 1.
	ErrFailed = errors.New("host: the last turn failed")
	// ErrLine means that the client wrote a line that is not allowed. The CLI
	// then exits with code 1.
	ErrLine = errors.New("host: line of the client cannot be used")
	// ErrInputClosed is the error of questions to a client that has closed the
	// stream.
	ErrInputClosed = errors.New("stream closed before response received")
)

// Options describe the agent and how it asks. The zero value, or a nil
// pointer, means an agent in mode "default" that cannot ask for permission.
// [ParseArgs] makes Options from the command line of the CLI.
type Options struct {
	// Info is the answer to initialize. The host fills in empty fields that it
	// knows.
	Info control.Info
	// Init is the message that begins each turn. The host also fills in its empty
	// fields.
	Init message.Init

	// SessionID names the conversation. Empty: a random UUID.
	SessionID string
	// Resume is the id of the conversation that the client wants to continue;
	// empty: a new one. The agent must know what was said in it. A fork of it
	// has another SessionID.
	Resume string
	// Leaf is the id of the last line of that conversation. The lines that are
	// repeated to the client continue it.
	Leaf string
	// Unfinished is the turn that the conversation was left in, if the CLI is
	// to finish it. It begins with initialize, before any prompt.
	Unfinished *Unfinished
	// Cwd is the working directory reported to the client. Files outside it
	// need permission; empty: none do.
	Cwd string
	// Model is the model's name. Empty: "scripted".
	Model string

	// Mode is the permission mode to begin with. Empty: "default".
	Mode permission.Mode
	// AllowBypass lets the client change to bypassPermissions.
	AllowBypass bool
	// Allow, Deny and Ask are permission rules, such as "Read" or
	// "Bash(git:*)".
	Allow, Deny, Ask []string
	// PromptTool is true if the client can be asked for permission. Otherwise
	// every call that would need a question is denied.
	PromptTool bool

	// PartialMessages streams answers piece by piece.
	PartialMessages bool
	// ForwardSubagentText sends the text of subagents in the foreground;
	// otherwise only their tool calls are sent. Initialize may also ask for
	// it.
	ForwardSubagentText bool
	// ReplayUserMessages echoes prompts.
	ReplayUserMessages bool
	// MirrorTo is the directory of the CLI's transcripts, if the client wants
	// them repeated in transcript_mirror frames. The host writes no files: the
	// frames name those that the CLI would have written.
	MirrorTo string
	// StateEvents reports to the client whether the session is idle, running
	// or waiting for an answer.
	StateEvents bool
	// MaxTurns limits the answers of one turn. 0: no limit.
	MaxTurns int
	// MaxBudgetUSD ends a turn, and those after it, once the session has cost
	// more than this. 0: no limit. See [Turn.Spend].
	MaxBudgetUSD float64
	// JSONSchema is the schema that a structured answer must match, if one is
	// wanted. Initialize may also set it; see [Turn.JSONSchema].
	JSONSchema []byte

	// SDKServers are the names of MCP servers in the client that are known
	// before initialize.
	SDKServers []string

	// Rewind restores files to their state when a user message arrived, or only
	// reports the changes that it would make. It returns an error for a message
	// without a checkpoint, and runs concurrently with turns. Nil: the agent
	// cannot.
	Rewind func(ctx context.Context, messageID string, dryRun bool) (*control.Rewind, error)
	// Operations are control operations by subtype, in addition to those that
	// the host knows or instead of them.
	Operations map[string]Operation

	// Logger logs what happens. Nil: nothing is logged.
	Logger *slog.Logger
	// LineLimit is the longest line of the client that is read, in bytes. 0:
	// 64 MiB. A longer one ends the session with ErrLine.
	LineLimit int
}

// Operation serves a control request. It takes the request object and returns
// the payload of a success; nil is a success without a payload. An error
// becomes an error reply; a [*OperationError] adds a code. Operations run
// concurrently with turns and with each other, and must return when the
// context ends.
type Operation func(ctx context.Context, request []byte) (any, error)

// OperationError is an error reply with a code.
type OperationError struct{ Message, Code string }

func (e *OperationError) Error() string { return e.Message }

// Serve lets a client drive the agent over a stream of lines: what a CLI reads
// from its standard input and writes to its standard output. It returns when
// the client has closed its side and all its prompts are answered, when the
// client asked for the end, or when ctx ends. The error is nil, ErrFailed, one
// that wraps ErrLine, the error of the stream, or the cause of ctx.
//
// When ctx ends, no result is written for a running turn. Serve does not wait
// for a blocked read or write: that ends when rw is closed.
func Serve(ctx context.Context, rw io.ReadWriter, agent Agent, opts *Options) error {
	return newSession(ctx, rw, agent, opts).serve()
}
