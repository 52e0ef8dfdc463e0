package workspace

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A new pack has the objects that neither the base nor an earlier pack has.
func TestLacks(t *testing.T) {
	packs := func(n int) (all []gitPack) {
		for i := range n {
			all = append(all, gitPack{Objects: []string{fmt.Sprint("c", i)}})
		}
		return all
	}
	for name, tt := range map[string]struct {
		now      gitState
		last     *gitState
		objects  []string
		keep     int
		headTree string
	}{
		"nothing yet":             {now: gitState{Tip: "base", Head: "base", Staged: "baseTree"}},
		"a commit":                {now: gitState{Tip: "c9", Head: "c9", Staged: "tree"}, headTree: "tree", objects: []string{"c9"}},
		"a commit and a change":   {now: gitState{Tip: "c9", Head: "c9", Staged: "other"}, headTree: "tree", objects: []string{"c9", "other"}},
		"elsewhere":               {now: gitState{Tip: "c8", Head: "c9"}, objects: []string{"c8", "c9"}},
		"a commit more":           {now: gitState{Tip: "c9", Head: "c9"}, last: &gitState{Base: "base", Packs: packs(2)}, objects: []string{"c9"}, keep: 2},
		"the same":                {now: gitState{Tip: "c1", Head: "c0"}, last: &gitState{Base: "base", Packs: packs(2)}, keep: 2},
		"back at the base":        {now: gitState{Tip: "base", Head: "base"}, last: &gitState{Base: "base", Packs: packs(2)}, keep: 2},
		"another base":            {now: gitState{Tip: "c1", Head: "c1"}, last: &gitState{Base: "old", Packs: packs(2)}, objects: []string{"c1"}},
		"too many packs":          {now: gitState{Tip: "c99", Head: "c1"}, last: &gitState{Base: "base", Packs: packs(maxPacks)}, objects: []string{"c99", "c1"}},
		"many packs and the same": {now: gitState{Tip: "c1", Head: "c1"}, last: &gitState{Base: "base", Packs: packs(maxPacks)}, keep: maxPacks},
	} {
		tt.now.Base = "base"
		objects, keep := tt.now.lacks(tt.headTree, "baseTree", tt.last)
		if !slices.Equal(objects, tt.objects) || len(keep) != tt.keep {
			t.Errorf("%s: lacks %q and keeps %d packs", name, objects, len(keep))
		}
	}
}

// A blob is known by its name in both of git's formats, and nothing else is.
func TestIsObject(t *testing.T) {
	const sha1Name, sha256Name = "b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0", "8aac45e7a0e8ff1d3bcbc4d0d3df9bb9f1b3ef0f4b2fe83a3dd2e6fb0e56a1aa"
	for _, tt := range []struct {
		text   string
		size   int64
		object string
		want   bool
	}{
		{"hello", 5, sha1Name, true}, {"hello!", 5, sha1Name, false}, {"hell", 5, sha1Name, false}, {"Hello", 5, sha1Name, false},
		{"hello", 5, sha256Name, false}, {"hello", 5, "b6fc", false},
	} {
		if got := isObject(strings.NewReader(tt.text), tt.size, tt.object); got != tt.want {
			t.Errorf("%q, %d bytes: %v", tt.text, tt.size, got)
		}
	}
}
