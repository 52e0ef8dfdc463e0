package proc

import "golang.org/x/sys/unix"

// Hide keeps other processes of the same user, what this one starts among them, from reading
// its environment and its memory: /proc and debuggers are closed to them. The processes that
// it starts stay as open as ever. Root is not kept out.
func Hide() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// AdoptOrphans makes this process the parent of whatever loses its own below it. It has to
// collect them.
func AdoptOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }
