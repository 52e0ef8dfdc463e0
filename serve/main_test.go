package serve_test

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"
)

// TestMain runs more tests at once than there are processors: most of them wait. It
// collects garbage less often: a server and its fleet live for one test.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
