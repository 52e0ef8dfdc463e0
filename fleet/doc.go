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
// A conversation is not a process. It is a transcript in a store, a queue of prompts
// and a list of questions to people, and at most one CLI runs for it, anywhere. It
// sleeps when it has nothing to do and wakes where there is room.
//
// # Keys and tenants
//
// You choose the key of a conversation: a name such as "user-42", or a tenant
// and a name, such as "acme/user-42". A conversation begins with its first
// prompt. [Fleet.Tenant] sees only the conversations of one tenant.
//
// The tenant and the name each have 1 to 120 bytes: ASCII letters and digits and the
// characters -_.@+=:,~ with a letter or digit first. So an e-mail address or the id of
// a chat channel can be a name. Any other key is refused with a [*ConversationError]
// that explains what is wrong with it, and matches [store.ErrInvalid] and
// [*store.KeyError].
//
// # Prompts
//
// A prompt is accepted when it is written to the store; then [Fleet.Send] returns. The
// prompts of a conversation run one after another, in the order in which they were
// accepted. If the conversation is awake here and idle, a prompt begins at once.
// [Fleet.Prompt] finds the [Ticket] of each. Queues are bounded, for back pressure:
// when one is full, a prompt is refused with an [*OverloadedError], which estimates how
// long to wait.
//
// # Events
//
// [Fleet.Events] yields the history of a conversation from the store, and then what is
// being said, while it is written. It is made for pages. [Fleet.Fork] continues a
// conversation in another one, [Fleet.Resume] continues a session that began in the CLI
// without a fleet, and [Fleet.Delete] removes a conversation with everything that
// belongs to it.
//
// # How many run at once
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
// continues where this one stopped. The records, and then the transcript, show what
// happened to a prompt that had begun:
//
//   - If it left no trace, it is sent again.
//   - If it was answered, it keeps its answer and is not run again.
//   - If its turn broke off, the CLI continues it. The model reads that the
//     outcome of a call that broke off is unknown, even of one that began in the
//     moment before and is not in the transcript.
//   - If it broke off while a person was asked about a call, the question stays
//     open, and the call is made once it is decided.
//
// If a prompt begins again and again without progress and never ends, its conversation
// is stuck: it does nothing, shows why, and waits for [Fleet.Retry] or [Fleet.Cancel].
// An attempt that Close cut off does not count.
//
// Several fleets may share a store. Each conversation has a lease, so that only
// one of them runs it. A fleet that cannot renew a lease in time kills the CLI,
// and no tool begins while the lease is in doubt.
//
// # People
//
// With Options.Gate, people decide about tool calls; see package approval. A call that
// is not decided in time is deferred: the CLI ends, the conversation sleeps with its
// question, and a decision wakes it, days later if need be. Prompts that arrive in the
// meantime wait behind the question.
package fleet
