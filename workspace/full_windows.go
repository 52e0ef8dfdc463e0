package workspace

import "syscall"

// errQuota is the system's error for a full disk, ERROR_DISK_FULL: it has a number of its
// own there.
const errQuota = syscall.Errno(112)
