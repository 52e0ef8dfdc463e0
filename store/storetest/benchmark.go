package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// BenchmarkAppend measures what a turn costs a store: two batches of five entries
// of 2 KB, under the fence of a lease. The metric median-ns is that of the turns.
func BenchmarkAppend(b *testing.B, s store.Sessions) {
	k := store.Key{Project: "benchmark", Session: "00000000-0000-4000-8000-000000000001"}
	lease, err := s.Acquire(b.Context(), k.Project, k.Session, "benchmark", time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	pad := strings.Repeat("x", 2000)
	n := 0
	var times []time.Duration
	for b.Loop() {
		begin := time.Now()
		for range 2 {
			batch := store.Batch{ID: storeimpl.NewBatchID(), Fence: lease.Fence}
			for range 5 {
				n++
				batch.Entries = append(batch.Entries, store.Entry(fmt.Sprintf(`{"type":"user","uuid":"%d","pad":%q}`, n, pad)))
			}
			if err := s.Append(b.Context(), k, batch); err != nil {
				b.Fatal(err)
			}
		}
		times = append(times, time.Since(begin))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2]), "median-ns")
}
