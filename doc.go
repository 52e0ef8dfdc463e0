// Package claude drives the Claude Code CLI: it starts the program as a child
// process and speaks its stream-json control protocol in both directions.
//
// # One question
//
// [Ask] starts a CLI for one prompt and returns the result. [Query] does the
// same and yields everything on the way, message by message; what the messages
// are is the subject of package [message]. Breaking out of the loop ends the
// process, and nothing is left of it when the loop is left.
//
// Both take [Options], of which the zero value, or nil, means the CLI's own
// defaults, except for the system prompt: that is empty unless
// [SystemPrompt].Preset or Text is set.
//
// # A session
//
// [Connect] starts a CLI and keeps it for many turns. [Session.Run] sends a
// prompt and yields until its result, [Session.Ask] returns only that. Leaving
// a Run early interrupts the turn and leaves the session usable.
//
// [Session.Send] sends without waiting, also while a turn runs, and
// [Session.Messages] reads whatever comes. Turns are not sends: the CLI may
// answer several prompts with one result, and background tasks start turns
// that nobody asked for. A result names the prompts it answers in its Prompts.
//
// # Permissions and hooks
//
// [Options].CanUseTool is asked about tool calls that no rule has decided; see
// package [permission]. If it fails, panics or takes too long, the call is
// denied, with a message that says why. OnElicitation and OnUserDialog answer
// questions of MCP servers and of the CLI itself.
//
// [Options].Hooks are called at the events they name; see package [hook]. A
// hook that fails has no opinion by default and the agent goes on; FailClosed,
// for one hook or with HookFailure for all, blocks instead.
//
// Callbacks run in goroutines of their own, several at once. Their contexts
// carry the values of Connect's, end when the CLI takes its request back, at
// the timeout and when the session closes, and lead to the session by
// [SessionFrom].
//
// # Tools of your own and typed answers
//
// [Options].MCPServers adds MCP servers: external ones, and those of this
// process, which package github.com/claude-agent-go/claude/tool makes of Go
// functions. [AskAs] asks for an answer of a Go type; sessions do it with
// [Options].OutputSchema, [SchemaFor] and [Decode].
//
// # Control
//
// [Session.Interrupt], [Session.SetModel], [Session.SetPermissionMode] and
// [Session.RewindFiles] work at any time, also while messages are unread or a
// callback runs. [Session.Control] performs any other operation by its name on
// the wire. [Session.Info] is what the CLI told about itself in the handshake.
//
// # Errors
//
// The outcome of a prompt is its result, not the exit code. A result that is
// an error is delivered, and followed by a [*ResultError].
//
//   - [*OptionError]: the options cannot be used; nothing was started.
//   - [*StartError]: the CLI could not be brought up. Its Reason is one of
//     [ErrNotFound], [ErrSpawn], [ErrUnsupportedVersion], [ErrExited],
//     [ErrInitializeTimeout] and [ErrInitializeRefused].
//   - [*OutputError]: the result has no typed answer.
//   - [*ProcessError]: the CLI ended when it should not have, with exit code
//     and the end of its standard error.
//   - [*ControlError]: an operation failed; [ErrTimeout] and others tell why.
//   - [ErrBusy], [ErrUsed], [ErrClosed], [ErrSlow], [ErrCancelled] and
//     [ErrNoResult] concern the message stream.
//
// # Lifetime and concurrency
//
// The context of a call bounds that call. Connect's context bounds the start
// only: the session lives until [Session.Close], which is bounded in time, may
// be called more than once and from callbacks, and leaves no process behind.
// [Session.Done], [Session.State] and [Session.Wait] tell how it ended.
//
// All methods of a Session may be called from any goroutine. The message
// stream has one reader at a time; a second one gets [ErrBusy] at once. A
// reader that does not keep up costs memory up to [Limits].Unread; then
// partial messages are dropped, and if that is not enough the session ends
// with [ErrSlow]. Control and callbacks are served until then.
//
// # Warm sessions
//
// A CLI takes about half a second to come up. A [Pool] has sessions started
// and initialised before they are needed, replaces those that die or grow old,
// and hands them out in microseconds.
//
// # Observation
//
// [Options].Logger takes what happens, [Options].Trace sees every frame,
// callback, operation and change of state, and [Options].Stderr gets the lines
// of the CLI's standard error. All are silent unless set. Lines that are no
// protocol are reported there and do not end the session.
//
// # Testing
//
// A [Transport] replaces the child process: whatever reads and writes the
// protocol can play the CLI. Package
// github.com/claude-agent-go/claude/claudetest has one that plays a script, and
// a model to put behind the real CLI; with either a program is tested offline.
package claude
