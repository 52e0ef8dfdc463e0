package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/store"
)

// mirroredKind is a round of deltas with the lines of a transcript between them: one
// of 2 KB for each hundred, which is how many make up its text.
const (
	mirroredKind  = "mirrored"
	mirrorEvery   = 1000 // deltas
	mirrorEntries = mirrorEvery / 100
)

// mirroredBlock is as many deltas as belong to a frame, and the frame. It is made
// once for a round, as that of plain deltas is: what the CLI does must not count.
type mirroredBlock struct {
	bytes   []byte
	numbers []int // where in the frame the uuids of its lines end
}

func newMirroredBlock() *mirroredBlock {
	b := &mirroredBlock{bytes: bytes.Repeat(deltaLine(), mirrorEvery)}
	b.bytes = append(b.bytes, `{"type":"transcript_mirror","filePath":"/home/user/.claude/projects/-repo/`+sessionID+`.jsonl","entries":[`...)
	message := assistantLine()
	uuidEnd := bytes.LastIndex(message, []byte(`","timestamp"`))
	for i := range mirrorEntries {
		if i > 0 {
			b.bytes = append(b.bytes, ',')
		}
		b.bytes = append(b.bytes, `{"parentUuid":null,"isSidechain":false,`...)
		b.numbers = append(b.numbers, len(b.bytes)+uuidEnd-1)
		b.bytes = append(b.bytes, message[1:len(message)-1]...)
	}
	b.bytes = append(b.bytes, "]}\n"...)
	return b
}

// number gives the lines of the frame uuids that no other frame has.
func (b *mirroredBlock) number(n int) []byte {
	for i, end := range b.numbers {
		copy(b.bytes[end-12:end], fmt.Sprintf("%012d", n*mirrorEntries+i))
	}
	return b.bytes
}

func storeGroups() []group {
	return []group{{"mirror", mirrorCost}, {"flush", flushes}}
}

// mirrorCost measures deltas in a session that is stored, against one that is not.
func mirrorCost(ctx context.Context, b *bench) (rows []row, err error) {
	plain := b.client(nameOurs)
	cli, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bench-journal-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	mirrored := newOurs(cli)
	mirrored.opts.Store = &claude.StoreOptions{Store: sink{}, Project: "bench", Journal: dir}
	n := b.scale(100000)
	var alone, ratios, aloneCPU, ratiosCPU []float64
	for i := range mirrorRounds*b.rounds + 1 {
		samples := make(map[string]sample)
		order := []string{"delta", mirroredKind}
		if i%2 == 1 {
			slices.Reverse(order) // what comes second finds the machine warmer
		}
		for _, kind := range order {
			client := plain
			if kind == mirroredKind {
				client = mirrored
			}
			s, err := client.round(ctx, fmt.Sprintf("%s %d", kind, n))
			if err != nil {
				return nil, err
			}
			if s.messages != n {
				return nil, fmt.Errorf("%s: %d messages of %d", kind, s.messages, n)
			}
			samples[kind] = s
		}
		if i > 0 {
			a, m := samples["delta"], samples[mirroredKind]
			alone, ratios = append(alone, float64(a.wall)/float64(n)), append(ratios, float64(m.wall)/float64(a.wall))
			aloneCPU, ratiosCPU = append(aloneCPU, float64(a.cpu)/float64(n)), append(ratiosCPU, float64(m.cpu)/float64(a.cpu))
		}
	}
	if err := mirrored.close(); err != nil {
		return nil, err
	}
	// The machine changes its pace from round to round, so the two of a round are
	// compared, and not the medians of all.
	limit, limitCPU := medianOf(alone), medianOf(aloneCPU)
	return []row{{
		Case: "small delta, mirrored (limit: not mirrored), ns", Ours: new(*medianOf(ratios) * *limit), Limit: limit,
		CPU: new(*medianOf(ratiosCPU) * *limitCPU), LimitCPU: limitCPU,
	}}, nil
}

// sink is a store that takes everything and keeps nothing: what a store does itself
// is measured by its flushes. One in memory would also make the heap so large that
// the collector runs less often than in a session without a store.
type sink struct{ store.Store }

// Append implements [store.Store].
func (sink) Append(context.Context, store.Key, store.Batch) error { return nil }

// mirrorRounds is how many times more rounds there are than of other cases: a few
// percent are looked for.
const mirrorRounds = 24

// benchmarkLine is a line of go test -bench with the median.
var benchmarkLine = regexp.MustCompile(`(?m)^BenchmarkAppend(?:/(\w+))?(?:-\d+)?\s.*?([0-9.e+]+) median-ns`)

// flushes measures what storing a turn takes, in the modules of the stores: their
// drivers are not this module's.
func flushes(ctx context.Context, b *bench) ([]row, error) {
	var rows []row
	for _, module := range []struct{ dir, name string }{{"sqlstore", ""}, {"redisstore", "Redis 7"}, {"s3store", "S3, in process"}} {
		cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkAppend$", "-benchtime", strconv.Itoa(b.scale(1000))+"x", ".")
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
		nearLimit("a mirrored stream of deltas costs less than 5 % more", "small delta, mirrored", 1.05),
		below("the flush of a turn takes less than 5 ms on SQLite", flushCase+"SQLite", "ns", value, 5e6),
		below("and on Postgres", flushCase+"Postgres", "ns", value, 5e6),
	}
}

// storeMethod says how stores are measured.
const storeMethod = `
### How sessions in a store are measured

- **Mirrored deltas** come from the fake CLI of the live sessions, with the lines of a transcript among them: one of 2 KB for each hundred deltas, in frames of ten. The store takes them and keeps nothing, so what is measured is the cost of mirroring; what a store does itself is the flush. The limit is a session without a store. The two take turns, and the figures are the medians of the ratios of their rounds. The time is what a reader of the stream sees; more of the processor's is used, since entries are stored beside it.
- **The flush of a turn** is two appends of five entries of 2 KB, under the fence of a lease, and the median of 1,000. It is measured by the benchmarks in the modules of the stores (` + "`go test -run '^$' -bench .`" + ` there). SQLite and Postgres write to the disk before they reply (` + "`synchronous=FULL`" + `, ` + "`fsync=on`" + `), Redis has its defaults, and the S3 server is in the process of the test.
`
