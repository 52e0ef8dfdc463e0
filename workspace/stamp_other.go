//go:build !linux

package workspace

import "io/fs"

// stampOf is the size of a file and its time.
func stampOf(info fs.FileInfo) stamp {
	return stamp{Size: info.Size(), Modified: info.ModTime().UnixNano()}
}
