// Package message holds everything the CLI says on its standard output,
// control frames aside, and the content blocks that users send.
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
// A turn starts with an [Init], goes on with [Assistant] and [User] lines (the
// user lines carry tool results) and ends with a [Result]. When partial
// messages are asked for, [StreamEvent] lines come in between. Everything else
// is a notice: [Status], [APIRetry], [TaskStarted] and so on. Notices can be
// skipped without losing the conversation.
//
// # Nothing is lost
//
// Every message embeds a [Header], and [Header].Raw is the line as it came.
// The CLI grows faster than any list of types, so what is unknown is normal:
// an unknown type is an [Unknown], an unknown system subtype a [System], an
// unknown content block an [UnknownBlock]. Open enumerations are strings, and
// a value without a constant stays as it is.
//
// A field of an unexpected kind costs that field only: [Decode] then returns
// both the message and an error.
//
// # Content
//
// [Content] is a list of [Block] values. The wire also allows a plain string
// in its place; it decodes to one [TextBlock].
//
// # Following a conversation
//
// Some things are spread over many messages. Each of these takes messages as
// they come, by its method Add: [ToolCalls] pairs calls with their results,
// [Draft] puts the pieces of an answer together, [Spending] adds up cost and
// tokens, [Progress] keeps the list of things to do and the tasks. [SubagentOf]
// and [TextOf] tell of one message who said it and what.
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
// Each message encodes as its Raw when it has one. To encode a message whose
// fields were changed, set Raw to nil first; fields that this package does not
// name are then left out.
//
// Messages are plain values: they may be read by several goroutines, and
// nothing in this package keeps a reference to one.
package message
