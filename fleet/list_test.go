package fleet_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/fleetload"
	"github.com/claude-agent-go/claude/store"
)

// countingReads counts the reads of a store, and the records that they return.
type countingReads struct {
	*store.FileStore
	calls, records atomic.Int64
}

func (c *countingReads) View(ctx context.Context, v store.View) ([]store.Record, error) {
	all, err := c.FileStore.View(ctx, v)
	c.calls.Add(1)
	c.records.Add(int64(max(1, len(all))))
	return all, err
}

func (c *countingReads) count(all iter.Seq2[store.Record, error]) iter.Seq2[store.Record, error] {
	c.calls.Add(1)
	return func(yield func(store.Record, error) bool) {
		for r, err := range all {
			if c.records.Add(1); !yield(r, err) {
				return
			}
		}
	}
}

func (c *countingReads) Scan(ctx context.Context, in store.Folder, after string) iter.Seq2[store.Record, error] {
	return c.count(c.FileStore.Scan(ctx, in, after))
}

// A list asks the store twice, however many conversations with prompts it has, and that
// of a tenant reads nothing of others.
func TestListReads(t *testing.T) {
	t.Parallel()
	files := store.Files(t.TempDir())
	files.NoSync = true
	db := &countingReads{FileStore: files}
	f := open(t, db, nil, func(o *fleet.Options) { o.Session, o.MaxLive = nil, fleet.NoCLIs })
	defer closeFleet(t, f)
	const tenants, each = 4, 5
	if err := fleetload.Fill(t.Context(), f, tenants, each); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		of   fleet.Conversations
		want int
	}{"all": {f, tenants * each}, "a tenant": {f.Tenant("t2"), each}, "a tenant without conversations": {f.Tenant("t"), 0}} {
		db.calls.Store(0)
		db.records.Store(0)
		got := 0
		for info, err := range test.of.List(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf("t2/c%d", got); name == "a tenant" && info.Key != want {
				t.Errorf("%s: conversation %d is %s, want %s", name, got, info.Key, want)
			}
			if got++; info.Queued != 1 || info.State != fleet.StatePending {
				t.Errorf("%s: %+v", name, info)
			}
		}
		if got != test.want {
			t.Errorf("%s: %d conversations, want %d", name, got, test.want)
		}
		if calls, records := db.calls.Load(), db.records.Load(); calls > 2 || records > int64(2*got) {
			t.Errorf("%s: %d calls of the store read %d records for %d conversations", name, calls, records, got)
		}
	}
}

// A list has an order: conversations without a tenant first.
func TestListOrder(t *testing.T) {
	t.Parallel()
	f := open(t, store.Memory(), nil, func(o *fleet.Options) { o.Session, o.MaxLive = nil, fleet.NoCLIs })
	defer closeFleet(t, f)
	want := []string{"B", "a", "zoe", "acme/B", "acme/a", "acme2/a", "beta/a"}
	for i := range want {
		if err := f.Describe(t.Context(), want[(i*3+2)%len(want)], fleet.Description{Title: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		of   fleet.Conversations
		want []string
	}{"all": {f, want}, "a tenant": {f.Tenant("acme"), want[3:5]}} {
		var got []string
		for info, err := range c.of.List(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, info.Key)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// BenchmarkList lists 10,000 conversations with a prompt each, and the 100 of a tenant.
func BenchmarkList(b *testing.B) {
	files := store.Files(b.TempDir())
	files.NoSync = true
	for name, db := range map[string]store.Fleet{"Memory": store.Memory(), "Files": files} {
		b.Run(name, func(b *testing.B) { benchmarkLists(b, db) })
	}
}

// benchmarkLists measures the lists of a store.
func benchmarkLists(b *testing.B, db store.Fleet) {
	f, lists, err := fleetload.Lists(b.Context(), db)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close(context.WithoutCancel(b.Context()))
	for _, list := range lists {
		b.Run(list.Name, func(b *testing.B) {
			for b.Loop() {
				if err := list.Read(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
