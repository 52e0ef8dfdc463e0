// Package inbox sits between the reader and the program's loop. It is a queue of
// frames in the order of the wire, bounded by bytes, that knows which turn each
// frame belongs to and which prompt each result ends.
//
// # Turns are not sends
//
// Every prompt carries an id that we chose. A turn begins with system/init and ends
// with its result; the frames in between belong to it by position. A result
// ends the prompts it names: several when the CLI merged them into one turn,
// none for a turn that a background task started. A prompt can also end without
// a result, when the CLI reports that it was cancelled, discarded or refused, or
// that it was completed although it has not begun: then it was answered before, in
// a process that is gone.
//
// CLIs that name no ids take prompts one by one, in order, and fold prompts that
// are sent while a tool runs into its turn. On request they echo each prompt
// where they take it, under its id: a result ends the prompts that were echoed in
// its turn. Without echoes, a turn belongs to the oldest waiting prompt, as does
// a result without a turn.
//
// # Background agents
//
// A background agent is answered by a turn of its own, some time after the
// result of the prompt that started it. NextUntilIdle reads on until none is at
// work: until the CLI reports that it is idle, or, if it never does, until no
// task is left.
//
// # Abandoned prompts
//
// A loop that breaks off abandons its prompt. The rest of that turn, in the queue
// or still to come, is dropped, so that the next loop starts clean; frames of
// other turns and outside turns are kept.
//
// # Batches
//
// The consumer takes a stretch of the queue at a time and returns frames from
// it without asking for the lock, until something happens that may have made
// some of them unwanted.
//
// # The bound
//
// A reader that must not wait needs a bound on the messages that it may pile
// up. Past it, partial messages (stream_event) are dropped and counted, since
// each is repeated in the whole message that follows; if that is not enough,
// the inbox is full, takes nothing more, and the session ends. One frame always
// has room. In the second half of the bound the reader is held back a little
// for a consumer that is at work, and for no other.
package inbox
