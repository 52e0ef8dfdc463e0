package main

import (
	"fmt"
	"slices"
)

// The sizes of the fleets that are measured.
const (
	fleetConversations = 10_000
	fleetRounds        = 3
	fleetLive          = 8
)

// manyReport is a program's output about many conversations of a fleet.
type manyReport struct {
	Conversations, Rounds, Answered, MostLive int
	Heap, TurnNS                              []float64
}

// check refuses a report that lacks something.
func (r *manyReport) check() error {
	if len(r.Heap) != r.Rounds+1 || len(r.TurnNS) != r.Rounds {
		return fmt.Errorf("a report of %d rounds has %d times and %d sizes of the heap", r.Rounds, len(r.TurnNS), len(r.Heap))
	}
	return nil
}

// manyCase is the name of a row about many conversations of a fleet.
type manyCase string

// The rows. What is missing in a name is the fleet.
const (
	manyAsked    manyCase = "prompts of %s, accepted"
	manyAnswered manyCase = "prompts of %s, answered"
	manyLive     manyCase = "CLIs of %s, most at once"
	manyTurn     manyCase = "prompt of %s with many, ns"
	manyAsleep   manyCase = "idle conversation of %s, bytes"
	manyFirst    manyCase = "heap of %s after the first round, bytes"
	manyLast     manyCase = "heap of %s after the last round, bytes"
)

func (c manyCase) of(fleet string) string { return fmt.Sprintf(string(c), fleet) }

// rows are those of a fleet.
func (r *manyReport) rows(fleet string) []row {
	last := len(r.Heap) - 1
	return []row{
		{Case: manyAsked.of(fleet), Ours: new(float64(r.Conversations * r.Rounds))},
		{Case: manyAnswered.of(fleet), Ours: new(float64(r.Answered))},
		{Case: manyLive.of(fleet), Ours: new(float64(r.MostLive))},
		{Case: manyTurn.of(fleet), Ours: medianOf(slices.Clone(r.TurnNS))},
		{Case: manyAsleep.of(fleet), Ours: new((r.Heap[last] - r.Heap[0]) / float64(r.Conversations))},
		{Case: manyFirst.of(fleet), Ours: new(r.Heap[1])},
		{Case: manyLast.of(fleet), Ours: new(r.Heap[last])},
	}
}

// maxFleetGrowth is by how much the memory of a fleet may seem to grow from the
// first round to the last, when all conversations sleep.
const maxFleetGrowth = 1.1

// manyGoals are those of a fleet.
func manyGoals(fleet string) []goal {
	return []goal{
		{text: fmt.Sprintf("%d conversations on %d CLIs, %d prompts each, all answered", fleetConversations, fleetLive, fleetRounds), met: func(find func(string) row) (string, bool) {
			asked, answered, live := find(manyAsked.of(fleet)).Ours, find(manyAnswered.of(fleet)).Ours, find(manyLive.of(fleet)).Ours
			if asked == nil || answered == nil || live == nil {
				return "", false
			}
			return fmt.Sprintf("%.0f of %.0f on %.0f", *answered, *asked, *live), *answered == *asked && *live <= fleetLive
		}},
		below("a sleeping conversation under 2 KiB", manyAsleep.of(fleet), "bytes", func(r row) *float64 { return r.Ours }, 2<<10),
		{text: "and memory flat over the rounds", met: func(find func(string) row) (string, bool) {
			r := ratio(find(manyLast.of(fleet)).Ours, find(manyFirst.of(fleet)).Ours)
			if r == nil {
				return "", false
			}
			return times(r), *r <= maxFleetGrowth
		}},
	}
}
