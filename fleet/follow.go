package fleet

import (
	"context"
	"iter"
)

// Events yields what was said in a conversation after a place, and then what is
// being said, until ctx ends or the loop is left.
//
// Stored events come from the transcript, so each comes once and none is left
// out, whichever process runs the conversation, even when it changes hands. An
// event is seen once it is stored: at the latest when its turn ends.
//
// If the conversation runs in this process, or in one that Options.Bus reaches, and
// its options set [claude.Options.PartialMessages], live events also show an answer
// while it is written. A loop that begins in the middle of an answer gets all of it.
// Once a block was yielded as stored, no live event of it follows. A slow loop delays
// no other reader: it gets more text at a time, or only the stored event.
//
// Errors: [ErrUnknown], [ErrDeleted], those of the store, ctx.
func (f *Fleet) Events(ctx context.Context, key string, after Cursor) iter.Seq2[ConversationEvent, error] {
	return func(yield func(ConversationEvent, error) bool) {
		at, err := parseCursor(after)
		if err != nil {
			yield(ConversationEvent{}, &ConversationError{key, err})
			return
		}
		if err := checkKey(f.opts.Project, key); err != nil {
			yield(ConversationEvent{}, err)
			return
		}
		c := f.roster.hold(key)
		defer f.roster.unhold(c)
		defer f.news.followLive(ctx, c)()
		r := &eventReader{records: f.records, poll: f.ear.pollEvery, busy: func() bool { return f.roster.busy(c) }, key: key, at: at, yield: yield}
		if err := r.follow(ctx, c); err != nil {
			yield(ConversationEvent{}, err)
		}
	}
}

// Outcomes yields how the prompts of all conversations end, whichever process has sent
// them and runs them, until ctx ends or the loop is left: first those that have ended
// since a place, then each one as it ends. A service that stores the Cursor of the last
// outcome it has dealt with can restart without a list of prompts of its own. The zero
// Cursor is the oldest outcome that the store has.
//
// If all processes of the fleet are of a version that has Outcomes, it yields every
// prompt for which [Fleet.Wait] would return an outcome at least once, in the order of
// each conversation; only a prompt that is cancelled before it begins may come earlier
// than others that ended just before. A prompt on which its conversation gets stuck is
// yielded with [PromptStuck] at that time, and again when it ends. Deletions are also
// yielded. After a crash, an outcome may come twice: compare Ticket.Prompt.
//
// Nothing is lost when many processes end prompts at the same time, because an outcome
// gets its place only after it is stored: the process that ends a prompt writes a mark
// together with the outcome, and readers of outcomes append the marks to a log, by
// compare-and-set. So no outcome can appear before a place that a reader has passed,
// and no clock matters.
//
// Outcomes are kept for Options.Keep. For a deleted conversation the store keeps the
// key, the id of each prompt and its status for as long, and nothing that was said;
// with [KeepForever], for 30 days. An older cursor fails with [ErrCursorTooOld]: begin
// again with the zero Cursor, and ask [Fleet.Prompt] about prompts whose outcomes you
// have not seen.
//
// An unreachable store is asked again. An outcome whose record is damaged or of a newer
// version comes with [store.ErrDamaged] or [store.ErrNewer], and with its Cursor, Key,
// and the Prompt, Status and Ended of its ticket: continue the loop for those behind
// it. All other errors end the loop, and have no Cursor: [ErrCursorTooOld],
// [ErrClosed], those of a log that cannot be read, ctx.
func (f *Fleet) Outcomes(ctx context.Context, after Cursor) iter.Seq2[PromptOutcome, error] {
	return f.outcomesOf(ctx, after, func(string) bool { return true })
}

// outcomesOf yields the outcomes of some conversations.
func (f *Fleet) outcomesOf(ctx context.Context, after Cursor, wanted func(key string) bool) iter.Seq2[PromptOutcome, error] {
	return func(yield func(PromptOutcome, error) bool) {
		r := &outcomeReader{reports: f.reports, log: f.log, wanted: wanted, yield: yield}
		err := r.begin(after)
		if err == nil {
			err = r.follow(ctx)
		}
		if err != nil {
			yield(PromptOutcome{}, err)
		}
	}
}
