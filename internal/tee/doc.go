// Package tee sits between an SDK and the CLI, passes everything on and records
// it.
//
// # Nothing changes
//
// Bytes go through as they come, in both directions and for standard error:
// nothing is parsed, held back or put together on the way. The recording is made
// from copies, by a goroutine of its own, so a slow disk delays neither side. The
// end of one stream is passed on as the end of that stream; a side that can no
// longer be written to is closed for the writer as well. Signals go to the child,
// and [Run] returns its exit code, or the signal that ended it.
//
// What differs from a CLI without a tee: it leads a process group of its own,
// and gets SIGTERM if the tee is killed (Linux). Helpers of the CLI that hold its
// pipes open after its exit are waited for two seconds, not forever.
//
// # The recording
//
// The format is that of claudetest.Record: one JSON object per line, written with
// one call, so that a recording that stops is whole up to its last line. Other
// lines are about the process: {"stderr":"a line"}, {"exit_code":1},
// {"exit_code":137,"signal":"killed"} and {"lost_bytes":4096}.
//
// Secrets are hidden, also those that are spread over the pieces of a streamed
// block. So the lines of a block, and those behind them, are written when the block
// stops; of one that never stops, when its message or the turn ends, at 32 MiB, or at
// the end of the output. What then may be the beginning of a secret is hidden too,
// and later pieces of the block are recorded without their text.
//
// Up to 64 MiB wait for a slow disk; then bytes are left out and counted. After
// the first failed write nothing more is written. Neither affects the session.
package tee
