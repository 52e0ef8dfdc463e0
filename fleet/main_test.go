package fleet_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain gives the tests a folder of their own for temporary files. Each CLI that starts
// looks through it for what dead processes have left, which takes long in the folder of a
// busy machine. Hundreds of small worlds come and go, so it also collects garbage less
// often.
func TestMain(m *testing.M) {
	tmp, err := os.MkdirTemp("", "fleet-")
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
