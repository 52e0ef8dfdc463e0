// Package sqlstore keeps the transcripts of sessions in a SQL database: SQLite in
// a file, or Postgres.
//
//	db, err := sqlstore.Open(ctx, "postgres://agent@db.internal/agents")
//	db, err := sqlstore.Open(ctx, "sqlite:/var/lib/agents.db")
//
// It is a module of its own, so that programs which do not use it link no
// database driver.
//
// # Schema
//
// Open makes the tables, whose names begin with "claude_", and brings those of an
// older version up to date. Entries are kept as bytes, never as JSON columns: a
// database that sorts the members of an object costs the model's prompt cache.
// What a list shows is kept beside each transcript, so that a list reads an index
// and no entries.
//
// # Clock and leases
//
// The time of leases is that of the database server; with SQLite, which has none,
// that of the machine. A write under a fence holds the row of the lease until it
// is committed, so that nobody takes the lease over in the middle of it.
//
// # Retention
//
// Nothing is ever removed by itself. [Store.Prune] deletes the sessions of a
// project that nobody has written to for a time.
package sqlstore
