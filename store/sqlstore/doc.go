// Package sqlstore keeps the transcripts of sessions in a SQL database: SQLite in
// a file, or Postgres.
//
//	db, err := sqlstore.Open(ctx, "postgres://agent@db.internal/agents")
//	db, err := sqlstore.Open(ctx, "sqlite:/var/lib/agents.db")
//
// It is a separate module, so that programs that do not use it do not link a
// database driver.
//
// # Schema
//
// Open creates the tables, whose names begin with "claude_", and updates those
// of an older version. Entries are kept as bytes, never as JSON columns: a
// database that reorders the members of an object would invalidate the model's
// prompt cache. What a list shows is kept beside each transcript, so listing
// reads an index and no entries.
//
// # Clock and leases
//
// The time of leases is the database server's; with SQLite, which has no
// server, it is the machine's. A write under a fence holds the row of the
// lease until it is committed, so another owner cannot take the lease in the
// middle of it.
//
// # Watching
//
// SQLite keeps the names of what was changed for a minute, and [Store.Watch] reads
// them. With Postgres, each process announces its changes with NOTIFY after their
// commit, many at once.
//
// # Retention
//
// Nothing is removed automatically. [Store.Prune] deletes the sessions of a
// project that have not been written to for a while.
package sqlstore
