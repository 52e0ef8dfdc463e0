package schema

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestSchemasWithoutEnd(t *testing.T) {
	for schema, endless := range map[string]bool{
		`{"$ref":"#"}`:                true,
		`{"anyOf":[{"$ref":"#"}]}`:    true,
		`{"if":{"not":{"$ref":"#"}}}`: true,
		`{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"oneOf":[{"type":"string"},{"$ref":"#/$defs/b"}]},"b":{"$ref":"#/$defs/a"}}}`: true,
		`{"dependentSchemas":{"a":{"$ref":"#"}}}`:                                                    true,
		`{"$id":"http://x/y","$ref":"http://x/y"}`:                                                   true,
		`{"$ref":"#here","$defs":{"a":{"$anchor":"here","then":{"$ref":"#here"}}}}`:                  true,
		`{"properties":{"a~1/b":{"anyOf":[{"$ref":"#/properties/a~01~1b"}]}}}`:                       true,
		`{"items":{"items":{"anyOf":[{"$ref":"#/items/items"}]}}}`:                                   true,
		`{"items":{"$ref":"#"}}`:                                                                     false,
		`{"properties":{"next":{"$ref":"#"}}}`:                                                       false,
		`{"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}],"$defs":{"a":{"items":{"$ref":"#"}}}}`: false,
		`{"$ref":"http://x/o","$defs":{"o":{"$id":"http://x/o","items":{"$ref":"#"}}}}`:              false,
		// A dynamic reference means the outermost schema of that anchor.
		`{"$id":"http://x/r","$dynamicAnchor":"n","$ref":"mid","$defs":{"mid":{"$id":"mid","$dynamicRef":"leaf#n"},"leaf":{"$id":"leaf","$dynamicAnchor":"n","type":"object"}}}`:                true,
		`{"$id":"http://x/r","$dynamicAnchor":"n","$ref":"tree","$defs":{"tree":{"$id":"tree","$dynamicAnchor":"n","type":"object","properties":{"children":{"items":{"$dynamicRef":"#n"}}}}}}`: false,
	} {
		_, err := Parse(json.RawMessage(schema))
		if got := err != nil && strings.Contains(err.Error(), "without end"); got != endless || !endless && err != nil {
			t.Errorf("%s: %v, want it refused: %v", schema, err, endless)
		}
	}
}

// endlessRef describes itself by itself.
type endlessRef struct{}

func (endlessRef) JSONSchema() json.RawMessage { return json.RawMessage(`{"anyOf":[{"$ref":"#"}]}`) }

func TestTypeWithoutEnd(t *testing.T) {
	for _, typ := range []reflect.Type{reflect.TypeFor[endlessRef](), reflect.TypeFor[struct{ T endlessRef }]()} {
		if _, err := For(typ); err == nil || !strings.Contains(err.Error(), "without end") {
			t.Errorf("%v: %v", typ, err)
		}
	}
}

func TestDeepValues(t *testing.T) {
	s, err := Parse(json.RawMessage(`{"items":{"anyOf":[{"$ref":"#"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	deep := func(n int) json.RawMessage {
		return json.RawMessage(strings.Repeat("[", n) + `"[[\"["` + strings.Repeat("]", n))
	}
	if err := s.Validate(deep(maxDepth)); err != nil {
		t.Errorf("%d levels: %v", maxDepth, err)
	}
	for _, n := range []int{maxDepth + 1, 9_999, 1_000_000} {
		if err := s.Validate(deep(n)); err == nil || !strings.Contains(err.Error(), "nested deeper") {
			t.Errorf("%d levels: %.100v", n, err)
		}
	}
}
