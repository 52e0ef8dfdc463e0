package inspect

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// decoder takes a document the way the typed decoders do and returns it as they
// would write it again.
type decoder struct {
	decode func(doc []byte) (again []byte, err error)
	// strict decoders return an error for a value that does not fit. Others skip
	// it.
	strict bool
}

// Bounds of the probing: names, and bytes of a document.
const (
	probeBudget = 4000
	probeSize   = 256 << 10
)

// known finds out which members of a document the typed decoders know, by asking
// them: a member that is gone when a document is written again, and whose value
// may be anything without an error, is one they do not know. Findings about a
// name are kept, so most documents cost only a walk over their members.
type known struct {
	roots  map[string]*place
	size   int // of a document that is looked at
	budget int
	spent  bool
}

// place is the knowledge about a place in documents of one type.
type place struct {
	verdict  verdict
	members  map[string]*place
	elements map[string]*place // of a list, by their type
}

type verdict int

const (
	unseen  verdict = iota
	unknown         // no decoder reads it
	opaque          // kept unchanged: its content is not examined
	object          // an object whose members are known or not
	table           // an object whose names are free
	list
	value
)

func newKnown() *known {
	return &known{roots: make(map[string]*place), size: probeSize, budget: probeBudget}
}

// unknown returns the members of a document that its decoder does not know, each
// with its path, under the name of the document.
func (k *known) unknown(d document) []string {
	if d.unknown != "" {
		return []string{d.unknown}
	}
	if d.decode == nil || len(d.body) > k.size {
		return nil
	}
	root := k.roots[d.name]
	if root == nil {
		root = &place{verdict: object}
		k.roots[d.name] = root
	}
	w := &walk{known: k, decoder: d.decoder, doc: d.body}
	w.object(root, d.body, d.name)
	return slices.DeleteFunc(w.found, func(name string) bool {
		return name == d.name+".subtype" // the envelope reads it
	})
}

// walk is the walk over one document.
type walk struct {
	decoder
	known *known
	doc   []byte
	tree  any   // doc, decoded when the first probe needs it
	left  any   // doc after decoding
	fits  *bool // that went without an error; nil: not tried
	path  []any
	found []string
}

// object looks at the members of an object.
func (w *walk) object(p *place, raw []byte, name string) {
	members, err := jsonx.Walk(raw)
	for err == nil {
		var key, val []byte
		if key, val, err = members.Next(); key == nil || err != nil {
			return
		}
		at := "*"
		if p.verdict == object {
			at = string(key)
		}
		m := p.members[at]
		w.path = append(w.path, string(key))
		if m == nil || m.verdict == unseen {
			if m = w.probe(); m == nil {
				w.path = w.path[:len(w.path)-1]
				continue
			}
			if p.members == nil {
				p.members = make(map[string]*place)
			}
			p.members[at] = m
		}
		w.value(m, val, name+"."+at)
		w.path = w.path[:len(w.path)-1]
	}
}

// value looks into a value, as deep as its place demands.
func (w *walk) value(p *place, raw []byte, name string) {
	if p.verdict == unknown {
		w.found = append(w.found, name)
		return
	}
	// A place may hold values of several kinds: what was found out of another
	// kind does not count.
	switch {
	case len(raw) == 0 || p.verdict == opaque:
	case raw[0] == '{':
		if p.verdict == value || p.verdict == list {
			p.verdict = w.shape()
		}
		if p.verdict == object || p.verdict == table {
			w.object(p, raw, name)
		}
	case raw[0] == '[':
		w.list(p, raw, name)
	}
}

// list looks at the objects in a list. Those of different types are different
// places.
func (w *walk) list(p *place, raw []byte, name string) {
	var elements []json.RawMessage
	if jsonx.Unmarshal(raw, &elements) != nil {
		return
	}
	for i, e := range elements {
		if len(e) == 0 || e[0] != '{' {
			continue
		}
		kind := jsonx.Text(jsonx.Member(e, "type"))
		at := p.elements[kind]
		w.path = append(w.path, i)
		if at == nil {
			if at = (&place{verdict: w.shape()}); at.verdict == unseen {
				w.path = w.path[:len(w.path)-1]
				return
			}
			if p.elements == nil {
				p.elements = make(map[string]*place)
			}
			p.elements[kind] = at
		}
		w.value(at, e, name+"["+kind+"]")
		w.path = w.path[:len(w.path)-1]
	}
}

// probes are values of all kinds, none of them zero. A strict decoder refuses one
// of the first two, or keeps it, whatever it wants.
var probes = [...]string{`{"probe":"probe"}`, `["probe"]`, `true`, `7`, `"probe"`, `[{}]`}

