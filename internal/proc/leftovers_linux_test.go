package proc

import (
	"os"
	"os/exec"
	"testing"
)

// A process that has exited is gone, even before it is reaped; one that runs is
// not.
func TestZombiesAreGone(t *testing.T) {
	cmd := exec.Command("cat")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	process, err := os.FindProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	left := leftovers{}
	defer left.release()
	left.keep(process)
	if left.gone() || exited(cmd.Process.Pid) {
		t.Error("a process that runs is gone")
	}
	stdin.Close()
	if !awaitExit(cmd.Process.Pid) {
		t.Fatal("there is no exit to wait for")
	}
	if !left.gone() || !exited(cmd.Process.Pid) {
		t.Error("a process that has exited is not gone")
	}
}
