package durable

import (
	"os"
	"testing"
)

// A file is opened for reading only: git's objects may not be written. The program that runs
// may not either, even by root.
func TestSyncFileThatMayNotBeWritten(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if f, err := os.OpenFile(self, os.O_RDWR, 0); err == nil {
		t.Fatal("the program may be written", f.Close())
	}
	if err := syncFile(self); err != nil {
		t.Error(err)
	}
}
