//go:build unix

package approval

import (
	"encoding/json"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A call that names a pipe is asked about like any other: the gate does not wait for
// a writer of the pipe.
func TestDiffOfPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(map[string]string{"file_path": pipe, "content": "new\n"})
	if err != nil {
		t.Fatal(err)
	}
	diff := make(chan string, 1)
	go func() { diff <- diffOf("/", "Write", input) }()
	select {
	case got := <-diff:
		if got == "" {
			t.Error("there is no diff")
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits for the pipe")
		end, err := syscall.Open(pipe, syscall.O_RDWR|syscall.O_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		<-diff // which has found a writer
		_ = syscall.Close(end)
	}
}
