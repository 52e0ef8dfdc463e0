package realcli

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// systemPath is where the shell and the tools that the CLI calls are.
var systemPath = []string{"/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"}

// Env returns the complete environment for a CLI under test, and its HOME.
// Nothing is taken over from the caller's environment, so no account, setting
// or proxy of the developer reaches the CLI: it talks to baseURL with a key
// that no service knows, and keeps its files below a temporary folder of the
// test (2.1.0 also leaves folders in /tmp/claude, whatever TMPDIR is). The CLI
// must have exited when the test ends.
func Env(tb TB, baseURL string) (env []string, home string) {
	tb.Helper()
	scratch := tb.TempDir()
	home = filepath.Join(scratch, "home")
	tmp := filepath.Join(scratch, "tmp")
	for _, dir := range []string{home, tmp} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			tb.Fatalf("realcli: %v", err)
		}
	}
	env = []string{
		"PATH=" + searchPath(),
		"HOME=" + home,
		"TMPDIR=" + tmp,
		"ANTHROPIC_API_KEY=sk-ant-fake-key-for-tests",
		"ANTHROPIC_BASE_URL=" + baseURL,
		"DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		// Without it the CLI refuses bypassPermissions as root, which
		// containers often are.
		"IS_SANDBOX=1",
	}
	if runtime.GOOS == "windows" {
		env = append(env, "USERPROFILE="+home, "TEMP="+tmp, "TMP="+tmp)
		for _, name := range []string{"SystemRoot", "ComSpec", "PATHEXT"} {
			env = append(env, name+"="+os.Getenv(name))
		}
	}
	return env, home
}

// searchPath is a PATH with the system's own folders, and node's for the
// versions of the CLI that run on it.
func searchPath() string {
	if runtime.GOOS == "windows" {
		return os.Getenv("PATH")
	}
	dirs := slices.Clone(systemPath)
	if node, err := exec.LookPath("node"); err == nil {
		if dir := filepath.Dir(node); !slices.Contains(dirs, dir) {
			dirs = slices.Insert(dirs, 0, dir)
		}
	}
	return strings.Join(dirs, string(filepath.ListSeparator))
}
