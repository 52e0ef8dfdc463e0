package main

import "slices"

// knot returns the nodes of the largest strongly connected component of a graph, in
// order; of several that are equally large, the one that has the first name. Tarjan's
// algorithm: each component is complete when the walk returns to the node by which it
// was entered.
func knot(edges map[string][]string) []string {
	w := &walk{edges: edges, index: make(map[string]int), low: make(map[string]int)}
	nodes := make([]string, 0, len(edges))
	for node := range edges {
		nodes = append(nodes, node)
	}
	slices.Sort(nodes)
	for _, node := range nodes {
		if w.index[node] == 0 {
			w.visit(node)
		}
	}
	return w.largest
}

type walk struct {
	edges   map[string][]string
	index   map[string]int // in which order nodes were met, from 1
	low     map[string]int // the first node of the stack that can be reached
	stack   []string
	largest []string
}

func (w *walk) visit(node string) {
	w.index[node] = len(w.index) + 1
	w.low[node] = w.index[node]
	w.stack = append(w.stack, node)
	for _, next := range w.edges[node] {
		switch {
		case w.index[next] == 0:
			w.visit(next)
			w.low[node] = min(w.low[node], w.low[next])
		case slices.Contains(w.stack, next):
			w.low[node] = min(w.low[node], w.index[next])
		}
	}
	if w.low[node] != w.index[node] {
		return
	}
	at := slices.Index(w.stack, node)
	component := slices.Sorted(slices.Values(w.stack[at:]))
	w.stack = w.stack[:at]
	if len(component) > len(w.largest) || len(component) == len(w.largest) && component[0] < w.largest[0] {
		w.largest = component
	}
}
