// Package s3store keeps the transcripts of sessions in S3, or in any server
// that speaks its protocol and supports conditional writes.
//
//	db := s3store.New(s3.NewFromConfig(cfg), "my-bucket", "agents/")
//
// It is a separate module, so that programs that do not use it do not link an
// S3 client.
//
// # What the server must do
//
// It must honour If-None-Match: * and If-Match when an object is written, must
// show a write to every later read and list, and must report its time. S3
// and current versions of MinIO, Ceph and R2 do. A store tries the
// conditions before its first write, and refuses a server that ignores them
// with [ErrUnconditional].
//
// # Layout
//
// A session has one object, its head, which lists everything else: the parts
// that hold the entries, the summary, and whether it was deleted. A batch is
// written as a new part, and stored once the head lists it. The head changes by
// compare-and-set, so all writers, compactions and deletions happen in one
// order, and none of them is half visible. When a transcript has many parts,
// Append merges some; [Store.Compact] merges all. Old parts are removed
// afterwards. A process that dies at the wrong moment leaves a part behind that
// no head lists. It does no harm, but takes up space until the session is
// deleted.
//
// # A fleet
//
// A fleet of conversations also needs records, which change several at a time and are
// watched. A bucket can do neither, so another store keeps them, and the leases with them:
//
//	db := store.Join(s3store.New(client, "my-bucket", "agents/"), database)
//
// # Working files
//
// [NewBlobs] keeps the contents of working folders in a bucket, for the snapshots of
// package workspace. The records that name them may be in any store.
//
// # Time and leases
//
// The clock is the server's, in whole seconds, so a lease may last a second
// longer than it should, but never shorter.
//
// A write under a fence is as strict as in the other stores. A lease lists the
// objects that its owner may write: the first write to each session under a
// lease takes two more requests. The next owner marks these objects
// with its own token before Acquire returns; Release does the same. A write that
// is under way then finds its object changed and is refused.
package s3store
