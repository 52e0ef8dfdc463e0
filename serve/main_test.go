package serve_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain runs more tests at once than there are processors: most of them wait.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
