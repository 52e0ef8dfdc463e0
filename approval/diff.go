package approval

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/claude-agent-go/claude/internal/edit"
)

const (
	maxFile = 1 << 20   // the largest file that is compared as a whole
	maxDiff = 128 << 10 // the longest diff in a question
)

// diffOf returns the change that a call would make to the current file, "" if
// the call does not edit. Where the file cannot be compared as a whole, because
// it is elsewhere, too large, or does not contain the text, the diff compares
// the texts in the call.
func diffOf(cwd, tool string, input json.RawMessage) string {
	call := edit.Parse(tool, input)
	if call == nil {
		return ""
	}
	path := call.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(cwd, path)
	}
	content, known := readText(path)
	if before, after, ok := call.On(content); known && ok {
		return shown(call.Path, before, after, maxDiff)
	}
	var parts strings.Builder
	for _, c := range call.Changes {
		if parts.Len() < maxDiff {
			parts.WriteString(shown(call.Path, c.Old, c.New, maxDiff-parts.Len()))
		}
	}
	return parts.String()
}

func shown(path, before, after string, most int) string {
	return strings.ToValidUTF8(edit.Unified(path, before, after, most), "\uFFFD")
}

// readText reads a file of text; one that does not exist is empty. It neither
// waits for a pipe that the model has named, nor reads a device.
func readText(path string) (content string, ok bool) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", os.IsNotExist(err)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return "", false
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil || len(data) > maxFile || strings.IndexByte(string(data), 0) >= 0 {
		return "", false
	}
	return string(data), true
}
