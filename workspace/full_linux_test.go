package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/store"
)

// smallDisk names the variable that makes a test the process that has a small disk, and
// where that is.
const smallDisk = "WORKSPACE_SMALL_DISK"

// diskBytes is the size of the disk, and page the unit in which it is filled.
const (
	diskBytes = 8 << 20
	page      = 4096
)

// TestReallyFullDisk fills a disk to the last page, then to the last but some, and so on
// until there is enough room: whatever it is that fails, it is [ErrFull], nothing is lost or
// half done, and when there is room it works.
func TestReallyFullDisk(t *testing.T) {
	long.Test(t, "needs git and a file system of its own")
	disk := os.Getenv(smallDisk)
	if disk == "" {
		ownMounts(t)
		return
	}
	for name, c := range map[string]struct {
		story func(*testing.T, string) fullStory
		pages int // from one try to the next
	}{
		"save to a full disk":                    {saveToFull, 1},
		"restore to a full disk":                 {restoreToFull, 1},
		"restore over an older folder":           {restoreOverOlder, 1},
		"worktree on a full disk":                {worktreeOnFull, 2},
		"worktree and repository on a full disk": {repositoryOnFull, 2},
		"worktree that arrives on a full disk":   {arriveOnFull, 4},
	} {
		t.Run(name, func(t *testing.T) {
			failed := 0
			for room := 0; ; room += c.pages * page {
				if room > diskBytes {
					t.Fatal("it never works")
				}
				if !oneFullDisk(t, disk, room, c.story) {
					break
				}
				failed++
			}
			if failed < 3 {
				t.Errorf("it failed %d times: the test shows little", failed)
			}
			t.Logf("it failed with room for 0 to %d pages", (failed-1)*c.pages)
		})
	}
}

// fullStory is what is tried on a full disk.
type fullStory struct {
	try  func() error
	kept func(t *testing.T) // looks at what must be as it was before
	then func(t *testing.T) // looks at what must be there after a try with enough room
}

// oneFullDisk tries with that much room, and reports whether it failed.
func oneFullDisk(t *testing.T, disk string, room int, story func(*testing.T, string) fullStory) (failed bool) {
	t.Helper()
	if err := syscall.Mount("small", disk, "tmpfs", 0, fmt.Sprint("mode=700,size=", diskBytes)); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Fatal(err)
		}
	}()
	s := story(t, disk)
	filler := fillUp(t, disk, room)
	err := s.try()
	if err != nil {
		if !errors.Is(err, ErrFull) {
			t.Errorf("room for %d pages: %v", room/page, err)
		}
		s.kept(t)
	}
	if gone := os.Remove(filler); gone != nil {
		t.Fatal(gone)
	}
	if err == nil {
		s.then(t)
		return false
	}
	s.kept(t)
	if err := s.try(); err != nil {
		t.Fatalf("room for %d pages, and then enough: %v", room/page, err)
	}
	s.then(t)
	return true
}

