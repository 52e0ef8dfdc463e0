package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// embedOwnSchema returns the schema that a type gives of itself. There it is a
// document, here a part of one: its definitions move to those of the whole,
// and its references follow them.
func (in *inference) embedOwnSchema(t reflect.Type) (*jsonschema.Schema, error) {
	if s, ok := in.own[t]; ok {
		return s.CloneSchemas(), nil
	}
	s, err := ownSchema(t)
	if err != nil {
		return nil, fmt.Errorf("JSONSchema of %v: %w", t, err)
	}
	path, local := definitionPath, s.Definitions
	if s.Defs != nil {
		path, local = "#/$defs/", s.Defs
	}
	s.Definitions, s.Defs = nil, nil
	moved := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(local)) {
		moved[name] = in.uniqueName(name)
		in.definitions[moved[name]] = local[name]
	}
	move := func(ref string) (string, error) {
		name, inside := strings.CutPrefix(ref, path)
		name, rest, deeper := strings.Cut(name, "/")
		switch {
		case ref == "":
			return "", nil
		case ref == "#" && t.Name() != "":
			return definitionPath + in.name(t), nil
		case !inside || moved[name] == "":
			return "", fmt.Errorf("JSONSchema of %v: the reference %q leads to no definition", t, ref)
		case deeper:
			return definitionPath + moved[name] + "/" + rest, nil
		}
		return definitionPath + moved[name], nil
	}
	for _, part := range append(slices.Collect(maps.Values(local)), s) {
		if err := rewriteRefs(part, move); err != nil {
			return nil, err
		}
	}
	in.own[t] = s.CloneSchemas()
	return s, nil
}

// ownSchema asks a type for its schema, which must be whole: a reference that
// leads out of it would mean something else, or nothing, where it is put.
func ownSchema(t reflect.Type) (*jsonschema.Schema, error) {
	own := reflect.New(t).Interface().(interface{ JSONSchema() json.RawMessage })
	s := new(jsonschema.Schema)
	if err := json.Unmarshal(own.JSONSchema(), s); err != nil {
		return nil, err
	}
	s.Schema, s.ID = "", "" // the dialect and the name of the whole are ours
	if _, err := s.Resolve(nil); err != nil {
		return nil, err
	}
	return s, nil
}

// rewriteRefs changes the references in a schema.
func rewriteRefs(s *jsonschema.Schema, move func(string) (string, error)) (err error) {
	if s == nil {
		return nil
	}
	if s.Ref, err = move(s.Ref); err != nil {
		return err
	}
	for _, value := range reflect.ValueOf(s).Elem().Fields() {
		if !value.CanInterface() {
			continue
		}
		var inner []*jsonschema.Schema
		switch v := value.Interface().(type) {
		case *jsonschema.Schema:
			inner = []*jsonschema.Schema{v}
		case []*jsonschema.Schema:
			inner = v
		case map[string]*jsonschema.Schema:
			inner = slices.Collect(maps.Values(v))
		}
		for _, one := range inner {
			if err := rewriteRefs(one, move); err != nil {
				return err
			}
		}
	}
	return nil
}
