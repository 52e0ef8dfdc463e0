package secret

import "bytes"

// fewValues is how many values are looked for one after the other, which is faster
// than a matcher as long as there are not many.
const fewValues = 8

// matcher finds any of many values in a text, in one walk whatever their number
// (the automaton of Aho and Corasick). A recording may name thousands.
type matcher struct {
	root  [256]int32 // nodes of one byte
	nodes []node     // the first is the root
}

// node stands for the beginning of a value.
type node struct {
	child, sibling int32 // of the next byte; 0: none
	fail           int32 // the longest other beginning that this one ends with
	longest        int32 // of the values that this one ends with
	depth          int32
	last           byte
}

func newMatcher(values [][]byte) *matcher {
	f := &matcher{nodes: make([]node, 1)}
	for _, value := range values {
		f.insert(value)
	}
	// In order of their depth: what a node falls back to is shorter.
	queue := make([]int32, 0, len(f.nodes))
	for _, n := range f.root {
		if n != 0 {
			queue = append(queue, n)
		}
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for c := f.nodes[at].child; c != 0; c = f.nodes[c].sibling {
			fail := f.step(f.nodes[at].fail, f.nodes[c].last)
			f.nodes[c].fail = fail
			f.nodes[c].longest = max(f.nodes[c].longest, f.nodes[fail].longest)
			queue = append(queue, c)
		}
	}
	return f
}

func (f *matcher) insert(value []byte) {
	at := int32(0)
	for i, b := range value {
		next := f.child(at, b)
		if next == 0 {
			next = int32(len(f.nodes))
			f.nodes = append(f.nodes, node{last: b, depth: int32(i) + 1})
			if at == 0 {
				f.root[b] = next
			} else {
				f.nodes[next].sibling = f.nodes[at].child
				f.nodes[at].child = next
			}
		}
		at = next
	}
	f.nodes[at].longest = f.nodes[at].depth
}

// child is the node that follows by a byte, 0 if there is none.
func (f *matcher) child(at int32, b byte) int32 {
	if at == 0 {
		return f.root[b]
	}
	c := f.nodes[at].child
	for c != 0 && f.nodes[c].last != b {
		c = f.nodes[c].sibling
	}
	return c
}

// step is the longest beginning that what was read so far ends with, after one
// more byte.
func (f *matcher) step(at int32, b byte) int32 {
	for {
		if next := f.child(at, b); next != 0 {
			return next
		}
		if at == 0 {
			return 0
		}
		at = f.nodes[at].fail
	}
}

// spans returns where values stand in text: for each end the longest, which
// covers the others.
func (f *matcher) spans(text []byte) []span {
	var all []span
	at := int32(0)
	for i, b := range text {
		at = f.step(at, b)
		if n := int(f.nodes[at].longest); n > 0 {
			all = append(all, span{i + 1 - n, i + 1})
		}
	}
	return all
}

// valueSpans returns the secrets that are known by their value.
func (s *Set) valueSpans(text []byte) []span {
	if s == nil || len(text) == 0 {
		return nil
	}
	if len(s.values) > fewValues {
		return s.valueMatcher().spans(text)
	}
	var all []span
	for _, value := range s.values {
		for from := 0; ; {
			i := bytes.Index(text[from:], value)
			if i < 0 {
				break
			}
			all = append(all, span{from + i, from + i + len(value)})
			from += i + 1
		}
	}
	return all
}

// valueMatcher returns the matcher of the values. It is made when it is first needed;
// two that are made at once are the same.
func (s *Set) valueMatcher() *matcher {
	if f := s.matcher.Load(); f != nil {
		return f
	}
	f := newMatcher(s.values)
	s.matcher.Store(f)
	return f
}
