// Package tool gives Claude tools that are Go functions.
//
//	add := tool.New("add", "Add two numbers", func(ctx context.Context, in struct{ A, B float64 }) (float64, error) {
//		return in.A + in.B, nil
//	})
//	opts.MCPServers = claude.MCPServers{"calc": tool.NewServer(add)}
//
// Claude sees it as mcp__calc__add. Put that name in Options.AllowedTools to
// allow it without asking.
//
// # Arguments
//
// The arguments are a struct or a map. Their JSON Schema comes from the type:
// fields are required unless they are pointers or have omitempty or omitzero,
// the tag jsonschema:"…" describes a field to the model, enum:"a,b" lists its
// values, and a type with a method JSONSchema() json.RawMessage describes
// itself. Arguments are checked against the schema before the function is
// called. If they do not fit, the model gets a tool error and can try again. A
// type that has no schema, such as one with a channel or an interface with
// methods, is reported when the session starts.
//
// # Results
//
// A function may return any type. A string is text. Anything else is text in
// JSON, and if that is an object, it is also the structured content of the
// result, which programs find in the transcript. For images, resources and
// several pieces, return a [*Result]. A returned error is a tool error that
// the model reads, and so is a panic: neither ends the session.
//
// # Running
//
// Calls run in parallel if the CLI makes them in parallel, which it does for
// tools marked [Tool.ReadOnly]. The context ends when the turn is interrupted
// and when the session ends. It has the session ([claude.SessionFrom]), the id
// of the call in the transcript ([UseID]) and the request ([Request]);
// [ReportProgress] tells the CLI how far a long call has got.
//
// # Servers
//
// A [Server] is a set of tools that may change while sessions use it: the next
// turn sees the change. Inside it is a server of the official MCP SDK. You can
// use any other such server as well; see [Mount] and [AddTo].
package tool
