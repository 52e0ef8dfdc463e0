package server

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// nobody is the user that servers run as when the test runs as root, which they
// refuse.
const nobody = 65534

// asUser lets a command run as a user other than root.
func asUser(cmd *exec.Cmd) {
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
}

// chownToUser makes a folder of a test, with all that is in it, that user's.
func chownToUser(dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	// The folders of a test lie in one that only root may enter.
	for up := filepath.Dir(dir); up != os.TempDir() && up != filepath.Dir(up); up = filepath.Dir(up) {
		if err := os.Chmod(up, 0o711); err != nil {
			return err
		}
	}
	return filepath.Walk(dir, func(path string, _ os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	})
}

// dieWithParent lets a server end when this process does, however that ends.
func dieWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
