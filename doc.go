// Package claude drives the Claude Code CLI. It starts the program as a child
// process and speaks its stream-json control protocol in both directions.
//
// # One question
//
// [Ask] starts a CLI for one prompt and returns the result. [Query] does the
// same and yields every message on the way; package [message] describes them.
// Leaving the loop ends the process; nothing is left running.
//
// Both take [Options]. The zero value, or nil, means the CLI's own defaults,
// except for the system prompt, which is empty unless you set
// [SystemPrompt].Preset or Text.
//
// # A session
//
// [Connect] starts a CLI and keeps it for many turns. [Session.Run] sends a
// prompt and yields messages up to its result; [Session.Ask] returns only the
// result. Leaving a Run early interrupts the turn; the session stays usable.
//
// [Session.Send] sends without waiting, even while a turn runs, and
// [Session.Messages] reads whatever arrives. Turns don't map one-to-one to
// Send: the CLI may answer several prompts with one result, and background
// tasks start turns that no prompt asked for. The Prompts field of a result
// lists the prompts it answers.
//
// # Permissions and hooks
//
// [Options].CanUseTool decides tool calls that no rule has decided; see package
// [permission]. If it fails, panics or takes too long, the call is denied with
// a message that gives the reason. OnElicitation and OnUserDialog answer
// questions from MCP servers and from the CLI itself.
//
// [Options].Hooks are called at the events they name; see package [hook]. By
// default, a hook that returns an error has no opinion and the agent
// continues. FailClosed, set on one hook or on all of them with HookFailure,
// blocks instead.
//
// Callbacks run in their own goroutines, several at once. Their contexts carry
// the values of Connect's context. They end when the CLI withdraws its
// request, at the timeout, and when the session closes. [SessionFrom] returns
// the session of a callback's context.
//
// # Your own tools and typed answers
//
// [Options].MCPServers adds MCP servers: external ones, and in-process ones
// that package github.com/claude-agent-go/claude/tool makes from Go functions.
// [AskAs] asks for an answer of a Go type; in a session, use
// [Options].OutputSchema, [SchemaFor] and [Decode].
//
// # Control
//
// [Session.Interrupt], [Session.SetModel], [Session.SetPermissionMode] and
// [SessionFiles.Rewind] work at any time, even while messages are unread or a
// callback runs. [Session.Control] performs any other operation by its name on
// the wire. [Session.Info] returns the CLI's description of itself from the
// handshake.
//
// # Errors
//
// The outcome of a prompt is its result, not the exit code. A result that is
// an error is delivered, then followed by a [*ResultError].
//
//   - [*OptionError]: the options cannot be used; nothing was started.
//   - [*StartError]: the CLI could not be started. Its Reason is one of
//     [ErrNotFound], [ErrSpawn], [ErrUnsupportedVersion], [ErrExited],
//     [ErrInitializeTimeout] and [ErrInitializeRefused].
//   - [*OutputError]: the result has no typed answer.
//   - [*ProcessError]: the CLI ended unexpectedly; it holds the exit code and
//     the end of standard error.
//   - [*ControlError]: an operation failed; [ErrTimeout] and others say why.
//   - [ErrBusy], [ErrUsed], [ErrClosed], [ErrSlow], [ErrCancelled] and
//     [ErrNoResult] concern the message stream.
//
// # Lifetime and concurrency
//
// The context of a call bounds that call. Connect's context bounds only the
// start: the session lives until [Session.Close]. Close is bounded in time,
// may be called more than once and from callbacks, and leaves no process
// behind. [Session.Done], [Session.State] and [Session.Wait] report how the
// session ended.
//
// All methods of a Session may be called from any goroutine. The message
// stream has one reader at a time; a second one gets [ErrBusy] at once. A
// reader that does not keep up costs memory up to [Limits].Unread. Beyond
// that, partial messages are dropped, and if that is not enough, the session
// ends with [ErrSlow]. Control operations and callbacks are served until then.
//
// # Warm sessions
//
// A CLI takes about half a second to start. A [Pool] keeps sessions started
// and initialised before you need them, replaces those that die or grow old,
// and hands them out in microseconds.
//
// # Observation
//
// [Options].Logger logs what happens, [Options].Trace sees every frame,
// callback, operation and change of state, and [Options].Stderr gets the lines
// the CLI writes to standard error. All are silent unless set. Lines that are
// not part of the protocol are reported there and do not end the session.
//
// # Testing
//
// A [Transport] replaces the child process: anything that reads and writes the
// protocol can play the CLI. Package
// github.com/claude-agent-go/claude/claudetest has a transport that plays a
// script, and a model to put behind the real CLI. With either, you can test a
// program offline.
package claude
