package leak

import (
	"fmt"
	"os"
	"runtime"
)

// Usage counts what this process holds, to compare before and after many clients.
type Usage struct {
	Goroutines int
	Files      int    // open descriptors; 0 on systems without /proc
	Heap       uint64 // bytes in use
}

// Used collects garbage and counts.
func Used() Usage {
	runtime.GC()
	runtime.GC() // pools keep their contents for one collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	files, _ := os.ReadDir("/proc/self/fd")
	return Usage{runtime.NumGoroutine(), len(files), m.HeapAlloc}
}

// Exceeds reports whether more is used than before, with room for counts and bytes that
// come and go.
func (u Usage) Exceeds(before Usage, count int, bytes uint64) bool {
	return u.Goroutines > before.Goroutines+count || u.Files > before.Files+count || u.Heap > before.Heap+bytes
}

// String describes it in a line.
func (u Usage) String() string {
	return fmt.Sprintf("%d goroutines, %d descriptors, %d KiB", u.Goroutines, u.Files, u.Heap>>10)
}
