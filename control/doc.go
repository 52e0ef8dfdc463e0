// Package control holds the payloads of control operations: what a session
// sends to the CLI in addition to messages, and what it gets back.
//
// # Results
//
// [Info] is the CLI's description of itself when a session starts: its
// commands, agents and models, the account, its version and its capabilities,
// which [Info.Has] checks. Each of the other results belongs to one operation,
// for example [Interrupted], [Rewind], [ContextUsage], [UsageReport],
// [MCPServerStatus] and [Settings].
//
// Results are decoded leniently. CLIs differ from version to version, so a
// field that is missing or of an unexpected kind stays zero and is not an
// error. A result keeps its original JSON in its field Raw, for anything this
// package does not name. It encodes as its fields, without Raw.
//
// # Questions from the CLI
//
// An [Elicitation] is a question from an MCP server to the user; an
// [ElicitationFunc] answers it with [Accept], [Decline] or [Cancel]. A
// [Dialog] is a question from the CLI itself; a [DialogFunc] answers it with
// [CompleteDialog] or [CancelDialog]. The zero answers decline and cancel.
//
// # The first request
//
// [Initialize] is the request that opens a session. Programs rarely build one;
// the options of a session become its fields. [AgentDefinition] is the part
// that a program fills in.
package control
