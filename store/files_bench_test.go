package store_test

import (
	"fmt"
	"testing"

	"github.com/claude-agent-go/claude/store"
)

func BenchmarkFilesRecords(b *testing.B) {
	for _, nosync := range []bool{false, true} {
		s := store.Files(b.TempDir())
		s.NoSync = nosync
		value := make([]byte, 500)
		rev := make([]int64, 100)
		key := func(i int) store.RecordKey {
			return store.RecordKey{Project: "p", Kind: "k", Name: fmt.Sprintf("f/%03d", i)}
		}
		put := func(i int) {
			var err error
			if rev[i], err = store.Put(b.Context(), s, key(i), value, rev[i], store.Fence{}); err != nil {
				b.Fatal(err)
			}
		}
		for i := range 100 {
			put(i)
		}
		b.Run(fmt.Sprint("put/nosync=", nosync), func(b *testing.B) {
			for b.Loop() {
				put(0)
			}
		})
		b.Run(fmt.Sprint("5puts/nosync=", nosync), func(b *testing.B) {
			for b.Loop() {
				for i := range 5 {
					put(i)
				}
			}
		})
		b.Run(fmt.Sprint("change5/nosync=", nosync), func(b *testing.B) {
			for b.Loop() {
				var all []store.RecordChange
				for i := range 5 {
					all = append(all, store.RecordChange{Key: key(i), Value: value, Revision: rev[i]})
				}
				next, err := s.Change(b.Context(), store.Fence{}, all...)
				if err != nil {
					b.Fatal(err)
				}
				copy(rev, next)
			}
		})
		b.Run(fmt.Sprint("view100/nosync=", nosync), func(b *testing.B) {
			for b.Loop() {
				all, err := s.View(b.Context(), store.View{Folders: []store.Folder{{Project: "p", Kind: "k", Name: "f"}}})
				if err != nil || len(all) != 100 {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprint("get/nosync=", nosync), func(b *testing.B) {
			for b.Loop() {
				if _, err := store.Get(b.Context(), s, key(3)); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprint("scan100/nosync=", nosync), func(b *testing.B) {
			for b.Loop() {
				n := 0
				for _, err := range s.Scan(b.Context(), store.Folder{Project: "p", Kind: "k", Name: "f"}, "") {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				if n != 100 {
					b.Fatal(n)
				}
			}
		})
	}
}
