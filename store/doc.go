// Package store keeps the transcripts of sessions outside the machine that runs
// them, so that a session survives its process, its disk and its host.
//
//	db := store.Files("/var/lib/agents")            // or Memory, or a separate module: sqlstore, redisstore, s3store
//	err := db.Append(ctx, key, store.Batch{Entries: lines})
//	for entry, err := range store.Entries(ctx, db, key) { … }
//
// # What a store holds
//
// A transcript is a sequence of entries, under a [Key] that you choose: a
// project (a tenant, a repository, an environment), a session id, and for a
// subagent of the session a path below it. An [Entry] is a line that the CLI
// wrote. A store returns the same bytes in the same order: the model's prompt
// cache depends on every one of them.
//
// # What every store promises
//
// [Transcripts.Append] stores all of a batch or nothing. It may be repeated: a batch
// whose id is known is not stored again, and neither is an entry whose uuid
// the transcript already has. Entries without a uuid are kept each time they
// arrive, because the last one counts. Once Append has returned nil, the batch
// is durable, as far as the store makes anything durable.
//
// # One owner
//
// Nothing keeps two processes from resuming the same session; both would
// succeed, and the work of one would be lost silently. So a store has [Leases]: it
// gives a name to one owner at a time, for a time measured by the store's own clock. Each [Lease] has a token that is higher than all before
// it. A batch carries the token in its [Fence], and the store refuses batches
// from an owner that has been replaced, however late they arrive.
//
// # Records
//
// [Records] are small values that change by compare-and-set, for everything
// besides transcripts: queues, questions, states of conversations. Several of them
// change together or not at all, a [View] shows them as they were at one moment, and
// those who watch a project learn what others change.
//
// A fleet may keep its transcripts in one store, such as a bucket, and everything else in
// another: see [Join].
//
// # Your own store
//
// There are three contracts: [Transcripts], [Leases] and [Records]. A session needs the
// first two ([Sessions]), a fleet all three ([Fleet]). Two functions are enough for a
// [Basic] store, which keeps and resumes sessions. Package storeimpl has what the stores of
// this module share. Package storetest has the contracts as tests:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, storetest.Target{Open: func(t *testing.T) store.Fleet { return open(t) }})
//	}
package store
