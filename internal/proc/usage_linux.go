package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// Measures reports whether Measure works on this system.
const Measures = true

// Measure returns the current usage of a process and its descendants. A
// descendant whose parent has ended counts no more.
func Measure(pid int) (Usage, error) {
	parents, err := parents()
	if err != nil {
		return Usage{}, err
	}
	if _, ok := parents[pid]; !ok {
		return Usage{}, fmt.Errorf("process %d: %w", pid, os.ErrProcessDone)
	}
	children := make(map[int][]int)
	for child, parent := range parents {
		children[parent] = append(children[parent], child)
	}
	var u Usage
	for next := []int{pid}; len(next) > 0; next = next[1:] {
		if bytes, ok := memory(next[0]); ok {
			u.Memory += bytes
			u.Processes++
		}
		next = append(next, children[next[0]]...)
	}
	return u, nil
}

// parents returns the parent of each process that has not exited.
func parents() (map[int]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	all := make(map[int]int, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it has ended
		}
		// The name before it is in parentheses, and may hold any character.
		rest := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(rest) < 2 || rest[0][0] == 'Z' || rest[0][0] == 'X' {
			continue
		}
		if parent, err := strconv.Atoi(string(rest[1])); err == nil {
			all[pid] = parent
		}
	}
	return all, nil
}

// memory returns how many bytes a process holds: its share of the pages that it
// shares with others, or all of them where the kernel does not report the share.
func memory(pid int) (int64, bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	if text, err := os.ReadFile(dir + "/smaps_rollup"); err == nil {
		for line := range bytes.Lines(text) {
			fields := bytes.Fields(line)
			if len(fields) < 2 || string(fields[0]) != "Pss:" {
				continue
			}
			if kb, err := strconv.ParseInt(string(fields[1]), 10, 64); err == nil {
				return kb << 10, true
			}
		}
	}
	text, err := os.ReadFile(dir + "/statm")
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize()), err == nil
}
