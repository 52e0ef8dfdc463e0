package schema

import (
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/google/jsonschema-go/jsonschema"
)

// checkRecursion refuses a schema that applies itself to the same value again, such
// as {"anyOf":[{"$ref":"#"}]}. Checking a value against it would never end, and
// a stack that overflows ends the whole program.
func checkRecursion(root *jsonschema.Schema) error {
	d := newDocument(root)
	const visiting, done = 1, 2
	state := make(map[*jsonschema.Schema]int)
	var visit func(*jsonschema.Schema) error
	visit = func(s *jsonschema.Schema) error {
		switch state[s] {
		case visiting:
			return fmt.Errorf("the schema at %q applies itself to the same value without end", "#"+d.places[s].path)
		case done:
			return nil
		}
		state[s] = visiting
		for _, next := range d.inPlaceSchemas(s) {
			if err := visit(next); err != nil {
				return err
			}
		}
		state[s] = done
		return nil
	}
	for _, s := range d.all {
		if err := visit(s); err != nil {
			return err
		}
	}
	return nil
}

// document is a schema with all that is in it, by the ways to refer to it.
type document struct {
	all    []*jsonschema.Schema
	places map[*jsonschema.Schema]place
	byURI  map[string]*jsonschema.Schema // with its fragment: a path or an anchor
	// By anchor, all that a dynamic reference to it may mean: which one depends
	// on how the value is come by.
	dynamic map[string][]*jsonschema.Schema
}

// place is where a schema stands.
type place struct {
	path string   // from the root of the document, as a JSON pointer
	base *url.URL // what references in it are relative to
}

func newDocument(root *jsonschema.Schema) *document {
	d := &document{
		places:  make(map[*jsonschema.Schema]place),
		byURI:   make(map[string]*jsonschema.Schema),
		dynamic: make(map[string][]*jsonschema.Schema),
	}
	d.add(root, "", "", new(url.URL))
	return d
}

// add notes a schema and what is in it. Inside is its path from the nearest
// schema around it that has an id.
func (d *document) add(s *jsonschema.Schema, path, inside string, base *url.URL) {
	if s == nil {
		return
	}
	if id, err := url.Parse(s.ID); err == nil && s.ID != "" {
		base, inside = base.ResolveReference(id), ""
	}
	d.all = append(d.all, s)
	d.places[s] = place{path, base}
	for _, fragment := range []string{inside, s.Anchor, s.DynamicAnchor} {
		if fragment != "" || inside == "" {
			d.byURI[address(base, fragment)] = s
		}
	}
	if s.DynamicAnchor != "" {
		d.dynamic[s.DynamicAnchor] = append(d.dynamic[s.DynamicAnchor], s)
	}
	for step, inner := range subschemas(s) {
		d.add(inner, path+step, inside+step, base)
	}
}

// address is the text of a reference to a place in a resource.
func address(base *url.URL, fragment string) string {
	whole := *base
	whole.Fragment, whole.RawFragment = "", ""
	return whole.String() + "#" + fragment
}

// inPlaceSchemas returns the schemas that are applied to the value of s itself, not
// to something in it.
func (d *document) inPlaceSchemas(s *jsonschema.Schema) []*jsonschema.Schema {
	next := slices.Concat(s.AllOf, s.AnyOf, s.OneOf, []*jsonschema.Schema{s.Not, s.If, s.Then, s.Else},
		slices.Collect(maps.Values(s.DependentSchemas)), slices.Collect(maps.Values(s.DependencySchemas)))
	for _, ref := range []string{s.Ref, s.DynamicRef} {
		to, err := url.Parse(ref)
		if ref == "" || err != nil {
			continue
		}
		target := d.places[s].base.ResolveReference(to)
		next = append(next, d.byURI[address(target, target.Fragment)])
		if ref == s.DynamicRef && target.Fragment != "" {
			next = append(next, d.dynamic[target.Fragment]...)
		}
	}
	return slices.DeleteFunc(next, func(s *jsonschema.Schema) bool { return s == nil })
}

// subschemas yields the schemas directly inside of one, with the step to them.
func subschemas(s *jsonschema.Schema) map[string]*jsonschema.Schema {
	all := make(map[string]*jsonschema.Schema)
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() {
			continue
		}
		step := "/" + keyword(v.Type().Field(i))
		switch part := v.Field(i).Interface().(type) {
		case *jsonschema.Schema:
			all[step] = part
		case []*jsonschema.Schema:
			for n, one := range part {
				all[step+"/"+strconv.Itoa(n)] = one
			}
		case map[string]*jsonschema.Schema:
			for name, one := range part {
				all[step+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name)] = one
			}
		}
	}
	return all
}

// keyword is the name that a field has in a schema.
func keyword(f reflect.StructField) string {
	switch f.Name {
	case "Items", "ItemsArray":
		return "items"
	case "DependencySchemas":
		return "dependencies"
	}
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// maxDepth bounds how deep a value may be nested. Each level costs the
// validation some kilobytes of stack, and arguments of tools come from a model.
const maxDepth = 512

// tooDeep reports whether JSON is nested deeper than maxDepth. Whether its
// brackets match is for the decoder to say.
func tooDeep(data []byte) bool {
	for _, depth := range jsonx.Structure(data) {
		if depth > maxDepth {
			return true
		}
	}
	return false
}
