// Package natsfleet runs a fleet on many machines, with NATS JetStream between
// them.
//
// A service accepts prompts and shows what happens to them. [Connect] gives it the
// same interface as a fleet on one machine, so a program that uses
// [fleet.Conversations] does not notice the difference:
//
//	f, err := natsfleet.Connect(ctx, natsfleet.Options{URL: "nats://a:4222,nats://b:4222", Project: "prod"})
//	id, err := f.Send(ctx, "acme/user-42", fleet.Prompt{Text: "Continue where we stopped"})
//
// Workers run the conversations. You write their program, because tools and hooks
// are Go code:
//
//	w, err := natsfleet.StartWorker(ctx, natsfleet.WorkerOptions{
//		Options: natsfleet.Options{URL: "nats://a:4222,nats://b:4222", Project: "prod"},
//		Fleet: fleet.Options{MaxLive: 8, Session: func(ctx context.Context, key string) (*claude.Options, error) { return optionsFor(key) }},
//	})
//	<-stop
//	err = w.Close(ctx) // turns end, or are cut off and continue on another worker
//
// # One owner
//
// A worker takes a lease before it runs a conversation, and renews it while it
// does. What it writes carries the lease's epoch, and the server refuses a write of
// an earlier one, so a worker that was suspended and comes back stores nothing. A
// worker that cannot renew kills its CLI before the lease can expire. If a worker
// dies, another takes its conversations within the lease's time to live, by default
// 30 seconds, plus at most a second.
//
// # One stream
//
// Everything is in one stream: transcripts, prompts, their outcomes, questions to
// people, leases. The server announces each stored message, so that workers learn
// about prompts and decisions, and clients about answers. Announcements can be lost
// while a connection is down, so all of them also poll the stream now and then.
//
// Transcripts can be kept in another store with leases, see Options.Transcripts, or
// move there when they have not been used for a while, see Options.Archive.
//
// [OpenStore] gives the stream alone, as a store for anything.
//
// # In this package
//
// Each part uses only those before it: connection sends requests and repeats them while
// a server cannot be reached; stream reads and writes messages; leases fences what is
// written; records and streamed keep records and transcripts; [Store] is their door, and
// [Connect] and [StartWorker] put a fleet on it.
package natsfleet
