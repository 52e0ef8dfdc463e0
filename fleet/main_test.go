package fleet_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// memory is a folder in memory that Linux has.
const memory = "/dev/shm"

// TestMain gives the tests a folder of their own for temporary files, in memory if there is
// one: hundreds of small worlds make and remove folders, and each CLI that starts looks
// through them for what dead processes have left. It also collects garbage less often.
func TestMain(m *testing.M) {
	in := ""
	if info, err := os.Stat(memory); err == nil && info.IsDir() {
		in = memory
	}
	tmp, err := os.MkdirTemp(in, "fleet-")
	if err != nil {
		tmp, err = os.MkdirTemp("", "fleet-")
	}
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		if err := os.Setenv(name, tmp); err != nil {
			panic(err)
		}
	}
	debug.SetGCPercent(400)
	code := m.Run()
	if err := os.RemoveAll(tmp); err != nil {
		panic(err)
	}
	os.Exit(code)
}
