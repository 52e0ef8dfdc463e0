// Package redisstore keeps the transcripts of sessions in Redis.
//
//	db, err := redisstore.Open(ctx, "redis://cache.internal:6379/0")
//
// It is a module of its own, so that programs which do not use it link no client
// of Redis.
//
// # Durability
//
// What was appended is as durable as the server is set up to make it: with
// "appendonly yes" and "appendfsync always" it survives a crash of the machine,
// with the defaults of Redis the last minutes may be lost. Turn eviction off
// ("maxmemory-policy noeviction"): a transcript must not vanish because memory is
// short.
//
// # Atomicity and clusters
//
// Every change is a script, which Redis runs as a whole. All keys of a project
// have the same hash tag, so a project lies on one node of a cluster and projects
// spread over all of them. The time of leases is the server's.
package redisstore
