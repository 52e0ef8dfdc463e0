//go:build unix

package workspace

import "syscall"

// errQuota is the system's error for a spent quota.
const errQuota = syscall.EDQUOT
