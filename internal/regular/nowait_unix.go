//go:build unix

package regular

import "syscall"

// noWait opens a file at once, even when it is a pipe that nobody writes to.
const noWait = syscall.O_NONBLOCK
