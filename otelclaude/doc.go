// Package otelclaude observes sessions of package claude with OpenTelemetry:
// spans and metrics for the agent's work, and one trace from your request to
// the agent's tools.
//
//	opts, err := otelclaude.Instrument(opts, nil)
//	...
//	result, err := claude.Ask(ctx, "Fix the build.", opts)
//
// It uses the OpenTelemetry API only. Set up the SDK and its exporters as in any
// other program; without them, nothing is recorded.
//
// # Spans
//
//	start_session                     until the CLI is ready
//	invoke_agent [agent]              a turn: from the prompt to its result
//	├── execute_tool Bash             from the call to its result
//	│   ├── hook PreToolUse           your hook
//	│   ├── permission Bash           your permission callback
//	│   └── mcp server                your tool in this process
//	└── execute_tool Agent
//	    └── invoke_agent Explore      a subagent
//	        └── execute_tool Read
//	control set_model                 an operation such as Session.SetModel
//
// [InstrumentFleet] and [InstrumentServer] add the spans around a turn: the
// request to the server, the prompt from its acceptance, and each attempt to
// answer it, in whatever process. A deferred call and the same call when it is
// made are linked.
//
// A turn is a child of the span in the context of Run, Send, Ask or Query, and
// has a link to start_session. Without such a span, the turn is a child of
// start_session. Your hooks, permission callbacks and tools run with a context
// that has their span, so that your own spans are its children.
//
// An API call that the CLI retries is an event of the turn, api_retry. The
// attribute error.type names the kind of failure. Every span has ended when
// Close, Ask or Query returns, however the session ended.
//
// # The CLI's own spans
//
// The CLI can export spans, metrics and logs itself. [Config].CLI turns that on.
// For as long as it runs, start_session is the parent of everything it does: its
// claude_code.interaction is a child of start_session. Its turns and ours share
// gen_ai.conversation.id, and its tool calls and ours gen_ai.tool.call.id.
//
// Its events, which are log records, have prompt.id, which the CLI makes for each
// turn. If one of your hooks is called in a turn, our invoke_agent also has
// prompt.id. Without hooks, look for the event claude_code.user_prompt: it has
// both prompt.id and message.uuid, which is one of claude.prompt.ids of our turn.
//
// # Names
//
// Attributes and metrics follow the semantic conventions for generative AI,
// version 1.41.0. Names that they lack begin with "claude.".
package otelclaude
