// Package mirror copies the transcript of a running session into a store.
//
// The CLI writes each line of its transcripts twice: to a file, and to its
// output, in frames of type transcript_mirror. The reader hands the frames to
// [Mirror.Put], which only queues them. One goroutine reads them, makes a batch
// of all that arrived since the last one, and stores the batches one after
// another, so that a slow store gets few and large ones.
//
// # Gathering
//
// The CLI writes several frames in a row. The first of them waits a few milliseconds
// for the others, and they become one batch. No caller is delayed by that: frames
// are stored at once when a caller waits for them, when the CLI asks something,
// because its tools may run next, when the mirror is closed, and when they fill a
// batch. Until then they are in memory only, as all frames are that a working store
// does not have yet; the journal is for a store that does not work.
//
// # Nothing is dropped
//
// A batch that cannot be stored stays at the head of the queue and is tried
// again, with pauses that grow. It keeps its id, so a batch that was stored
// although the store reported an error is not stored twice. From the first
// failure until the queue is empty again, everything in it is also in a journal
// on disk: the program may be killed before the store is back. Only the batch that
// is being tried stays in memory; the others are read back when it is their turn.
//
// # Barriers
//
// Frames are counted. Code that must not continue before something is stored asks
// for the count and calls [Mirror.Wait] with it. The wait ends with an error
// when the store has taken nothing for Config.GiveUp, beginning with the first
// batch that it was given; the mirror keeps trying anyway, until it is closed.
//
// # Leases
//
// Unless the caller has a lease, and passes its fence, the mirror acquires one
// for each session that it stores, under the id of the session, and renews it.
// When a lease is lost or the session was deleted, the mirror stores nothing more.
package mirror
