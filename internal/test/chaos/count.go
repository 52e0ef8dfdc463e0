//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// counts holds the resources of a process.
type counts struct {
	goroutines, files int
	heap              uint64 // live bytes
}

func count() counts {
	runtime.GC()
	runtime.GC() // what the first one finalized
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	files, _ := os.ReadDir("/proc/self/fd")
	return counts{runtime.NumGoroutine(), len(files), m.HeapAlloc}
}

func (c counts) String() string {
	return fmt.Sprintf("%d goroutines, %d descriptors, %.1f MiB heap", c.goroutines, c.files, float64(c.heap)/(1<<20))
}

// slack is how much more heap does not count as growth: caches of the runtime and pools.
const slack = 4 << 20

// settle waits until no more is held than before. What was told to end needs a
// moment to be gone.
func settle(before counts) (after counts, err error) {
	ok := eventually(10*time.Second, func() bool {
		after = count()
		return after.goroutines <= before.goroutines && after.files <= before.files && after.heap <= before.heap+slack
	})
	if !ok {
		return after, fmt.Errorf("grown: %v, was %v", after, before)
	}
	return after, nil
}

// eventually looks at a condition until it holds, for a time.
func eventually(d time.Duration, holds func() bool) bool {
	over := time.NewTimer(d)
	defer over.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-over.C:
			return holds()
		case <-tick.C:
		}
	}
	return true
}

// process is one that carries a mark in its environment.
type process struct {
	pid, parent int
	command     string
	role        string
}

// markedProcesses lists the processes whose environment has an entry that begins so,
// wherever they hang in the tree. Zombies have no environment.
func markedProcesses(prefix string) []process {
	var found []process
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		env, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		entries := strings.Split(string(env), "\x00")
		if !slices.ContainsFunc(entries, func(e string) bool { return strings.HasPrefix(e, prefix) }) {
			continue
		}
		dir := filepath.Dir(path)
		pid, _ := strconv.Atoi(filepath.Base(dir))
		p := process{pid: pid, parent: parent(dir)}
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		p.command = strings.TrimSpace(strings.ReplaceAll(string(command), "\x00", " "))
		for _, e := range entries {
			if role, ok := strings.CutPrefix(e, roleVariable+"="); ok {
				p.role = role
			}
		}
		found = append(found, p)
	}
	return found
}

// parent reads the parent's number: the second field after the name, which
// is in parentheses.
func parent(dir string) int {
	stat, _ := os.ReadFile(filepath.Join(dir, "stat"))
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	if fields := bytes.Fields(rest); len(fields) > 1 {
		n, _ := strconv.Atoi(string(fields[1]))
		return n
	}
	return 0
}

// filesBelow lists the files of a folder.
func filesBelow(dir string) []string {
	var found []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != dir {
			found = append(found, path)
		}
		return nil
	})
	return found
}
