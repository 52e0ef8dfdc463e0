package storetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/store"
)

// BenchmarkAppend measures what a turn costs a store: two batches of five entries
// of 2 KB.
func BenchmarkAppend(b *testing.B, s store.Store) {
	k := store.Key{Project: "benchmark", Session: "00000000-0000-4000-8000-000000000001"}
	pad := strings.Repeat("x", 2000)
	n := 0
	for b.Loop() {
		for range 2 {
			batch := store.Batch{ID: store.NewBatchID()}
			for range 5 {
				n++
				batch.Entries = append(batch.Entries, store.Entry(fmt.Sprintf(`{"type":"user","uuid":"%d","pad":%q}`, n, pad)))
			}
			if err := s.Append(b.Context(), k, batch); err != nil {
				b.Fatal(err)
			}
		}
	}
}
