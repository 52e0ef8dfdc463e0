package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/long"
)

// smallDisk names the variable that makes a test the process that has a small disk, and
// where that is.
const smallDisk = "SANDBOX_SMALL_DISK"

// A disk that is full elsewhere is an error that names the step, and nothing is left there:
// neither a part of the files nor a CLI.
func TestSuperviseFullDisk(t *testing.T) {
	long.Test(t, "needs a file system of its own")
	disk := os.Getenv(smallDisk)
	if disk == "" {
		withSmallDisk(t)
		return
	}
	if err := syscall.Mount("small", disk, "tmpfs", 0, "mode=700,size=64k"); err != nil {
		t.Fatal(err)
	}
	defer syscall.Unmount(disk, syscall.MNT_DETACH)
	session := filepath.Join(t.TempDir(), "session")
	if err := os.WriteFile(session, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	started := filepath.Join(t.TempDir(), "started")
	t.Setenv("TMPDIR", disk)
	o := elsewhere(t, patience)
	l := &claude.Launch{Files: []claude.LaunchFile{{Name: "session", Path: session}}}
	go func() { // it is not read to its end
		c := chunks{o.in}
		_ = errors.Join(writeTask(o.in, task{Path: "/bin/touch", Args: []string{started}, Dir: "/"}), l.WriteFiles(c), c.Close())
	}()
	if code := o.ended(t); code != 125 || !strings.Contains(o.errs.String(), "place the files") || !strings.Contains(o.errs.String(), syscall.ENOSPC.Error()) {
		t.Errorf("exit code %d: %s", code, o.errs.String())
	}
	if left, err := os.ReadDir(disk); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if _, err := os.Stat(started); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the CLI was started: %v", err)
	}
}

// withSmallDisk runs the test that calls it in a process with mounts of its own.
func withSmallDisk(t *testing.T) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), smallDisk+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
}
