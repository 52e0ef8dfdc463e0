// Package s3store keeps the transcripts of sessions in S3, or in any server
// that speaks its protocol and supports conditional writes (If-None-Match and
// If-Match): MinIO, Ceph, R2.
//
//	db := s3store.New(s3.NewFromConfig(cfg), "my-bucket", "agents/")
//
// It is a separate module, so that programs that do not use it do not link an
// S3 client.
//
// # Layout
//
// A transcript is a sequence of parts, one for each batch. A part has the next
// number, is written only if that number is not taken, and is never changed.
// [Store.Compact] writes many parts as one, so that loading takes a few
// requests; the parts stay behind empty, because their names guard their
// numbers.
//
// # Time and leases
//
// The clock is the server's, in whole seconds, so a lease may last a second
// longer than it should, but never shorter. A write under a fence checks the
// lease before and after, and undoes what it wrote if the lease was lost in
// between. S3 cannot do more: an owner that is stopped between the two checks,
// beyond the end of its lease, and then killed, leaves a part that its
// successor has not seen. The other stores have no such gap.
package s3store
