package natsfleet_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/claude-agent-go/claude/fleet/natsfleet"
)

// growing is the subject of a transcript whose replicas have got a different number of
// its changes: entries are added, and now and then one message replaces all others.
type growing struct {
	first []uint64 // of each change, which message is the first that it leaves
	has   [3]int   // how many changes each replica has got
	rand  *rand.Rand
}

func (g *growing) grow(most int) {
	for range g.rand.IntN(most + 1) {
		seq, first := uint64(len(g.first)+1), uint64(1)
		if g.rand.IntN(8) == 0 {
			first = seq
		} else if len(g.first) > 0 {
			first = g.first[len(g.first)-1]
		}
		g.first = append(g.first, first)
	}
}

func (g *growing) last() uint64 { return uint64(len(g.first)) }

// replica is any of them, when some have got more, and the subject has grown.
func (g *growing) replica() natsfleet.Replica {
	g.grow(g.rand.IntN(2))
	i := g.rand.IntN(len(g.has))
	g.has[i] += g.rand.IntN(len(g.first) - g.has[i] + 1)
	all := make(natsfleet.Replica)
	if g.has[i] > 0 {
		for seq := g.first[g.has[i]-1]; seq <= uint64(g.has[i]); seq++ {
			all[seq] = "t.e"
		}
	}
	return all
}

// Whatever is appended or compacted while a transcript is read, and whichever
// replica answers with each page, the reader gets all of it, in order.
func TestSubjectOfReplicas(t *testing.T) {
	t.Parallel()
	read := 0
	for seed := range uint64(20_000) {
		g := &growing{rand: rand.New(rand.NewPCG(seed, 0))}
		g.grow(20)
		began := g.last()
		seqs, err := natsfleet.ReadSubject(t.Context(), 1+g.rand.IntN(6), g.last, g.replica)
		if errors.Is(err, natsfleet.Stale) {
			continue // it is read again
		}
		if err != nil {
			t.Fatal(err)
		}
		read++
		if !slices.IsSorted(seqs) {
			t.Fatalf("seed %d: %v", seed, seqs)
		}
		if len(seqs) == 0 && began == 0 {
			continue
		}
		if len(seqs) == 0 || seqs[len(seqs)-1] < began {
			t.Fatalf("seed %d: message %d was there before, and is not in %v", seed, began, seqs)
		}
		last := seqs[len(seqs)-1]
		for seq := g.first[last-1]; seq <= last; seq++ {
			if !slices.Contains(seqs, seq) {
				t.Fatalf("seed %d: message %d is missing in %v, there were those from %d to %d", seed, seq, seqs, g.first[last-1], last)
			}
		}
	}
	if read < 1000 {
		t.Errorf("only %d reads came to an end; this test shows little", read)
	}
}

// A transcript to which something is added whenever it is looked at can be read.
func TestSubjectThatAlwaysGrows(t *testing.T) {
	t.Parallel()
	all := natsfleet.Replica{1: "t.e"}
	grow := func() uint64 {
		last := uint64(len(all) + 1)
		all[last] = "t.e"
		return last
	}
	seqs, err := natsfleet.ReadSubject(t.Context(), 3, grow, func() natsfleet.Replica {
		grow()
		return maps.Clone(all)
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, seq := range seqs {
		if seq != uint64(i+1) {
			t.Fatalf("message %d is missing in %v", i+1, seqs)
		}
	}
}
