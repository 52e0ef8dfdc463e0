package natsfleet_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/claude-agent-go/claude/fleet/natsfleet"
)

// replicated is a stream whose replicas have got a different number of its changes. A
// message replaces the others of its subject.
type replicated struct {
	log  []string // the subjects, in order
	has  [3]int   // how many of them each replica has got
	rand *rand.Rand

	leader int // how many the leader has got, at least: it accepted a barrier behind them
	shown  int // the last change of a record that the last replica to answer had
}

func (r *replicated) barrier() uint64 {
	seq := r.store(natsfleet.BarrierSubject)
	r.leader = int(seq)
	return seq
}

func (r *replicated) store(subject string) uint64 {
	r.log = append(r.log, subject)
	return uint64(len(r.log))
}

// replica is any of them, when some have got more, and some records have changed.
func (r *replicated) replica(records, changes int) natsfleet.Replica {
	for range r.rand.IntN(changes + 1) {
		r.store(fmt.Sprintf("p.%d", r.rand.IntN(records)))
	}
	i := r.rand.IntN(len(r.has))
	r.has[i] += r.rand.IntN(len(r.log) - r.has[i] + 1)
	last := make(map[string]uint64)
	for at, subject := range r.log[:r.has[i]] {
		last[subject] = uint64(at + 1)
	}
	all := make(natsfleet.Replica)
	r.shown = 0
	for subject, seq := range last {
		all[seq] = subject
		if subject != natsfleet.BarrierSubject {
			r.shown = max(r.shown, int(seq))
		}
	}
	return all
}

// Whatever changes while pages are read, and whichever replica answers with each: all
// records are found, and the leader has what the replicas have shown.
func TestPagesOfReplicas(t *testing.T) {
	t.Parallel()
	read := 0
	for seed := range uint64(20_000) {
		r := &replicated{rand: rand.New(rand.NewPCG(seed, 0))}
		records := 1 + r.rand.IntN(12)
		for i := range records {
			r.store(fmt.Sprintf("p.%d", i))
		}
		changes := r.rand.IntN(5)
		subjects, err := natsfleet.ReadPages(t.Context(), 1+r.rand.IntN(6), r.barrier, func() natsfleet.Replica { return r.replica(records, changes) })
		if errors.Is(err, natsfleet.Stale) {
			continue // it is read again
		}
		if err != nil {
			t.Fatal(err)
		}
		read++
		if r.shown > r.leader {
			t.Fatalf("seed %d: a replica has shown change %d, and the leader may have no more than %d", seed, r.shown, r.leader)
		}
		found := make(map[string]bool)
		for _, subject := range subjects {
			found[subject] = true
		}
		if len(found) != records {
			t.Fatalf("seed %d: found %d of %d records: %v", seed, len(found), records, slices.Sorted(maps.Keys(found)))
		}
	}
	if read < 1000 {
		t.Errorf("only %d reads came to an end; this test shows little", read)
	}
}
