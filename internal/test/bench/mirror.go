package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/cputime"
	"github.com/claude-agent-go/claude/store"
)

// The names of the rows.
const (
	rowMirroredSteps = "answer of 100 deltas, mirrored (limit: not mirrored), CPU, ns"
	rowMirroredBurst = "answer of 100 deltas in one piece, mirrored (limit: not mirrored), CPU, ns"
)

// mirrorCases compare answers of the model in a session that is stored with the same
// in one that is not.
var mirrorCases = []struct {
	name            string
	mirrored, plain string // the kinds of the rounds
	n               int    // answers in a round
}{
	{rowMirroredSteps, mirroredStepsKind, stepsKind, 50},
	{rowMirroredBurst, mirroredBurstKind, burstKind, 600},
}

// mirrorPairs is how often the two run side by side.
const mirrorPairs = 15

// mirrorCost measures what it costs to mirror a session.
func mirrorCost(ctx context.Context, b *bench) (rows []row, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	client := func(kind string, n int) *exec.Cmd {
		cmd := exec.CommandContext(ctx, program, kind, strconv.Itoa(n))
		cmd.Env = append(os.Environ(), playVariable+"="+playMirror)
		return cmd
	}
	for _, c := range mirrorCases {
		n := b.scale(c.n)
		ours, limit, err := ratioBeside(max(mirrorPairs/b.divide, 1), func(swapped bool) (float64, float64, error) {
			of, err := pair(ctx, client(c.mirrored, n), client(c.plain, n), swapped)
			if err != nil {
				return 0, 0, err
			}
			on, err1 := strconv.ParseFloat(strings.TrimSpace(string(of[0].out)), 64)
			off, err2 := strconv.ParseFloat(strings.TrimSpace(string(of[1].out)), 64)
			return on / float64(n), off / float64(n), errors.Join(err1, err2)
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		rows = append(rows, row{Case: c.name, Ours: ours, Limit: limit})
	}
	return rows, nil
}

// playMirror makes this program a client that prints how much processor time a round
// takes.
const playMirror = "mirror"

// readSteps is that client. Its arguments are the kind of the round and how many
// answers it has. What its CLI uses does not count.
func readSteps(args []string) (err error) {
	if len(args) != 2 {
		return errors.New("mirror: two arguments are needed")
	}
	kind := args[0]
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	if cputime.Used() == 0 {
		return errors.New("mirror: the processor time is not known on this system")
	}
	cli, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-journal-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	client := newOurs(cli)
	if kind == mirroredStepsKind || kind == mirroredBurstKind {
		client.opts.Store = sunk(dir)
	}
	defer func() { err = errors.Join(err, client.close()) }()
	if _, err := client.round(context.Background(), kind+" 1"); err != nil { // the first one makes what is kept
		return err
	}
	s, err := client.round(context.Background(), fmt.Sprint(kind, " ", n))
	if err != nil {
		return err
	}
	if want := n * newStep(false).messages; s.messages != want {
		return fmt.Errorf("%s: %d messages of %d", kind, s.messages, want)
	}
	fmt.Println(s.cpu.Nanoseconds())
	return nil
}

// sink is a store that takes everything and keeps nothing: what a store does itself
// is measured by its flushes. One in memory would also make the heap so large that
// the collector runs less often than in a session without a store.
type sink struct{ store.Basic }

// sunk mirrors a session into a sink, under the fence of a caller: the guard of a lease of
// its own would ask before each tool, which is not what mirroring costs.
func sunk(journal string) *claude.StoreOptions {
	return &claude.StoreOptions{Store: sink{}, Project: "bench", Journal: journal, Fence: store.Fence{Project: "bench", Name: "bench", Token: 1}}
}

// Append implements [store.Transcripts].
func (sink) Append(context.Context, store.Key, store.Batch) error { return nil }
