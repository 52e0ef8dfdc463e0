// Package proc runs the CLI as a child process: it finds the program, starts
// it, carries bytes in and out, and makes sure that it ends.
//
// The package knows nothing of the protocol. It moves bytes; lines and frames
// are made above it.
//
// # Finding
//
// [Find] looks where the child itself would look: PATH and HOME come from the
// environment that the child will get, not from this process. A program in the
// current directory is never run because PATH holds "." or an empty entry.
//
// # Starting
//
// [Start] takes a [Command] and returns a [Process]. Failures name the culprit:
// a missing program is a [*NotFoundError], a bad working directory a
// [*DirError], everything else the system refuses a [*StartError] with a
// reason.
//
// The child leads a process group of its own, so that signals reach its helpers
// and a Ctrl-C at the terminal does not reach it. On Linux it gets SIGTERM when
// this process dies, even by SIGKILL. The kernel ties that promise to the
// thread that started the child, not to the process, so that thread is locked
// and kept until the child has exited. On Windows a job object does both.
//
// # Bytes
//
// The three pipes belong to this package. Exit and end of output are separate
// events: bytes that were written before the exit can be read after it, however
// late. A descendant that was not found after the exit may hold the pipes open;
// they are drained for at most [Command.Drain] and then closed.
//
// Standard error is always read, even if the caller does not want it: a full pipe
// would stop the child. Its end is kept for error reports, without secrets.
//
// Writing to a child that has gone is an error (EPIPE). It cannot kill this
// process: the Go runtime turns EPIPE into a deadly SIGPIPE only for file
// descriptors 1 and 2, and these pipes are never either of them.
//
// # Ending
//
// The polite way comes first and belongs to the caller: [Process.CloseWrite],
// then some patience. [Process.Stop] continues from there: SIGTERM to the group,
// [Command.Term] of patience, SIGKILL to the group. The order matters. The CLI
// runs shell commands in sessions of their own, out of reach of a group signal;
// newer ones end them when they handle SIGTERM, and none does when it is killed.
//
// Whichever way the child ends, by Stop or by itself, the processes it leaves
// behind are ended after it: those in its group, and those found by a random mark
// that every descendant inherits in its environment (Linux only). They get
// SIGTERM, and SIGKILL after [Command.Drain]. Only then is the child reaped, so
// that its process id cannot be reused in the meantime.
//
// Every child is reaped, even if [Process.Wait] is never called.
//
// # Goroutines
//
// A Process owns one goroutine that waits for the exit (on a locked thread),
// one that reads standard error and, with a [Command.Stderr] callback, one that
// calls it. The first two end in bounded time after the exit, at once if nothing
// was left behind; the third when the callback has returned.
package proc
