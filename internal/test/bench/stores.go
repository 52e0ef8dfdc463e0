package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

func storeGroups() []group {
	return []group{{"mirror", mirrorCost}, {"flush", flushes}}
}

// benchmarkLine is a line of go test -bench with the median.
var benchmarkLine = regexp.MustCompile(`(?m)^BenchmarkAppend(?:/(\w+))?(?:-\d+)?\s.*?([0-9.e+]+) median-ns`)

// flushes measures what storing a turn takes, in the modules of the stores: their
// drivers are not this module's.
func flushes(ctx context.Context, b *bench) ([]row, error) {
	var rows []row
	for _, module := range []struct{ dir, name string }{{"sqlstore", ""}, {"redisstore", "Redis 7"}, {"s3store", "S3, in process"}} {
		cmd := exec.CommandContext(ctx, "go", "test", "-vet=off", "-run", "^$", "-bench", "^BenchmarkAppend$", "-benchtime", strconv.Itoa(b.scale(1000))+"x", ".")
		cmd.Dir = filepath.Join(b.root, "store", module.dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", module.dir, err, out)
		}
		found := benchmarkLine.FindAllStringSubmatch(string(out), -1)
		if found == nil {
			fmt.Fprintf(os.Stderr, "without %s, which has no figures:\n%s", module.dir, out)
		}
		for _, f := range found {
			ns, err := strconv.ParseFloat(f[2], 64)
			if err != nil {
				return nil, err
			}
			name := module.name
			if f[1] != "" {
				name = f[1]
			}
			rows = append(rows, row{Case: flushCase + name + ", ns", Ours: &ns})
		}
	}
	return rows, nil
}

// flushCase begins the names of the cases.
const flushCase = "flush of a turn: "

// storeGoals are about sessions in a store.
func storeGoals() []goal {
	value := func(r row) *float64 { return r.Ours }
	return []goal{
		nearLimit("a mirrored stream of deltas costs less than 5 % more", rowMirroredSteps, 1.05),
		below("the flush of a turn takes less than 5 ms on SQLite", flushCase+"SQLite", "ns", value, 5e6),
		below("and on Postgres", flushCase+"Postgres", "ns", value, 5e6),
	}
}

// storeMethod describes how stores are measured.
const storeMethod = `
### How sessions in a store are measured

- **Mirrored deltas** are those of an answer as the real CLI writes it with ` + "`--session-mirror`" + `: a hundred deltas of text, a call of a tool, the messages and events around them, the tool's result, and a frame with the lines of the transcript, which is a sixth of all bytes. The recording is in ` + "`internal/test/bench/testdata`" + `, and a test compares it with the CLI. The limit is a session without a store, and the same lines without the frames. The fake CLI writes line by line, several times as fast as the real one can. The store takes the entries and keeps nothing, so what is measured is the cost of mirroring; what a store does itself is the flush. The figures are the processor time of the client's process for an answer, and the medians of pairs that run side by side on one core, so they hold on a busy machine as well.
- **In one piece:** the same answers, each of which the fake CLI writes with one call, and the next one at once. No CLI does that: it is what mirroring costs where reading a line costs the least, and nobody ever waits.
- **The flush of a turn** is two appends of five entries of 2 KB, under the fence of a lease, and the median of 1,000. It is measured by the benchmarks in the modules of the stores (` + "`go test -run '^$' -bench .`" + ` there). SQLite and Postgres write to the disk before they reply (` + "`synchronous=FULL`" + `, ` + "`fsync=on`" + `), Redis has its defaults, and the S3 server is in the process of the test.
`
