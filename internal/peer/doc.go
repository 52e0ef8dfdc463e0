// Package peer correlates control requests in both directions over one stream
// of lines. It serves both sides: the SDK is one, package host the other.
//
// # Who runs what
//
// One goroutine at a time is the reader. It classifies lines and routes them: a
// reply goes to its waiter, a message is handed to the [Handler], which must
// not block. When it has read a request it makes another goroutine the reader,
// and only then handles the request. So the reader never waits for a consumer
// or for a write. There is one exception, because waking up another goroutine
// takes longer than most handlers do: while handlers return at once, the reader
// handles a request itself and then reads on. A handler that does not return
// loses the role within milliseconds, and the next ones do not get it.
//
// Each incoming request is handled in a goroutine that does nothing else, with
// a context that ends when the request is cancelled by the other side or the
// peer closes. It is answered at most once, by the first of: the handler, the
// handler's timer, a cancel (which forbids any answer), or the close.
//
// Callers of [Peer.Call] write from their own goroutine and wait for the
// reply, their context or the close.
//
// # One state
//
// Everything that changes is in one struct behind one mutex. It is touched only
// in short critical sections, which call no other code and never write.
//
// # Order
//
// Until [Peer.Open] the peer is held: only the first call (the handshake) goes
// out, others wait in a bounded queue and are written in order, without
// waiting for replies in between, once it opens. A reply is delivered after
// every message read before it was handed over.
package peer
