package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
)

// newDiet returns how this process stays small. A collection of garbage waits for
// processors, so few answers wait for one.
func newDiet() diet {
	d := diet{answer: unloadProgram, rest: makeSmall}
	statm, err := os.Open("/proc/self/statm") // open until the process ends
	if err != nil {
		return d
	}
	var mu sync.Mutex
	own := limit{most: mostOwn}
	d.answer = func() {
		mu.Lock()
		defer mu.Unlock()
		own.keep(func() int { all, files := sizesOf(statm); return all - files }, debug.FreeOSMemory)
		unloadProgram()
	}
	return d
}

// sizesOf reads how many bytes are loaded in all, and of files. They are 0 if they cannot be
// read.
func sizesOf(statm io.ReaderAt) (all, files int) {
	var buf [128]byte
	n, _ := statm.ReadAt(buf[:], 0) // the end of the file is an error
	var whole int
	if _, err := fmt.Sscan(string(buf[:n]), &whole, &all, &files); err != nil { // in pages
		return 0, 0
	}
	return all * os.Getpagesize(), files * os.Getpagesize()
}

// unloadProgram lets go of the pages of this program's file. The system still has them, and
// maps those that are used again: after the start that is a third.
func unloadProgram() {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer smaps.Close()
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
func unchanged(smaps io.Reader, file string) (found []mapping) {
	var m mapping
	none := -1 // how many kinds of own pages the mapping does not have; negative: it does not count
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		name, rest, _ := strings.Cut(lines.Text(), " ")
		if !strings.HasSuffix(name, ":") { // the head of the next mapping
			m, none = mapping{}, -1
			if !strings.HasPrefix(rest, "r-xp ") && !strings.HasPrefix(rest, "r--p ") || !strings.HasSuffix(rest, " "+file) {
				continue
			}
			if n, _ := fmt.Sscanf(name, "%x-%x", &m.from, &m.to); n == 2 {
				none = 0
			}
			continue
		}
		if none < 0 || name != "Anonymous:" && name != "Swap:" || strings.TrimSpace(rest) != "0 kB" {
			continue
		}
		if none++; none == 2 {
			found = append(found, m)
		}
	}
	return found
}
