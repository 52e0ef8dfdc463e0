// Package message holds everything the CLI writes to its standard output,
// except control frames, and the content blocks that users send.
//
// # Messages
//
// One line of output is one [Message]. [Decode] turns the line into a concrete
// type; a type switch reads it:
//
//	switch m := msg.(type) {
//	case *message.Assistant:
//		fmt.Print(m.Text())
//	case *message.Result:
//		fmt.Println(m.NumTurns, m.TotalCostUSD)
//	}
//
// A turn starts with an [Init], continues with [Assistant] and [User] lines
// (the user lines carry tool results) and ends with a [Result]. If you ask for
// partial messages, [StreamEvent] lines come in between. Everything else is a
// notice: [Status], [APIRetry], [TaskStarted] and so on. You can skip notices
// without losing the conversation.
//
// # Nothing is lost
//
// Every message embeds a [Header], and [Header].Raw is the line as received.
// The CLI grows faster than any list of types, so unknown things are normal: an
// unknown type is an [Unknown], an unknown system subtype a [System], an
// unknown content block an [UnknownBlock]. Open enumerations are strings, and a
// value without a constant stays unchanged.
//
// A field of an unexpected kind costs only that field: [Decode] then returns
// both the message and an error.
//
// # Content
//
// [Content] is a list of [Block] values. The wire also allows a plain string
// in its place; it decodes to one [TextBlock].
//
// # Following a conversation
//
// Some things are spread over many messages. Each of these types takes messages
// as they arrive, with its method Add: [ToolCalls] pairs calls with their
// results, [Draft] assembles the pieces of an answer, [Spending] adds up cost
// and tokens, [Progress] keeps the to-do list and the tasks. For a single
// message, [SubagentOf] returns its author and [TextOf] its text.
//
// # Sending
//
// [NewUser] builds a message to send, from [Text], [Image] and [Document]
// blocks:
//
//	message.NewUser(message.Text("What is this?"), message.Image("image/png", png))
//
// # JSON
//
// Each message encodes as its Raw if it has one. To encode a message after
// changing its fields, set Raw to nil first; fields that this package does not
// name are then left out.
//
// Messages are plain values: several goroutines may read them, and nothing in
// this package keeps a reference to one.
package message
