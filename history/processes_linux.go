package history

import (
	"bytes"
	"fmt"
	"os"
)

// startOf returns when a process was started, in the notation of the CLI's record:
// in ticks since the machine booted. "" means that it is not known.
func startOf(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The second field is the name of the program in parentheses, which may contain
	// anything. The start is the 22nd.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return ""
	}
	return string(fields[19])
}
