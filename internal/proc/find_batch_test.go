package proc

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// A file that Windows would run through cmd.exe is recognised on any system, so
// that it is tested on each: cmd.exe reads arguments in its own way, and a prompt
// could run commands.
func TestBatchFiles(t *testing.T) {
	for path, batch := range map[string]bool{
		`C:\tools\claude.cmd`: true, `C:\tools\claude.bat`: true, `C:\tools\claude.CMD`: true, `C:\tools\claude.Bat`: true,
		`C:\tools\claude.cmd.`: true, `C:\tools\claude.cmd `: true, `C:\tools\claude.bat. .`: true, `claude.exe.cmd`: true,
		`C:\tools\claude.cmd::$DATA`: true, `C:\tools\claude.bat:stream`: true,
		`C:\tools\claude.exe`: false, `C:\tools\claude`: false, `C:\tools.cmd\claude.exe`: false, `C:\tools.bat\claude`: false,
		`C:\tools\claude.cmd.exe`: false, `C:\tools\cmd`: false, `C:\tools\bat.js`: false,
	} {
		if runsThroughCmd(path) != batch {
			t.Errorf("runsThroughCmd(%q) = %v", path, !batch)
		}
	}
}

// On Windows a batch file is refused although it could be run; elsewhere its name
// means nothing.
func TestCheckRefusesBatchFiles(t *testing.T) {
	for _, name := range []string{"claude.cmd", "claude.BAT"} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, nil, 0o700); err != nil {
			t.Fatal(err)
		}
		found, err := checkOn("windows", path, path)
		if start, ok := errors.AsType[*StartError](err); !ok || !errors.Is(err, ErrBatchFile) || start.Path != path || found != "" {
			t.Errorf("%s on Windows: %q, %v", name, found, err)
		}
		if found, err := checkOn("linux", path, path); runtime.GOOS != "windows" && (err != nil || found != path) {
			t.Errorf("%s elsewhere: %q, %v", name, found, err)
		}
	}
}
