package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// The sizes of the fleet that is measured.
const (
	fleetConversations = 10_000
	fleetRounds        = 3
	fleetLive          = 8
	fleetWakes         = 101
)

// The names of the rows.
const (
	rowAnswered = "prompts of a fleet, answered"
	rowAsked    = "prompts of a fleet, accepted"
	rowLive     = "CLIs of a fleet, most at once"
	rowTurn     = "prompt of a fleet with many, ns"
	rowAsleep   = "idle conversation of a fleet, bytes"
	rowFirst    = "heap of a fleet after the first round, bytes"
	rowLast     = "heap of a fleet after the last round, bytes"
	rowWake     = "prompt to a conversation that sleeps, median, ns"
	rowAwake    = "prompt to a conversation that is awake, median, ns"
	rowCost     = "waking a conversation, median of the differences, ns"
)

// fleetReport is what fleetbench prints.
type fleetReport struct {
	Conversations, Rounds, Answered, MostLive int
	Heap                                      []float64
	TurnNS, WakeNS, AwakeNS                   []float64
}

// wakeCosts are how much longer a prompt takes if its conversation sleeps.
func (r *fleetReport) wakeCosts() []float64 {
	costs := make([]float64, len(r.WakeNS))
	for i := range costs {
		costs[i] = r.WakeNS[i] - r.AwakeNS[i]
	}
	return costs
}

// fleetGroups measure a fleet. The program that does so is in the module that
// links SQLite.
func fleetGroups() []group {
	return []group{{"fleet", func(ctx context.Context, b *bench) ([]row, error) {
		r, err := runFleet(ctx, b)
		if err != nil {
			return nil, err
		}
		last := len(r.Heap) - 1
		return []row{
			{Case: rowAsked, Ours: new(float64(r.Conversations * r.Rounds))},
			{Case: rowAnswered, Ours: new(float64(r.Answered))},
			{Case: rowLive, Ours: new(float64(r.MostLive))},
			{Case: rowTurn, Ours: medianOf(r.TurnNS)},
			{Case: rowAsleep, Ours: new((r.Heap[last] - r.Heap[0]) / float64(r.Conversations))},
			{Case: rowFirst, Ours: new(r.Heap[1])},
			{Case: rowLast, Ours: new(r.Heap[last])},
			{Case: rowWake, Ours: medianOf(r.WakeNS)},
			{Case: rowAwake, Ours: medianOf(r.AwakeNS)},
			{Case: rowCost, Ours: medianOf(r.wakeCosts())},
		}, nil
	}}}
}

// runFleet builds the program and runs it.
func runFleet(ctx context.Context, b *bench) (*fleetReport, error) {
	dir, err := os.MkdirTemp("", "bench-fleet-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "fleetbench")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./internal/fleetbench")
	build.Dir = filepath.Join(b.root, "store", "sqlstore")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	cmd := exec.CommandContext(ctx, program, "-conversations", strconv.Itoa(b.scale(fleetConversations)),
		"-rounds", strconv.Itoa(fleetRounds), "-live", strconv.Itoa(fleetLive), "-wakes", strconv.Itoa(b.scale(fleetWakes)))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	r := new(fleetReport)
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(r); err != nil {
		return nil, err
	}
	if len(r.Heap) != r.Rounds+1 || len(r.WakeNS) == 0 || len(r.WakeNS) != len(r.AwakeNS) {
		return nil, fmt.Errorf("fleetbench printed %s", out)
	}
	return r, nil
}

// maxFleetGrowth is by how much the memory of a fleet may seem to grow from the
// first round to the last, when all conversations sleep.
const maxFleetGrowth = 1.1

// fleetGoals are about conversations that share processes.
func fleetGoals() []goal {
	value := func(r row) *float64 { return r.Ours }
	return []goal{
		{text: fmt.Sprintf("%d conversations on %d CLIs, %d prompts each, all answered", fleetConversations, fleetLive, fleetRounds), met: func(find func(string) row) (string, bool) {
			asked, answered, live := find(rowAsked).Ours, find(rowAnswered).Ours, find(rowLive).Ours
			if asked == nil || answered == nil || live == nil {
				return "", false
			}
			return fmt.Sprintf("%.0f of %.0f on %.0f", *answered, *asked, *live), *answered == *asked && *live <= fleetLive
		}},
		below("a sleeping conversation under 2 KiB", rowAsleep, "bytes", value, 2<<10),
		{text: "and memory flat over the rounds", met: func(find func(string) row) (string, bool) {
			r := ratio(find(rowLast).Ours, find(rowFirst).Ours)
			if r == nil {
				return "", false
			}
			return times(r), *r <= maxFleetGrowth
		}},
		below("waking on SQLite costs under 20 ms, median", rowCost, "ns", value, 20e6),
	}
}

// fleetMethod says how a fleet is measured.
const fleetMethod = `
### How fleets are measured

The conversations are in an SQLite file, written with full synchronisation, and the CLI is a scripted one in the same process, a new one for each start. Each conversation belongs to one of 100 tenants.

- **Many:** in each round every conversation gets a prompt, and the time of the round is divided by their number. Every answer is compared with what it must be. The heap is measured after a collection, before the first prompt and after each round, when no CLI runs.
- **One:** a prompt to a conversation that sleeps, while nothing else happens, timed from the call to the result: storing the prompt, taking the lease, reading the transcript, starting the CLI and its handshake, the turn, and storing what was said. The next prompt finds the conversation awake; waking costs the difference. A real CLI adds its own start, about a third of a second.
`