// fillUp takes the room of a disk, but for some bytes.
func fillUp(t *testing.T, disk string, room int) (filler string) {
	t.Helper()
	filler = filepath.Join(disk, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var s syscall.Statfs_t
	if err := syscall.Statfs(disk, &s); err != nil {
		t.Fatal(err)
	}
	if free := int64(s.Bavail)*int64(s.Bsize) - int64(room); free > 0 {
		if err := syscall.Fallocate(int(f.Fd()), 0, 0, free); err != nil {
			t.Fatal(err)
		}
	}
	return filler
}

// ownMounts runs the test that calls it in a process with mounts of its own.
func ownMounts(t *testing.T) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), smallDisk+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+"/") {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// bulky are files that take some pages.
func bulky(mark string) map[string]string {
	files := make(map[string]string)
	for i := range 6 {
		files[fmt.Sprintf("d%d/f%d", i%3, i)] = strings.Repeat(fmt.Sprint(mark, i, " "), 2000)
	}
	return files
}

// quiet are options that log nothing: warnings are expected.
func quiet(o *SnapshotOptions) { o.Logger = slog.New(slog.DiscardHandler) }

func saveToFull(t *testing.T, disk string) fullStory {
	s := newShared(t)
	s.blobs = FileBlobs(filepath.Join(disk, "blobs"))
	d := open(t, s.worker(t, t.TempDir(), quiet), "k")
	write(t, d.Path(), bulky("old"))
	save(t, d)
	old := readTree(t, d.Path())
	write(t, d.Path(), bulky("new"))
	changed := readTree(t, d.Path())
	elsewhere := func(what string, want tree) func(t *testing.T) {
		return func(t *testing.T) {
			t.Helper()
			wantTree(t, "the folder", d.Path(), changed)
			wantTree(t, what, open(t, s.worker(t, t.TempDir(), quiet), "k").Path(), want)
		}
	}
	return fullStory{func() error { return d.Save(t.Context(), store.Fence{}) }, elsewhere("before", old), elsewhere("saved", changed)}
}

func restoreToFull(t *testing.T, disk string) fullStory {
	s := newShared(t)
	there := open(t, s.worker(t, t.TempDir(), quiet), "k")
	write(t, there.Path(), bulky("saved"))
	save(t, there)
	w := s.worker(t, filepath.Join(disk, "root"), quiet)
	at := filepath.Join(disk, "root", nameOf("k"))
	return fullStory{
		func() error { _, err := w.Open(t.Context(), "k"); return err },
		func(t *testing.T) { wantNothing(t, at) },
		func(t *testing.T) { t.Helper(); wantTree(t, "restored", at, readTree(t, there.Path())) },
	}
}

func restoreOverOlder(t *testing.T, disk string) fullStory {
	s := newShared(t)
	w := s.worker(t, filepath.Join(disk, "root"), quiet)
	here := open(t, w, "k")
	write(t, here.Path(), bulky("old"))
	save(t, here)
	old := readTree(t, here.Path())
	there := open(t, s.worker(t, t.TempDir(), quiet), "k")
	write(t, there.Path(), bulky("new"))
	save(t, there)
	return fullStory{
		func() error { _, err := w.Open(t.Context(), "k"); return err },
		func(t *testing.T) { t.Helper(); wantTree(t, "not restored", here.Path(), old) },
		func(t *testing.T) { t.Helper(); wantTree(t, "restored", here.Path(), readTree(t, there.Path())) },
	}
}

func worktreeOnFull(t *testing.T, disk string) fullStory {
	return worktreeStory(t, repository(t, bulky("base")), filepath.Join(disk, "root"))
}

func repositoryOnFull(t *testing.T, disk string) fullStory {
	clone := filepath.Join(disk, "clone")
	git(t, disk, "clone", "--quiet", "--no-hardlinks", repository(t, bulky("base")), clone)
	return worktreeStory(t, clone, filepath.Join(disk, "root"))
}

func worktreeStory(t *testing.T, repo, root string) fullStory {
	t.Helper()
	w, err := NewWorktrees(t.Context(), WorktreeOptions{Repo: repo, Root: root})
	if err != nil {
		t.Fatal(err)
	}
	before := git(t, repo, "config", "--list", "--local")
	return fullStory{
		func() error { _, err := w.Open(t.Context(), "k"); return err },
		func(t *testing.T) {
			t.Helper()
			wantNothing(t, w.path("k"))
			if branches := git(t, repo, "branch", "--list", "claude/*"); branches != "" {
				t.Errorf("the branch is left: %s", branches)
			}
			if config := git(t, repo, "config", "--list", "--local"); config != before {
				t.Errorf("the configuration was %s\nand is %s", before, config)
			}
		},
		func(t *testing.T) {
			t.Helper()
			if got := git(t, w.path("k"), "status", "--porcelain", "--branch"); got != "## "+w.Branch("k") {
				t.Errorf("the worktree is %s", got)
			}
		},
	}
}

func arriveOnFull(t *testing.T, disk string) fullStory {
	base := bulky("base")
	maps.Copy(base, committed)
	c := newClones(t, base)
	there := open(t, c.on(c.machine(), quiet), "k")
	work(t, there)
	write(t, there.Path(), bulky("changed"))
	save(t, there)
	m := machine{filepath.Join(disk, "clone"), filepath.Join(disk, "root")}
	git(t, disk, "clone", "--quiet", "--no-hardlinks", c.origin, m.repo)
	w := c.on(m, quiet)
	return fullStory{
		func() error { _, err := w.Open(t.Context(), "k"); return err },
		// The folder may be there already. The index is not, so the next Open begins again.
		func(t *testing.T) { t.Helper(); wantNothing(t, w.dir("k").indexPath()) },
		func(t *testing.T) {
			t.Helper()
			wantSeen(t, "arrived", open(t, w, "k"), seen(t, there))
			if left, _ := filepath.Glob(filepath.Join(m.root, "."+nameOf("k")+".*")); len(left) != 1 {
				t.Errorf("beside the folder are %q, want its index", left)
			}
		},
	}
}

// wantNothing wants a path not to be there.
func wantNothing(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is there: %v", path, err)
	}
}
