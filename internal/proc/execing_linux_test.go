package proc

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// A process that is becoming another program has no environment for a moment. It is ours
// even then.
func TestMarkedWhileExecuting(t *testing.T) {
	t.Parallel()
	g := &group{mark: "executing"}
	cmd := exec.Command("/bin/sh", "-c", `exec /bin/sh -c "$0" "$0"`)
	cmd.Args = append(cmd.Args, cmd.Args[2])
	cmd.Env = append(os.Environ(), MarkVariable+"="+g.mark)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	looks, missed := 0, 0
	for until := time.Now().Add(time.Second); time.Now().Before(until); looks++ {
		if !g.marked(cmd.Process.Pid) {
			missed++
		}
	}
	if missed > 0 || looks < 100 {
		t.Errorf("%d of %d looks did not find the mark", missed, looks)
	}
}
