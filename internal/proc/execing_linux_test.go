package proc

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// The mark decides, then whether there is an environment without it. Only a process that
// has a program, and nothing else yet, is waited for.
func TestSights(t *testing.T) {
	for i := range 16 {
		s := sight{marked: i&1 != 0, environ: i&2 != 0, program: i&4 != 0, arguments: i&8 != 0}
		want := foreign
		switch s {
		case sight{program: true}:
			want = executing
		case sight{program: true, arguments: true}:
			want = unclear
		}
		if s.marked {
			want = ours
		}
		if got := s.verdict(); got != want {
			t.Errorf("%+v: %d, want %d", s, got, want)
		}
	}
}

// What /proc shows of processes that are not ours, most of which have no environment.
func TestSightsOfOthers(t *testing.T) {
	t.Parallel()
	zombie, bare := exec.Command("/bin/true"), exec.Command("/bin/sh", "-c", "echo up; read x")
	bare.Env = []string{}
	in, err := bare.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := bare.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []*exec.Cmd{zombie, bare} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			cmd.Process.Kill()
			cmd.Wait()
		}()
	}
	if _, err := out.Read(make([]byte, 2)); err != nil || !awaitExit(zombie.Process.Pid) {
		t.Fatalf("they do not get there: %v", err)
	}
	g := &group{mark: "sights"}
	for pid, want := range map[int]sight{
		zombie.Process.Pid: {environ: true}, bare.Process.Pid: {program: true, arguments: true},
		os.Getpid(): {environ: true}, 1 << 30: {environ: true},
	} {
		if got := g.sight(pid); got != want {
			t.Errorf("process %d: %+v, want %+v", pid, got, want)
		}
		if g.marked(pid) {
			t.Errorf("process %d is ours", pid)
		}
	}
}

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
