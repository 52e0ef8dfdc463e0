// Package redisstore keeps the transcripts of sessions in Redis.
//
//	db, err := redisstore.Open(ctx, "redis://cache.internal:6379/0")
//
// It is a separate module, so that programs that do not use it do not link a
// Redis client.
//
// # Durability
//
// Appended entries are as durable as the server is configured to make them:
// with "appendonly yes" and "appendfsync always" they survive a crash of the
// machine; with the defaults of Redis the last minutes may be lost. Turn
// eviction off ("maxmemory-policy noeviction"): a transcript must not vanish
// because memory is short. [Open] refuses a server that may remove any key, and a
// transcript whose entries are gone is reported as damaged ([store.ErrDamaged]).
//
// # Atomicity and clusters
//
// Every change is a script, which Redis runs as a whole. All keys of a project
// have the same hash tag, so a project is on one node of a cluster, and
// projects are spread over all nodes. The time of leases is the server's.
//
// # Watching
//
// The script that makes a change publishes it on a shard channel of the project,
// so [Store.Watch] reports changes in the order in which they are made. A user with
// access lists needs the channels "&claude:*".
package redisstore
