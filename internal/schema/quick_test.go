package schema

import (
	"encoding/json"
	"reflect"
	"testing"
)

// quickSchemas are simple ones, and what is near them.
func quickSchemas(t testing.TB) []*Schema {
	t.Helper()
	var all []*Schema
	for _, typ := range []reflect.Type{
		reflect.TypeFor[struct {
			A float64 `json:"a"`
			B int     `json:"b,omitempty"`
		}](),
		reflect.TypeFor[struct {
			Name  string            `json:"name" jsonschema:"who"`
			Tags  []string          `json:"tags"`
			Sub   *struct{ X bool } `json:"sub,omitempty"`
			Any   any               `json:"any,omitempty"`
			Extra map[string]any    `json:"extra,omitempty"`
		}](),
		reflect.TypeFor[map[string]int](),
	} {
		s, err := For(typ)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	for _, raw := range []string{
		`{"type":"object","properties":{"a":{"type":["integer","null"]},"b":{"type":"array"}},"required":["a"]}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"number"}}},"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{}},"required":["a"]}`,
		`{"type":"object","required":["a"]}`,
		`{"type":"object","properties":{"a":{"type":"string","maxLength":3}}}`,
		`{"properties":{"a":{"type":"string"}}}`,
	} {
		s, err := Parse(json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// What the quick check lets pass, the general one does too.
func FuzzQuick(f *testing.F) {
	for _, data := range []string{
		`{}`, `{"b":2}`, `{"a":1,"b":2}`, `{"a":1.5}`, `{"a":1e999}`, `{"a":-0,"b":1.0}`, `{"a":[1,2]}`, `{"a":null,"b":[{}]}`, `{"a":"abcd"}`, `{"a":"\ud83d"}`,
		`{"name":"x","tags":["y"],"sub":{"X":true},"any":{"n":1},"extra":{}}`, `{"a":1,"a":2}`, `{"A":1}`, `{"x":1}`, `[]`, `{`, `{"a":1}{}`, `{"a":` + string(make([]byte, 5)) + `}`,
	} {
		f.Add([]byte(data))
	}
	schemas := quickSchemas(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, s := range schemas {
			general := *s
			general.quick = nil
			if s.quick != nil && s.quick.fits(data) {
				if err := general.Validate(data); err != nil {
					t.Errorf("%s does not fit %s: %v", data, s.raw, err)
				}
			}
		}
	})
}

// The usual arguments of a tool are recognised without an allocation.
func TestQuick(t *testing.T) {
	schemas := quickSchemas(t)
	for i, tt := range []struct {
		data string
		fits bool
	}{
		{`{"a":1,"b":41}`, true},
		{`{"name":"walk","tags":["x","y"],"sub":{"X":true},"any":"z"}`, true},
		{`{}`, false}, // the values of a map are left to the general check
		{`{"a":null,"b":["x"]}`, true},
		{`{"a":[1,-2.5]}`, true},
		{`{"a":true}`, true},
		{`{"a":1}`, false}, // and so is a name that is required but not described
		{`{"a":"abc"}`, false},
		{`{"a":"abc"}`, false},
	} {
		q := schemas[i].quick
		if got := q != nil && q.fits([]byte(tt.data)); got != tt.fits {
			t.Errorf("%s fits %s: %v, want %v", tt.data, schemas[i].raw, got, tt.fits)
		}
		if data := []byte(tt.data); tt.fits {
			if n := testing.AllocsPerRun(100, func() { q.fits(data) }); n != 0 {
				t.Errorf("%s: %v allocations", tt.data, n)
			}
		}
	}
}
