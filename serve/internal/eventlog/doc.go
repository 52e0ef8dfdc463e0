// Package eventlog keeps the log of each conversation of a server: what happened to it, in
// numbered events that clients follow and never miss.
//
// # What is stored
//
// The [Head] of a log is one record with the newest events. When it has grown long, its
// events become a segment, which never changes again. Every change is a compare-and-set
// of the head, so the numbers have no gaps even if several servers write, and an event is
// stored before anyone sees it. Texts of messages are not stored a second time: an event
// has the place of its message in the transcript, and a [Reader] fills it in. [Store]
// reads and writes these records, and walks through a long log without reading all of it.
//
// The head also has what must change together with an event: the cost of each day, how
// full the context is, the prompts that a sender is about to give to the fleet
// (acceptances), and the tombstone of a conversation that is being deleted ([Erasure]).
//
// # What is in memory
//
// A [Log] has the newest events and the states that follow from them. It brings older
// events back when they are needed, within bounds. Anyone may write: a change that
// another server has overtaken is asked for again, so that it adds only what is still
// news. [Log.Hear] takes in what the fleet reports, and keeps the text that is being
// written for as long as the transcript does not have it. [Log.Follow] yields events
// from a number on; a slow reader gets more at a time, and nothing waits for it.
//
// # What it does not know
//
// A log does not know who holds it, follows no fleet, and answers no requests. What
// it needs of the server comes in as [Hooks]; package serve keeps the logs in use, fills
// them, and compares them with the store when another server has written.
package eventlog
