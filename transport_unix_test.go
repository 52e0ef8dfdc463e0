//go:build unix

package claude_test

import "syscall"

// ownSession starts a process out of reach of signals to the group.
var ownSession = &syscall.SysProcAttr{Setsid: true}
