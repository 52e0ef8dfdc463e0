package scratch

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/need"
)

func TestMain(m *testing.M) {
	if os.Getenv("SCRATCH_ROLE") == "owner" {
		own()
	}
	os.Exit(m.Run())
}

// own holds a folder until it is killed.
func own() {
	path, err := new(Folder).Write("secret", []byte("s3cret"))
	if err != nil {
		panic(err)
	}
	fmt.Println(path)
	select {}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestFolder(t *testing.T) {
	tmp := t.TempDir()
	leak.TempFolder(t, tmp)
	var f Folder
	if err := f.Remove(); err != nil {
		t.Errorf("Remove of nothing = %v", err)
	}
	path, err := f.Write("a.json", []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write("a.json", nil); err == nil {
		t.Error("a file was written twice")
	}
	if dir, err := f.Dir("config"); err != nil || os.WriteFile(filepath.Join(dir, "x"), nil, 0o600) != nil {
		t.Errorf("Dir = %q, %v", dir, err)
	}
	if need.FileModes.Here() {
		err := filepath.WalkDir(tmp, func(path string, d fs.DirEntry, err error) error {
			info, statErr := os.Lstat(path)
			if err != nil || statErr != nil || path != tmp && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: mode %v, %v, %v", path, info.Mode(), err, statErr)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		if err := f.Remove(); err != nil || exists(filepath.Dir(path)) {
			t.Errorf("Remove = %v, still there: %v", err, exists(filepath.Dir(path)))
		}
	}
}

// A killed process leaves its folder behind; the next one that makes a folder
// removes it, and spares those whose owners live.
func TestSweepAfterDeath(t *testing.T) {
	need.Symlinks.Test(t)
	tmp := t.TempDir()
	leak.TempFolder(t, tmp)
	var living Folder
	alive, err := living.Write("secret", []byte("s3cret"))
	if err != nil {
		t.Fatal(err)
	}
	defer living.Remove()
	making := filepath.Join(tmp, prefix+"making")
	elsewhere := filepath.Join(tmp, "elsewhere")
	for _, dir := range []string{making, elsewhere} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(elsewhere, lockName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(tmp, prefix+"link")
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Fatal(err)
	}

	owner := exec.CommandContext(t.Context(), os.Args[0])
	owner.Env = append(os.Environ(), "SCRATCH_ROLE=owner")
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	left := line[:len(line)-1]
	sweep(tmp)
	if !exists(left) {
		t.Error("the folder of a living owner was swept")
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	owner.Wait()
	if !exists(left) {
		t.Fatal("the killed owner left nothing: the test shows nothing")
	}
	var next Folder
	if _, err := next.Write("x", nil); err != nil {
		t.Fatal(err)
	}
	defer next.Remove()
	if exists(filepath.Dir(left)) {
		t.Errorf("%s is still there", left)
	}
	for _, path := range []string{alive, making, link, filepath.Join(elsewhere, lockName)} {
		if !exists(path) {
			t.Errorf("%s was swept", path)
		}
	}
}
