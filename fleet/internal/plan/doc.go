// Package plan decides what the owner of a conversation does next.
//
// A [State] is all that is stored of a conversation, as a value: its record, its queue of
// prompts, its questions, the calls that were let go, and what its transcript shows. [Next]
// maps it to a [Decision]. It has no clock, no store and no CLI, and it remembers nothing:
// the process that takes a conversation over after a crash reads the same State and decides the
// same.
//
// # One step at a time
//
// A Decision is one of three things, and each is made under the lease:
//
//   - a [Line] that is appended to the transcript,
//   - changes of records, one after another,
//   - a [Step], which starts a CLI or ends the work.
//
// Most conversations have begun nothing when they wake, and their records are enough. So
// the owner first reads only these, and more when Next asks for it.
//
// After a line or the changes the owner looks again. Records and transcript cannot change
// together, so Next is right in between, and between two changes, wherever the owner dies.
//
// # Invariants
//
// The tests explore every order of events, crashes and takeovers for small conversations
// and hold these to be true:
//
//   - Kept: nothing that was accepted is lost, and the outcome of each prompt is what
//     really happened to it.
//   - Ordered: prompts begin in the order in which they were accepted, steering ones
//     aside, and none while the turn of another is not over.
//   - Not blind: a tool runs again only if the model can read that it may have run.
//   - Gated: a call that needs a person begins only after an allowing decision about it.
//   - Used or told: a decision is used, or stored as not used for its person to see.
//   - Questions end: at rest every question is over, or its prompt waits for it. And while
//     a CLI works, none is open that the CLI will not ask.
//   - Prompts end: at rest every prompt has an outcome, waits for a person, or its
//     conversation is stuck.
//   - Rest: it is reached from everywhere, if nothing more goes wrong.
//   - Bounded: without a person, only so many CLIs are started for a prompt.
//   - Stopped: after an interrupt was acknowledged, no other owner lets a call of its
//     turn begin, and none continues the turn.
//   - Deleted: what is deleted stays deleted, and its questions end.
//   - Together: what a turn took in ends with that turn.
package plan
