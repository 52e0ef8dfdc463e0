package history

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
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

// startedFor returns the processes whose arguments say that they continue a session, as
// package claude writes them. Those of one that is over are empty.
func startedFor(session string) (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			continue
		}
		args := strings.Split(string(line), "\x00")
		if !slices.Contains(args, "--fork-session") && (slices.Contains(args, "--resume="+session) || slices.Contains(args, "--session-id="+session)) {
			pids = append(pids, pid)
		}
	}
	return pids
}
