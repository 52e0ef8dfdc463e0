//go:build unix

package policy_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// nobody takes the rights of root from a command: a spelling that hits more than
// it should must not reach the system. The directory becomes its own.
func nobody(cmd *exec.Cmd, dir string) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() != 0 {
		return nil
	}
	const id = 65534
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: id, Gid: id}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, id, id)
	})
}

// endGroup ends what a command has left running, such as a process substitution that
// waits for a reader.
func endGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // most leave nothing
	}
}
