// Package fleet runs thousands of conversations on a handful of processes.
//
//	f, err := fleet.Open(ctx, fleet.Options{
//		Store: store.Files("conversations"), Project: "prod", MaxLive: 8,
//		Session: func(ctx context.Context, key string) (*claude.Options, error) { return optionsFor(key) },
//		Gate:    &approval.Options{Patience: 2 * time.Minute},
//	})
//	for msg, err := range f.Run(ctx, "acme/user-42", "Continue where we stopped") { … }
//	…
//	err = f.Close(ctx)
//
// A conversation is not a process. It is a transcript in a store, a queue of
// prompts and a list of questions to people, and at most one CLI runs for it,
// anywhere. It sleeps when nobody needs it and wakes where there is room.
//
// # Keys and tenants
//
// You choose the key of a conversation: a name such as "user-42", or a tenant
// and a name, such as "acme/user-42". A conversation begins with its first
// prompt. [Fleet.Tenant] has the conversations of one tenant only.
//
// # Prompts
//
// A prompt is accepted when it is written to the store; then [Fleet.Send]
// returns. The prompts of a conversation run one after another, in the order in
// which they were accepted. [Fleet.Prompt] finds the [Ticket] of each. Queues
// are bounded: a prompt too many is refused with an [*OverloadedError], which
// says how long to wait.
//
// # Seats
//
// At most Options.MaxLive CLIs run at a time. A conversation with something to
// do gets the next free one: the tenant with the fewest comes first, and in a
// tenant the conversation that has waited longest. If others wait, a
// conversation gives its CLI up as soon as it is idle, and after a few prompts in
// a row even if it is not.
//
// # After a crash
//
// Everything that matters is in the store, so the next Open, on any machine,
// takes up what was left. Of a prompt that had begun, the records are asked
// first, and then the transcript:
//
//   - If there is no trace of it, it is sent again.
//   - If it was answered, it has its answer, and is not run again.
//   - If its turn broke off, the CLI continues it. The model is shown that the
//     outcome of a call that broke off is not known.
//   - If it broke off while a person was asked about a call, the question stays
//     open, and the call is made once somebody decides.
//
// A prompt that is begun again and again and never ends makes its conversation
// stuck: it does nothing, says why, and waits for [Fleet.Retry] or
// [Fleet.Cancel].
//
// Several fleets may share a store. Each conversation has a lease, so that one
// of them runs it; a fleet that cannot renew it in time kills the CLI, and no
// tool begins while the lease is in doubt.
//
// # People
//
// With Options.Gate, tool calls are put before people, see package approval. A
// call that nobody decides about in time is deferred: the CLI ends, the
// conversation sleeps with its question, and a decision wakes it, days later if
// need be. Prompts that come meanwhile stay behind the question.
package fleet
