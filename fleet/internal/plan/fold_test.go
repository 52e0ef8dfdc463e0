package plan

// folded leaves out of a world what cannot matter any longer, and the names of the
// processes: without that there would be too many worlds.
func (w world) folded() world {
	w.foldOverthrown()
	if w.s.deleted == 3 && !w.busy() {
		return world{s: records{deleted: 3, p: [2]prompt{w.s.p[0].ended(), w.s.p[1].ended()}, q: w.s.q}}
	}
	if w.s.deleted == 3 || w.s.deleted == 2 {
		w.foldDeleted()
	}
	if w.s.p[0].in == 2 && w.s.q.over() && !w.busy() && !(w.t.mid && w.s.p[1].in == 1) && w.o[0].turn != 1 && w.o[1].turn != 1 && !w.lost(0) && !w.lost(1) {
		w.t = lines{u: [2]bool{1: w.t.u[1] && !w.t.mid}, e: [2]bool{1: w.t.e[1]}}
		w.s.q, w.s.calls = question{}, [2]bool{}
		w.runs, w.acked, w.odd = [2]uint8{}, false, false
	}
	for i := range w.s.p {
		if w.s.p[i].in == 2 {
			w.s.p[i] = w.s.p[i].ended()
		}
	}
	if w.s.p[0].in == 2 || w.s.p[1].in == 2 {
		w.s.p[0].late, w.s.p[1].late = false, false
	}
	if less(&w.o[1], &w.o[0]) {
		w.o[0], w.o[1] = w.o[1], w.o[0]
		if w.lease != 0 {
			w.lease = 3 - w.lease
		}
	}
	if w.o[0] == w.o[1] && w.lease == 2 {
		w.lease = 1
	}
	return w
}

// ended is all that matters of a prompt that has its outcome.
func (p prompt) ended() prompt { return prompt{in: p.in, out: p.out} }

// busy reports whether a tool that was let go may still run.
func (w *world) busy() bool {
	for _, o := range w.o {
		if o.phase[0] == letGo || o.phase[1] == letGo {
			return true
		}
	}
	return false
}

// foldOverthrown leaves of an owner without its lease only the tools that it let go: it can
// store nothing.
func (w *world) foldOverthrown() {
	for i := range w.o {
		o := &w.o[i]
		if !o.has || w.lease == uint8(i+1) {
			continue
		}
		left := owner{}
		for c := range 2 {
			if o.turn == 1 && o.phase[c] == letGo {
				left.has, left.turn, left.phase[c], left.knows[c] = true, 1, letGo, o.knows[c]
			}
		}
		*o = left
	}
}

// foldDeleted leaves of a conversation whose questions are erased what is still to be done.
func (w *world) foldDeleted() {
	w.s.stuck, w.t, w.s.calls, w.acked, w.odd = 0, lines{}, [2]bool{}, false, false
	for i := range w.s.p {
		w.s.p[i] = w.s.p[i].ended()
	}
	for i := range w.o {
		o := &w.o[i]
		kept := owner{has: o.has, turn: o.turn}
		for c := range 2 {
			if o.phase[c] == letGo {
				kept.phase[c], kept.knows[c] = letGo, o.knows[c]
			}
		}
		*o = kept
	}
}

// less is any order of owners.
func less(a, b *owner) bool {
	for _, pair := range [][2]uint64{
		{a.packed(), b.packed()}, {a.snap.packed(), b.snap.packed()},
	} {
		if pair[0] != pair[1] {
			return pair[0] < pair[1]
		}
	}
	return false
}

func (o *owner) packed() uint64 {
	return pack(bit(o.has), bit(o.planned), bit(o.line), uint8(o.step), o.i, o.turn, uint8(o.phase[0]), uint8(o.phase[1]), bit(o.knows[0])|bit(o.knows[1])<<1, o.given)
}

func (p *prompt) packed() uint64 {
	return pack(p.in, bit(p.late), bit(p.sent), bit(p.steer), bit(p.cancelled), bit(p.interrupted), bit(p.waits), bit(p.moved), p.begun, p.resets, uint8(p.out))
}

// pack puts small numbers into one.
func pack(all ...uint8) (packed uint64) {
	for _, n := range all {
		packed = packed<<4 | uint64(n)
	}
	return packed
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}
