package policy_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/internal/test/need"
)

// trial is a way to run texts and observe their effects: each in a shell and a
// directory of its own.
type trial[T any] struct {
	shell []string // bash -c by default
	cwd   string   // below the directory
	home  string   // below the directory
	path  string   // below the directory; programs are found there first
	// prepare fills the directory of text i, and may look at it before it runs.
	prepare func(dir string, i int, text string) error
	// happened looks at the directory afterwards, and at what was printed.
	happened func(dir string, out []byte) T
}

// effects runs every text and reports what it did. In a text «DIR» is its
// directory. Most texts wait for others, so many run at once.
func (tr trial[T]) effects(t *testing.T, texts []string) []T {
	t.Helper()
	long.Test(t, "runs commands in a shell")
	if tr.shell == nil {
		tr.shell = []string{"bash", "-c"}
	}
	need.Shell.Test(t)
	shell, err := exec.LookPath(tr.shell[0])
	if err != nil {
		t.Skipf("needs %s", tr.shell[0])
	}
	base := t.TempDir()
	if err := os.Chmod(filepath.Dir(base), 0o711); err != nil { // for the user nobody
		t.Fatal(err)
	}
	results := make([]T, len(texts))
	keeper := newKeeper(t)
	next := make(chan int)
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			for i := range next {
				dir, err := os.MkdirTemp(base, "")
				if err != nil {
					t.Error(err)
					continue
				}
				text := strings.ReplaceAll(texts[i], "«DIR»", dir)
				if err = tr.prepare(dir, i, text); err != nil {
					t.Error(err)
					continue
				}
				out, err := tr.run(t.Context(), keeper, shell, dir, text)
				if err != nil {
					t.Error(err)
					continue
				}
				results[i] = tr.happened(dir, out)
				_ = os.RemoveAll(dir)
			}
		})
	}
	for i := range texts {
		next <- i
	}
	close(next)
	wg.Wait()
	return results
}

// run runs a text without a terminal, an input, our environment or the rights of
// root, and returns its output. No process of it is left running, even if this
// program is killed.
func (tr trial[T]) run(ctx context.Context, keeper *keeper, shell, dir, text string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, append(tr.shell[1:len(tr.shell):len(tr.shell)], text)...)
	cmd.Dir = filepath.Join(dir, tr.cwd)
	path := "/usr/bin:/bin:/usr/local/bin"
	if tr.path != "" {
		path = filepath.Join(dir, tr.path) + ":" + path
	}
	cmd.Env = []string{"PATH=" + path, "HOME=" + filepath.Join(dir, tr.home), "LC_ALL=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1"}
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := nobody(cmd, dir); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	keeper.begin(cmd.Process.Pid)
	_ = cmd.Wait() // it may fail in many ways; only its effects count
	endGroup(cmd)
	keeper.end(cmd.Process.Pid)
	return out.Bytes(), nil
}
