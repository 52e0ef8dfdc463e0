package blobtest_test

import (
	"testing"

	"github.com/claude-agent-go/claude/workspace"
	"github.com/claude-agent-go/claude/workspace/blobtest"
)

// A test of your own blobs, here of those in files.
func ExampleRun() {
	test := func(t *testing.T) {
		dir := t.TempDir()
		blobtest.Run(t, blobtest.Subject{Open: func(*testing.T) workspace.Blobs { return workspace.FileBlobs(dir) }})
	}
	_ = test // func TestBlobs(t *testing.T)
}
