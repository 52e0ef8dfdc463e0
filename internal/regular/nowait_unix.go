//go:build unix

package regular

import "syscall"

// noWait opens a file at once, even if it is a pipe without a writer.
const noWait = syscall.O_NONBLOCK
