//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package scratch

import (
	"os"
	"path/filepath"
	"syscall"
)

// claim makes the file in a folder whose lock shows that its owner is alive. The
// file gets its name once it is locked: the sweep of another process must never
// find it free.
func claim(dir string) (*os.File, error) {
	unnamed := filepath.Join(dir, lockName+".new")
	f, err := os.OpenFile(unnamed, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if !hold(f) {
		return f, nil // a file system without locks: nothing is swept
	}
	return f, os.Rename(unnamed, filepath.Join(dir, lockName))
}

// hold locks a file until it is closed, or this process is gone. The
// descriptor is not inherited, so no child keeps the lock.
func hold(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// abandoned reports whether this user made a folder and its lock is free. A
// folder without a lock may be in the making.
func abandoned(dir string) bool {
	if info, err := os.Lstat(dir); err != nil || !ownedAlone(info) {
		return false
	}
	// Something else in its place must not make us wait or follow.
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular() && info.Size() == 0 && ownedAlone(info) && hold(f)
}

// ownedAlone reports whether a file belongs to this user and is closed to all
// others, like everything that claim and Write make. The check matters for root,
// which could remove the folders of every user.
func ownedAlone(info os.FileInfo) bool {
	return ours(info) && info.Mode().Perm()&0o077 == 0
}

// ours reports whether something is this user's.
func ours(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
