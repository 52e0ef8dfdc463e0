package schema

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// field is a field of a struct as encoding/json sees it.
type field struct {
	reflect.StructField
	name     string
	optional bool
	quoted   bool // the option "string"

	tagged bool
	index  []int
}

// fields returns the fields of a struct that JSON has, those of embedded
// structs included, in the order of the source. Of fields with the same name
// the least nested one counts, then the one that is named by a tag; if there
// are several, none does.
func fields(t reflect.Type) []field {
	byName := make(map[string][]field)
	for _, f := range candidates(t, nil, false, nil) {
		byName[f.name] = append(byName[f.name], f)
	}
	var all []field
	for _, same := range byName {
		slices.SortStableFunc(same, func(a, b field) int {
			return cmp.Or(cmp.Compare(len(a.index), len(b.index)), compareBool(b.tagged, a.tagged))
		})
		if len(same) > 1 && len(same[0].index) == len(same[1].index) && same[0].tagged == same[1].tagged {
			continue
		}
		all = append(all, same[0])
	}
	slices.SortFunc(all, func(a, b field) int { return slices.Compare(a.index, b.index) })
	return all
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// candidates returns every candidate. optional is true if they are behind a
// pointer; above are the structs around t.
func candidates(t reflect.Type, index []int, optional bool, above []reflect.Type) []field {
	if slices.Contains(above, t) {
		return nil
	}
	above = append(slices.Clone(above), t)
	var all []field
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Tag.Get("json") == "-" {
			continue
		}
		here := append(slices.Clone(index), i)
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if f.Anonymous && tag == "" && inner.Kind() == reflect.Struct {
			all = append(all, candidates(inner, here, optional || f.Type.Kind() == reflect.Pointer, above)...)
			continue
		}
		if !f.IsExported() {
			continue
		}
		has := func(option string) bool { return slices.Contains(strings.Split(options, ","), option) }
		all = append(all, field{
			StructField: f,
			name:        cmp.Or(tag, f.Name),
			optional:    optional || f.Type.Kind() == reflect.Pointer || has("omitempty") || has("omitzero"),
			quoted:      has("string"),
			tagged:      tag != "",
			index:       here,
		})
	}
	return all
}