// probe finds out about the member at the path; nil when there is no budget left.
func (w *walk) probe() *place {
	if !w.spend() {
		return nil
	}
	own := getValue(w.source(), w.path)
	if obj, ok := own.(map[string]any); ok && len(obj) == 0 {
		return nil // it is empty, so no decoder would keep it
	}
	_, known := get(w.plain(), w.path)
	for i, probe := range probes {
		if known || w.strict && i == 2 {
			break
		}
		var v any
		_ = jsonx.Unmarshal([]byte(probe), &v) // it is sound
		known = w.keeps(v)
	}
	if !known && (w.strict || !w.keeps(filled(own))) {
		return &place{verdict: unknown}
	}
	return &place{verdict: w.shape()}
}

func (w *walk) spend() bool {
	if w.known.budget == 0 {
		w.known.spent = true
		return false
	}
	w.known.budget--
	return true
}

// shape finds out how the value at the path is decoded.
func (w *walk) shape() verdict {
	tree, ok := get(w.source(), w.path)
	if !ok {
		return value
	}
	if _, isList := tree.([]any); isList {
		return list
	}
	obj, isObject := tree.(map[string]any)
	if !isObject {
		return value
	}
	if !w.spend() {
		return unseen
	}
	const name = "a name that nobody uses"
	more := kind(obj)
	more[name] = 7.0
	again, at, err := w.again(more)
	if err != nil && !w.broken() {
		return table // it wanted the value to be something else
	}
	if _, kept := get(again, append(at, name)); kept {
		return opaque
	}
	return object
}

// keeps reports whether the member at the path is still there after decoding, or
// was refused, when it has this value.
func (w *walk) keeps(v any) bool {
	again, at, err := w.again(v)
	_, kept := get(again, at)
	return kept || err != nil && v != nil && !w.broken()
}

// plain is the part of the document itself that survives decoding.
func (w *walk) plain() any {
	if w.fits == nil {
		out, err := w.decode(w.doc)
		fits := err == nil
		w.fits = &fits
		_ = jsonx.Unmarshal(out, &w.left) // nothing is left then
	}
	return w.left
}

// broken reports whether the document does not fit by itself, whatever stands at
// the path.
func (w *walk) broken() bool {
	w.plain()
	return !*w.fits
}

// filled returns a value in which nothing is zero: decoders leave out what is.
func filled(v any) any {
	switch v := v.(type) {
	case bool:
		return true
	case float64:
		return 7.0
	case string:
		return "probe"
	case []any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = filled(v[i])
		}
		return all
	case map[string]any:
		all := make(map[string]any, len(v))
		for name := range v {
			all[name] = filled(v[name])
		}
		return all
	}
	return v
}

// source is the document as a tree.
func (w *walk) source() any {
	if w.tree == nil {
		_ = jsonx.Unmarshal(w.doc, &w.tree) // a document that cannot be read keeps nothing
	}
	return w.tree
}

// again returns the part of a value at the path that survives decoding, and
// where. It leaves out the rest of the document, except for the members that
// determine its type: decoding a small document is cheap.
func (w *walk) again(v any) (tree any, at []any, err error) {
	small, at := around(w.source(), w.path, v)
	doc, err := jsonx.Marshal(small)
	if err != nil {
		return nil, at, nil
	}
	out, err := w.decode(doc)
	_ = jsonx.Unmarshal(out, &tree) // nothing is left then
	return tree, at, err
}

// around returns a tree with a value at the end of a path, and the path in it.
func around(tree any, path []any, v any) (small any, at []any) {
	if len(path) == 0 {
		return v, nil
	}
	switch step := path[0].(type) {
	case string:
		obj, _ := tree.(map[string]any)
		out := kind(obj)
		inner, rest := around(obj[step], path[1:], v)
		out[step] = inner
		return out, append([]any{step}, rest...)
	case int:
		list, _ := tree.([]any)
		if step < len(list) {
			tree = list[step]
		}
		inner, rest := around(tree, path[1:], v)
		return []any{inner}, append([]any{0}, rest...)
	}
	return v, nil
}

// kind returns the members of an object that determine its type.
func kind(obj map[string]any) map[string]any {
	out := make(map[string]any, 4)
	for _, name := range []string{"type", "subtype", "hook_event_name"} {
		if text, ok := obj[name].(string); ok {
			out[name] = text
		}
	}
	return out
}

// get returns the value at a path.
func get(tree any, path []any) (any, bool) {
	for _, step := range path {
		switch at := step.(type) {
		case string:
			obj, _ := tree.(map[string]any)
			v, ok := obj[at]
			if !ok {
				return nil, false
			}
			tree = v
		case int:
			l, _ := tree.([]any)
			if at >= len(l) {
				return nil, false
			}
			tree = l[at]
		}
	}
	return tree, true
}

func getValue(tree any, path []any) any {
	v, _ := get(tree, path)
	return v
}

// pathName makes a name for documents of a type.
func pathName(parts ...string) string {
	return strings.Trim(strings.Join(parts, "/"), "/")
}
