// Package approval puts an agent's tool calls before people and keeps the
// questions until they are answered, for as long as that takes.
//
//	inbox := approval.NewQuestions(db, "tenant-7") // any store with records
//	for q, err := range inbox.List(ctx, approval.Filter{States: approval.Waiting()}) { … }
//	q, err := inbox.Decide(ctx, id, approval.Answer{Decision: permission.Allow(), By: "ada", Digest: shown})
//
// # A question
//
// A [Question] is one call that a person must decide: which conversation asks,
// which tool, with what input. It lives in the records of a store, so it
// outlives the process that asked, and everyone who can open the store sees
// the same inbox. A question is
//
//   - [StateOpen] until a person decides,
//   - [StateDecided] until its call learns the decision,
//   - [StateReleased] while the call runs,
//   - [StateSettled] when it is known how the call ended,
//   - [StateGone] if it can no longer be decided: it expired, the agent withdrew it,
//     or its conversation was deleted.
//
// Each step is one compare-and-set. If two people decide at the same moment,
// one wins, and the other gets a [*DecidedError] with the winner's name.
//
// # At most once
//
// [Questions.Release] is a write-ahead record: it stores that a call may run
// before the call is allowed to. If the machine dies after that, it is unknown
// whether the tool ran. Asked about the same call again, the inbox denies it
// and tells the model that the outcome is unknown. Only a call that the
// question marks as repeatable is allowed a second time.
//
// # What was shown is what runs
//
// A decision names the [Digest] of the input that the person saw. If it is
// not the input of the question, [Questions.Decide] returns [ErrChanged].
package approval
