package history

import (
	"os"
	"slices"
	"strings"
)

// A session has copies when a directory was moved, or the whole configuration was copied.
// The newest that can be shown stands for it, in listings and everywhere else: what a person
// clicks on is then also what is read, renamed and continued.

// shownFirst puts the copy that stands for a session before the others. Places are ordered,
// newest first, and stay so if none can be shown.
func shownFirst(r *os.Root, found []place) {
	if len(found) < 2 {
		return
	}
	if i := firstShown(r, found); i > 0 {
		shown := found[i]
		copy(found[1:], found[:i])
		found[0] = shown
	}
}

// firstShown returns the index of the first place that can be shown, -1 if none can.
func firstShown(r *os.Root, found []place) int {
	var e edges
	return slices.IndexFunc(found, func(p place) bool {
		_, err := e.read(r, p)
		return err == nil
	})
}

// passed are the places before a page whose sessions have another copy on the page or after
// it, by id. They are read only when such a session is to be listed.
type passed []place

func passedBy(earlier, later []place) passed {
	again := make(map[string]bool, len(later))
	for _, p := range later {
		again[p.id] = true
	}
	all := slices.DeleteFunc(slices.Clone(earlier), func(p place) bool { return !again[p.id] })
	slices.SortFunc(all, func(a, b place) int { return strings.Compare(a.id, b.id) })
	return all
}

// shown reports whether an earlier page has shown a session.
func (p passed) shown(r *os.Root, id string) bool {
	first, _ := slices.BinarySearchFunc(p, id, func(p place, id string) int { return strings.Compare(p.id, id) })
	copies := p[first:]
	if end := slices.IndexFunc(copies, func(p place) bool { return p.id != id }); end >= 0 {
		copies = copies[:end]
	}
	return len(copies) > 0 && firstShown(r, copies) >= 0
}
