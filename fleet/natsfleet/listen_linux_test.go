package natsfleet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
)

// listeners are the sockets of a process on which it waits for connections.
func listeners(t *testing.T, pid int) (found []string) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d", pid)
	files, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		t.Fatal(err)
	}
	own := make(map[string]bool)
	for _, f := range files {
		if target, err := os.Readlink(filepath.Join(dir, "fd", f.Name())); err == nil { // it may be closed again
			own[target] = true
		}
	}
	// The columns of what waits for connections, and of the socket's number.
	for table, at := range map[string]struct {
		state  int
		waits  string
		number int
	}{"tcp": {3, "0A", 9}, "tcp6": {3, "0A", 9}, "unix": {3, "00010000", 6}} {
		text, err := os.ReadFile(filepath.Join(dir, "net", table))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) > at.number && fields[at.state] == at.waits && own["socket:["+fields[at.number]+"]"] {
				found = append(found, table+" "+line)
			}
		}
	}
	return found
}

// A worker opens no port, and neither does its CLI. A server that is started does.
func TestNothingListens(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	if len(listeners(t, os.Getpid())) == 0 {
		t.Fatal("this process has a server, and no listener is found; this test shows nothing")
	}
	p := startWorkerProcess(t, workerRole{URL: c.URL(), Answers: true})
	if text, err := answer(t.Context(), connect(t, c.URL()), "ada", "one"); err != nil || text != "heard one" {
		t.Fatalf("%q, %v", text, err)
	}
	if found := listeners(t, p.cmd.Process.Pid); len(found) > 0 {
		t.Errorf("a worker listens: %q", found)
	}
}
