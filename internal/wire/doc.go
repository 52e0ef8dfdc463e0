// Package wire knows the frames of the control protocol: which line is which,
// and how requests, replies and cancels are written.
//
// A line becomes a [Frame] by one walk over the members of its top-level
// object; nothing inside them is decoded. What a frame carries is decoded
// later and elsewhere: messages by package message in the consumer's
// goroutine, control payloads by the code that serves or awaits them.
//
// # Frames
//
//	control_request         {"type","request_id","request":{"subtype",...}}
//	control_response        {"type","response":{"subtype","request_id","response"|"error"}}
//	control_cancel_request  {"type","request_id"}
//	keep_alive              {"type"}
//	anything else           a message
//
// # Tolerance
//
// Frames are written in the CLI's own shape. Other shapes that peers are known
// to use are also read: a request wrapped in "message", a reply with its
// request_id at the top level, a reply subtype that is neither "success" nor
// "error" (a success). The order of members carries no meaning: "type" often
// comes last. A frame whose envelope names are repeated or differ only in case
// is refused, because two readers could disagree about its meaning: by Parse, or,
// of lines that Classify recognizes by their first bytes, by their decoders. So
// is one that names a request at the top level and another one inside.
package wire
