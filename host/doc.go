// Package host is the CLI's side of the protocol. With it, a Go program can be
// the agent that an SDK, in any language, drives.
//
// # An agent
//
// An [Agent] has one method. It is called for each turn, writes text and calls
// tools through its [Turn], and returns when it is done. [Serve] connects it to a
// client over a stream of lines, such as standard input and output:
//
//	agent := host.AgentFunc(func(ctx context.Context, t *host.Turn) error {
//		out, err := t.UseTool(ctx, "Clock", nil, readClock)
//		if err != nil {
//			return err
//		}
//		return t.Say(ctx, "It is "+out.Content.Text())
//	})
//	err := host.Serve(ctx, stdio, agent, nil)
//
// The host does everything around that: the handshake, the queue of prompts
// and the merging of waiting ones, interrupts, the result with its counts, and
// the control operations that a client uses to change the model, the
// permission mode or the MCP servers. [Options.Operations] adds operations;
// [ParseArgs] parses the command line that SDKs start the CLI with.
//
// # What an agent can ask
//
//	Answer, Say, UseTool  say and do something
//	Ask                   may I?
//	Fire                  tell the hooks
//	CallMCP               call a server in the client
//	Elicit, ShowDialog    ask the user
//	RunSubagent           let another agent do it
//	Emit                  send any message
//
// [Turn.UseTool] does what Claude Code does around a tool: it calls the
// PreToolUse hooks, lets rules and mode decide, asks the client, runs the
// tool, calls the hooks after it, and sends the result. A tool named
// mcp__server__tool without its own function runs on that server in the
// client.
//
// # What happens to bad answers
//
// A client may answer anything, or nothing. The host does what the CLI does: a
// permission answer that is not a decision denies, a hook's answer that cannot
// be read counts as empty, a gate that does not answer in time stays closed,
// and a client that closes the stream has refused all open questions. Requests
// that no longer matter (a timeout, an interrupt, another answer came first) are
// withdrawn with control_cancel_request.
//
// A line that is not JSON, or a user message with another role, ends the
// session with an error, as it does in the CLI. Unknown frames are ignored. User
// messages are accepted in the nested form and in the flat form of older
// clients.
package host
