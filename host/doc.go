// Package host is the CLI's side of the protocol: with it a Go program can be
// the agent that an SDK, of any language, drives.
//
// # An agent
//
// An [Agent] has one method. It is called for each turn, says things and calls
// tools by means of its [Turn], and returns when it is done. [Serve] connects
// it to a client over a stream of lines, such as standard input and output:
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
// Everything around that is the host's: the handshake, the queue of prompts and
// the merging of those that wait, interrupts, the result with its counts, and
// the control operations by which a client changes the model, the permission
// mode or the MCP servers. [Options.Operations] adds operations;
// [ParseArgs] reads the command line that SDKs start the CLI with.
//
// # What an agent can ask
//
//	Answer, Say, UseTool  say and do something
//	Ask                   may I?
//	Fire                  tell the hooks
//	MCP                   call a server in the client
//	Elicit, Dialog        ask the user
//	RunSubagent           let another agent do it
//	Emit                  send any message
//
// [Turn.UseTool] does what Claude Code does around a tool: the PreToolUse hooks
// are called, then rules and mode decide, then the client is asked, then the
// tool runs, then the hooks after it are called, and the result is sent. A tool
// named mcp__server__tool without a function of its own runs on that server in
// the client.
//
// # What becomes of bad answers
//
// A client may answer anything, or nothing. The host does what the CLI does:
// a permission that is no decision denies, a hook's answer that cannot be read
// counts as empty, a gate that does not answer in its time stays closed, and a
// client that closes the stream has refused what it was being asked. Requests
// that are no longer of interest (a timeout, an interrupt, another answer came
// first) are withdrawn by control_cancel_request.
//
// A line that is no JSON, or a user message in another voice, ends the session
// with an error, as it ends the CLI. Unknown frames are ignored. User messages
// are accepted in the nested form and in the flat one of older clients.
package host
