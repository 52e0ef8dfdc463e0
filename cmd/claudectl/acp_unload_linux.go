package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// unloadProgram lets go of the pages of this program's file. The system still has them, and
// maps those that are used again: after the start that is a third.
func unloadProgram() {
	exe, err1 := os.Readlink("/proc/self/exe")
	smaps, err2 := os.ReadFile("/proc/self/smaps")
	if err1 != nil || err2 != nil {
		return
	}
	for _, m := range unchanged(smaps, exe) {
		// It changes nothing that can be seen, so there is nothing to do if it fails.
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.from, m.to-m.from, syscall.MADV_DONTNEED)
	}
}

// mapping is a part of the memory.
type mapping struct{ from, to uintptr }

// unchanged returns the mappings of a file that are as they are in the file: read-only, and
// without a page of their own, in memory or swapped out, as what the dynamic linker or a
// debugger has written would be. It reads what the kernel reports in smaps.
func unchanged(smaps []byte, file string) (found []mapping) {
	var m mapping
	none := -1 // how many kinds of own pages the mapping does not have; negative: it does not count
	for line := range bytes.Lines(smaps) {
		var next mapping
		var mode, offset, device, inode, kind string
		var size int
		text := strings.TrimSuffix(string(line), "\n")
		if n, _ := fmt.Sscanf(text, "%x-%x %s %s %s %s", &next.from, &next.to, &mode, &offset, &device, &inode); n == 6 {
			m, none = next, -1
			if (mode == "r-xp" || mode == "r--p") && strings.HasSuffix(text, " "+file) {
				none = 0
			}
			continue
		}
		if n, _ := fmt.Sscanf(text, "%s %d kB", &kind, &size); n < 2 || none < 0 || size > 0 || kind != "Anonymous:" && kind != "Swap:" {
			continue
		}
		if none++; none == 2 {
			found = append(found, m)
		}
	}
	return found
}
