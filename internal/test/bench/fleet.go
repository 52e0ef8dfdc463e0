package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
)

// fleetWakes is how often waking is measured.
const fleetWakes = 101

// onSQLite is the fleet whose store is SQLite, in the names of rows.
const onSQLite = "a fleet"

// The names of its other rows.
const (
	rowWake  = "prompt to a conversation that sleeps, median, ns"
	rowAwake = "prompt to a conversation that is awake, median, ns"
	rowCost  = "waking a conversation, median of the differences, ns"
)

// fleetReport is the output of fleetbench.
type fleetReport struct {
	manyReport
	WakeNS, AwakeNS []float64
}

// fleetGroups measure a fleet. The program that does so is in the module that
// links SQLite.
func fleetGroups() []group {
	return []group{{"fleet", func(ctx context.Context, b *bench) ([]row, error) {
		r, err := runFleet(ctx, b)
		if err != nil {
			return nil, err
		}
		return append(r.rows(onSQLite),
			row{Case: rowWake, Ours: medianOf(slices.Clone(r.WakeNS))},
			row{Case: rowAwake, Ours: medianOf(slices.Clone(r.AwakeNS))},
			row{Case: rowCost, Ours: medianOf(differences(r.WakeNS, r.AwakeNS))},
		), nil
	}}}
}

// differences are those of two measurements that were made one after the other.
func differences(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for i := range d {
		d[i] = a[i] - b[i]
	}
	return d
}

// runFleet builds the program and runs it.
func runFleet(ctx context.Context, b *bench) (*fleetReport, error) {
	r := new(fleetReport)
	err := runProgram(ctx, filepath.Join(b.root, "store", "sqlstore"), "./internal/fleetbench", r,
		"-conversations", strconv.Itoa(b.scale(fleetConversations)), "-rounds", strconv.Itoa(fleetRounds), "-live", strconv.Itoa(fleetLive), "-wakes", strconv.Itoa(b.scale(fleetWakes)))
	if err != nil {
		return nil, err
	}
	if len(r.WakeNS) == 0 || len(r.WakeNS) != len(r.AwakeNS) {
		return nil, errors.New("fleetbench has not measured what waking costs")
	}
	return r, r.check()
}

// fleetGoals are about conversations that share processes.
func fleetGoals() []goal {
	return append(manyGoals(onSQLite), below("waking on SQLite costs under 20 ms, median", rowCost, "ns", func(r row) *float64 { return r.Ours }, 20e6))
}

// fleetMethod describes how a fleet is measured.
const fleetMethod = `
### How fleets are measured

The conversations are in an SQLite file, written with full synchronisation, and the CLI is a scripted one in the same process, a new one for each start. Each conversation belongs to one of 100 tenants.

- **Many:** in each round every conversation gets a prompt, and the time of the round is divided by their number. Every answer is compared with what it must be. The heap is measured after a collection, before the first prompt and after each round, when no CLI runs.
- **One:** a prompt to a conversation that sleeps, while nothing else happens, timed from the call to the result: storing the prompt, taking the lease, reading the transcript, starting the CLI and its handshake, the turn, and storing what was said. The next prompt finds the conversation awake; waking costs the difference. A real CLI adds its own start, about a third of a second.
`
