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

// Agent is what a client talks to. Turn is called for one turn at a time.
type Agent interface {
	// Turn answers the prompts of t. It returns when the turn is over: nil
	// when the agent has said all, or an error, which becomes an error
	// result. An error for which errors.Is(err, ErrOver) holds came from a
	// method of t and is to be returned as it is.
	//
	// When a Stop hook of the client objects, Turn is called again with the
	// same t, and t.Notes has the objection.
	//
	// The context ends when the client interrupts the turn.
	Turn(ctx context.Context, t *Turn) error
}

// AgentFunc is a function as an [Agent].
type AgentFunc func(ctx context.Context, t *Turn) error

// Turn calls f.
func (f AgentFunc) Turn(ctx context.Context, t *Turn) error { return f(ctx, t) }

// Rewinder is an [Agent] that can restore files to what they were when a user
// message came. One that is none answers rewind_files with an error.
type Rewinder interface {
	Agent
	// Rewind restores the files, or only says what it would do. An error is
	// the answer to a message without a checkpoint.
	Rewind(ctx context.Context, messageID string, dryRun bool) (*control.Rewind, error)
}

// Errors of [Serve] and of the methods of [Turn].
var (
	// ErrOver is in the errors of a Turn that has ended before the agent was
	// done: interrupted, stopped by a hook, at its limit.
	ErrOver = errors.New("host: the turn is over")
	// ErrFailed says that the session ended in good order but its last turn
	// did not. The CLI exits with code 1 then.
	ErrFailed = errors.New("host: the last turn failed")
	// ErrLine says that the client wrote a line that no client may write. The
	// CLI exits with code 1 then.
	ErrLine = errors.New("host: line of the client cannot be used")
	// ErrInputClosed is what questions to the client fail with when it has
	// closed the stream.
	ErrInputClosed = errors.New("stream closed before response received")
)

// Options says what the agent is and how it asks. The zero value, and a nil
// pointer, are an agent in mode "default" that cannot ask for permission.
// [ParseArgs] makes Options from the command line of the CLI.
type Options struct {
	// Info is what initialize is answered with. Empty fields that the host
	// knows are filled in.
	Info control.Info
	// Init is what each turn begins with, in the same way.
	Init message.Init

	// SessionID names the conversation. Empty: a random UUID.
	SessionID string
	// Resume is the conversation that the client wants to go on with, by its
	// id; empty: a new one. What was said in it is the agent's to know. A fork
	// of it has another SessionID.
	Resume string
	// Cwd is the working directory that the client is told. Files outside of
	// it are asked about; empty: none are.
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
	// PromptTool says that the client can be asked for permission. Without it
	// whatever would be asked is denied.
	PromptTool bool

	// PartialMessages streams answers piece by piece.
	PartialMessages bool
	// ForwardSubagentText sends the text of sub-agents that are waited for;
	// otherwise only their tool calls are sent. Initialize may ask for it too.
	ForwardSubagentText bool
	// ReplayUserMessages echoes prompts.
	ReplayUserMessages bool
	// StateEvents tells the client whether the session is idle, running or
	// waiting for an answer.
	StateEvents bool
	// MaxTurns bounds the answers of one turn. 0: no bound.
	MaxTurns int
	// MaxBudgetUSD ends a turn when the session has cost more, and those after
	// it. 0: no bound. See [Turn.Spend].
	MaxBudgetUSD float64
	// JSONSchema is what a structured answer must fit, if one is wanted.
	// Initialize may set it too; see [Turn.JSONSchema].
	JSONSchema []byte

	// SDKServers are the names of MCP servers that live in the client, known
	// before initialize.
	SDKServers []string

	// Operations are control operations besides those that the host knows,
	// or in place of them, by subtype.
	Operations map[string]Operation

	// Logger takes what happens. Nil: silence.
	Logger *slog.Logger
	// LineLimit is the longest line of the client that is read. 0: 64 MiB. A
	// longer one ends the session with ErrLine.
	LineLimit int
}

// Operation serves a control request: the request object comes in, the payload
// of a success goes out; nil is a success without one. An error becomes an
// error reply; a [*OperationError] adds a code. Operations run at the same time
// as turns and as each other, and return when the context ends.
type Operation func(ctx context.Context, request []byte) (any, error)

// OperationError is an error reply with a code.
type OperationError struct{ Message, Code string }

func (e *OperationError) Error() string { return e.Message }

// Serve lets a client drive the agent over a stream of lines: what a CLI reads
// from its standard input and writes to its standard output. It returns when
// the client has closed its side and all its prompts are answered, when the
// client asked for the end, or when ctx ends. The error is nil, ErrFailed, one
// that wraps ErrLine, that of the stream, or the cause of ctx.
//
// When ctx ends, no result is written for a turn that runs. A read or a write
// that blocks is not waited for: it ends when rw is closed.
func Serve(ctx context.Context, rw io.ReadWriter, agent Agent, opts *Options) error {
	return newSession(ctx, rw, agent, opts).serve()
}
