// Package inbox lies between the reader and the program's loop: a
// queue of frames in the order of the wire, bounded by bytes, that knows which
// turn each frame belongs to and which prompt each result ends.
//
// # Turns are not sends
//
// Every prompt carries an id of ours. A turn begins with system/init and ends
// with its result; the frames in between belong to it by position. A result
// ends the prompts it names: several when the CLI merged them into one turn,
// none for a turn that a background task started. CLIs that name no ids are
// followed by position: there a result ends every prompt that was sent before
// its turn began. A prompt can also end without a result, when the CLI says
// that it was cancelled, discarded or refused.
//
// # Abandoned prompts
//
// A loop that breaks off abandons its prompt. What is left of that turn, in
// the queue or still to come, is dropped, so that the next loop starts clean;
// frames of other turns and outside turns are kept.
//
// # Batches
//
// The consumer takes a stretch of the queue at a time and returns frames from
// it without asking for the lock, until something happens that may have made
// some of them unwanted.
//
// # The bound
//
// A reader that must not wait needs a bound on what it may pile up. Past it,
// partial messages (stream_event) are dropped and counted, since each is
// repeated in the whole message that follows; if that is not enough, the inbox
// is full, takes nothing more, and the session ends. One frame always has room.
// In the second half of the bound the reader is held back a little for a
// consumer that is at work, and for no other.
package inbox
