package workspace

import (
	"io/fs"
	"syscall"
)

// stampOf is the size of a file, its times and its number.
func stampOf(info fs.FileInfo) stamp {
	s := stamp{Size: info.Size(), Modified: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Changed, s.Inode = syscall.TimespecToNsec(st.Ctim), st.Ino
	}
	return s
}
