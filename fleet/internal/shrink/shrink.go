// Package shrink removes members of maps and slices, and gives memory back.
//
// Maps and slices keep the room that they needed when they were largest. A fleet may
// have ten thousand conversations that wait, and an hour later none, so what shrinks to
// a small part of its room moves to a smaller one.
package shrink

import (
	"maps"
	"slices"
)

const (
	smallRoom = 64 // which is not worth a move
	roomKept  = 8  // how many times too large a room may be
)

// roomy reports whether so many members are few for a room.
func roomy(members, room int) bool { return room > smallRoom && members <= room/roomKept }

// Drop removes a member from a map. The most that it had since it moved is kept in
// most, so every removal from the map must use Drop. A loop over the map stays right:
// it sees the members that were there when the map moved. The caller holds the lock of
// the map.
func Drop[K comparable, V any](m *map[K]V, most *int, k K) {
	*most = max(*most, len(*m))
	delete(*m, k)
	if !roomy(len(*m), *most) {
		return
	}
	left := make(map[K]V, len(*m)) // a clone would be as large
	maps.Copy(left, *m)
	*m, *most = left, len(left)
}

// Last removes the last item of a slice, and returns it.
func Last[T any](s *[]T) T {
	last := len(*s) - 1
	x := (*s)[last]
	clear((*s)[last:])
	*s = (*s)[:last]
	if roomy(last, cap(*s)) {
		*s = slices.Clone(*s)
	}
	return x
}
