package proc

import (
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
)

// The mark decides, then whether there is an environment without it. Only a process that
// has a program, and nothing else yet, is waited for.
func TestVerdicts(t *testing.T) {
	for i := range 16 {
		s := snapshot{marked: i&1 != 0, environ: i&2 != 0, program: i&4 != 0, arguments: i&8 != 0}
		want := foreign
		switch s {
		case snapshot{program: true}:
			want = executing
		case snapshot{program: true, arguments: true}:
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

// However many processes look for ever as if they became another program, one search waits
// for all of them together no longer than for one. One that gets there in time is found.
func TestManyThatNeverGetThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		ours := finder(func(pid int) snapshot {
			return snapshot{program: true, marked: pid == 0 && time.Since(begin) >= executingBound/2}
		})
		for pid := range 1000 {
			if got := ours(pid); got != (pid == 0) {
				t.Fatalf("process %d: %v", pid, got)
			}
		}
		if took := time.Since(begin); took < executingBound || took > executingBound+executingPause {
			t.Errorf("the search waited for %v", took)
		}
	})
}

// A program without an environment is looked at a few times, because it may have got one
// since, and not for ever.
func TestBareProgram(t *testing.T) {
	for n := 1; n <= bareLooks+1; n++ {
		looks := 0
		found := finder(func(int) snapshot {
			looks++
			return snapshot{program: true, arguments: true, marked: looks == n}
		})(1)
		if found != (n <= bareLooks) || looks != min(n, bareLooks) {
			t.Errorf("its environment is there at look %d: found %v after %d looks", n, found, looks)
		}
	}
}

// What /proc shows of processes that are not ours, most of which have no environment.
func TestSnapshotsOfOthers(t *testing.T) {
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
	g := &group{mark: "snapshots"}
	for pid, want := range map[int]snapshot{
		zombie.Process.Pid: {environ: true}, bare.Process.Pid: {program: true, arguments: true},
		os.Getpid(): {environ: true}, 1 << 30: {environ: true},
	} {
		if got := g.snapshot(pid); got != want {
			t.Errorf("process %d: %+v, want %+v", pid, got, want)
		}
		if g.marked()(pid) {
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
	most := time.Duration(long.Pick(200, 1000)) * time.Millisecond
	for begun := time.Now(); time.Since(begun) < most || looks < 100; looks++ {
		if !g.marked()(cmd.Process.Pid) {
			missed++
		}
	}
	if missed > 0 {
		t.Errorf("%d of %d looks did not find the mark", missed, looks)
	}
}
