package restore

import (
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// ConfigVar names the directory in which the CLI keeps its configuration and its
// sessions.
const ConfigVar = "CLAUDE_CONFIG_DIR"

// ConfigDir is where a CLI with this environment keeps its sessions.
func ConfigDir(env []string) string {
	if dir := Variable(env, ConfigVar); dir != "" {
		return dir
	}
	return filepath.Join(Home(env), ".claude")
}

// Home is the home directory of a CLI with this environment: what it takes a
// tilde for. Without the variable it asks the system who runs it.
func Home(env []string) string {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	if dir := Variable(env, name); dir != "" {
		return dir
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return ""
}

// Variable returns the value of a variable, "" if it is not set. If it is set more
// than once, the last value that is not empty counts.
func Variable(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok && value != "" {
			return value
		}
	}
	return ""
}
