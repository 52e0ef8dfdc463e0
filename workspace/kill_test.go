package workspace

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/store"
)

// victim names the variable that makes the test binary a process which opens or saves a
// folder and kills itself: what it does, the steps it takes, and where.
const victim = "WORKSPACE_VICTIM"

func TestMain(m *testing.M) {
	if work := os.Getenv(victim); work != "" {
		if err := playVictim(strings.Split(work, "|")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func playVictim(work []string) error {
	do, root, shared := work[0], work[2], work[3]
	if do == "worktree" {
		w, err := NewWorktrees(context.Background(), WorktreeOptions{Repo: shared, Root: root})
		if err == nil {
			_, err = w.Open(context.Background(), "k")
		}
		return err
	}
	left, err := strconv.Atoi(work[1])
	if err != nil {
		return err
	}
	step := func(what string) error {
		if left--; left < 0 {
			fmt.Println(what)
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			if err != nil {
				return err
			}
			select {} // until the signal comes
		}
		return nil
	}
	var w *Snapshots
	if len(work) > 4 {
		w, err = travellingIn(work[4], root, shared, step)
	} else {
		w, err = NewSnapshots(SnapshotOptions{Root: root, Records: store.Files(shared), Project: "p", Blobs: FileBlobs(filepath.Join(shared, "blobs")), step: step})
	}
	if err != nil {
		return err
	}
	d, err := w.Open(context.Background(), "k")
	if err == nil && do == "save" {
		err = d.Save(context.Background(), store.Fence{})
	}
	return err
}

// TestKilledProcesses kills processes with SIGKILL at every step of a save and of a
// restore. Whatever they have done, the next process finds a whole state.
func TestKilledProcesses(t *testing.T) {
	long.Test(t, "starts and kills processes")
	first, second := states()
	for _, do := range []string{"save", "restore"} {
		for n := 0; ; n++ {
			dir, root := t.TempDir(), t.TempDir()
			worker := func(root string) *Snapshots {
				t.Helper()
				w, err := NewSnapshots(SnapshotOptions{Root: root, Records: store.Files(dir), Project: "p", Blobs: FileBlobs(filepath.Join(dir, "blobs"))})
				if err != nil {
					t.Fatal(err)
				}
				return w
			}
			d := open(t, worker(root), "k")
			write(t, d.Path(), first)
			save(t, d)
			old := readTree(t, d.Path())
			if do == "restore" {
				d = open(t, worker(t.TempDir()), "k")
			}
			write(t, d.Path(), second)
			fresh := readTree(t, d.Path())
			if do == "restore" {
				save(t, d)
			}
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%d|%s|%s", victim, do, n, root, dir))
			out, err := cmd.CombinedOutput()
			if err != nil && cmd.ProcessState.Exited() {
				t.Fatalf("%s, %d steps: %v: %s", do, n, err, out)
			}
			elsewhere := readTree(t, open(t, worker(t.TempDir()), "k").Path())
			here := readTree(t, open(t, worker(root), "k").Path())
			which := func(state tree) string {
				switch {
				case maps.Equal(state, fresh):
					return "new"
				case maps.Equal(state, old):
					return "old"
				}
				return "a mix"
			}
			if err != nil {
				t.Logf("| %s | killed at step %d: %s | this machine: %s | another: %s |", do, n+1, strings.TrimSpace(string(out)), which(here), which(elsewhere))
			}
			switch {
			case !maps.Equal(here, fresh):
				t.Errorf("%s, killed after %d steps: the same machine has %q", do, n, here)
			case do == "save" && err != nil && !maps.Equal(elsewhere, old) && !maps.Equal(elsewhere, fresh), (do == "restore" || err == nil) && !maps.Equal(elsewhere, fresh):
				t.Errorf("%s, killed after %d steps: another machine has %q", do, n, elsewhere)
			}
			if err == nil {
				t.Logf("%s: killed after each of %d steps", do, n)
				if n < 6 {
					t.Errorf("%s has only %d steps", do, n)
				}
				break
			}
		}
	}
}
