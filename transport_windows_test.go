package claude_test

import "syscall"

// ownSession changes nothing: here every descendant is in the job.
var ownSession = &syscall.SysProcAttr{}
