package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
)

// referring describes itself as generators do: by a reference at the root.
type referring struct{}

func (referring) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://example.com/referring","$ref":"#/$defs/referring",
		"$defs":{"referring":{"type":"object","properties":{"next":{"$ref":"#"},"leaf":{"$ref":"#/$defs/tree"}}},"tree":{"type":"string"}}}`)
}

type circular struct{}

func (circular) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"$ref":"#/definitions/a","definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}}}`)
}

type selfReferring struct{}

func (selfReferring) JSONSchema() json.RawMessage { return json.RawMessage(`{"$ref":"#"}`) }

type danglingRef struct{}

func (danglingRef) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"$ref":"#/definitions/gone"}`)
}

type externalRef struct{}

func (externalRef) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"$ref":"https://example.com/schema"}`)
}

// A schema of a type's own may have definitions and a reference at its root,
// wherever the type stands, beside others with definitions of the same name.
func TestOwnDefinitions(t *testing.T) {
	root, err := ForObject(reflect.TypeFor[referring]())
	if err != nil {
		t.Fatal(err)
	}
	if !root.Object() || root.Dialect() != "" {
		t.Errorf("%s", root.JSON())
	}
	inside, err := For(reflect.TypeFor[struct {
		A referring  `json:"a"`
		B *referring `json:"b"`
		C tree       `json:"c"`
	}]())
	if err != nil {
		t.Fatal(err)
	}
	if _, wrapped, err := ForAnswer(reflect.TypeFor[referring]()); err != nil || wrapped {
		t.Errorf("wrapped %v, %v", wrapped, err)
	}
	list, _, err := ForAnswer(reflect.TypeFor[[]referring]())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		s     *Schema
		value string
		fits  bool
	}{
		{root, `{"leaf":"x","next":{"next":{"leaf":"y"}}}`, true},
		{root, `{"leaf":"x","next":{"next":{"leaf":7}}}`, false},
		{inside, `{"a":{"leaf":"x"},"b":null,"c":{"Label":"l","sub":[{"Label":"m"}]}}`, true},
		{inside, `{"a":{"leaf":"x"},"b":{"next":{"leaf":"x"}},"c":{"Label":"l"}}`, true},
		{inside, `{"a":{"leaf":{"Label":"l"}},"c":{"Label":"l"}}`, false},
		{inside, `{"a":{"leaf":"x"},"c":{"Label":"l","sub":["x"]}}`, false},
		{list, `{"value":[{"leaf":"x"}]}`, true},
		{list, `{"value":[{"leaf":1}]}`, false},
	} {
		if err := tt.s.Validate(json.RawMessage(tt.value)); (err == nil) != tt.fits {
			t.Errorf("%s: %v, want it to fit: %v\n%s", tt.value, err, tt.fits, tt.s.JSON())
		}
		if _, err := Parse(tt.s.JSON()); err != nil {
			t.Errorf("cannot be read again: %v", err)
		}
	}
}

type loop *loop

type ping *pong
type pong *ping

func TestRefusedWithoutEnd(t *testing.T) {
	for want, typ := range map[string]reflect.Type{
		"nothing but itself":               reflect.TypeFor[loop](),
		"ping points to":                   reflect.TypeFor[ping](),
		"field L: schema.loop points":      reflect.TypeFor[struct{ L loop }](),
		"elements: *schema.pong points":    reflect.TypeFor[[]*pong](),
		`"#/definitions/b" is nothing`:     reflect.TypeFor[circular](),
		`"#/definitions/selfReferring" is`: reflect.TypeFor[selfReferring](),
		"JSONSchema of schema.danglingRef": reflect.TypeFor[struct{ L danglingRef }](),
		"JSONSchema of schema.externalRef": reflect.TypeFor[externalRef](),
		"error is an interface with":       reflect.TypeFor[error](),
		"field S: fmt.Stringer is an in":   reflect.TypeFor[struct{ S fmt.Stringer }](),
		`field Q: the option "string"`: reflect.TypeFor[struct {
			Q string `json:",string"`
		}](),
		`field R: the option "string"`: reflect.TypeFor[struct {
			R *string `json:",string"`
		}](),
		`field H: the option "string"`: reflect.TypeFor[struct {
			H color `json:",string"`
		}](),
		`field T: the option "string"`: reflect.TypeFor[struct {
			T level `json:",string"`
		}](),
	} {
		if s, err := For(typ); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, %v, want %q", typ, s, err, want)
		}
	}
}

// level decodes from text.
type level int

func (*level) UnmarshalText([]byte) error { return nil }

// What a value of a type encodes as fits the schema of the type, and numbers
// that fit can be decoded.
func TestSchemaFitsType(t *testing.T) {
	type numbers struct {
		A int8
		B int16
		C int32
		D uint8
		E uint16
		F uint32
		G *int8
	}
	type texts struct {
		A int          `json:",string"`
		B *int         `json:",string"`
		C *bool        `json:",string"`
		D json.Number  `json:",string"`
		E *float64     `json:"e,string" enum:"1.5, 2"`
		F *json.Number `json:",string"`
	}
	type choice struct {
		A string   `enum:"x, y"`
		B int      `enum:"1, 2"`
		C []string `enum:" x ,y"`
	}
	for _, of := range []any{
		numbers{A: math.MinInt8, B: math.MinInt16, C: math.MinInt32, G: new(int8(math.MaxInt8))},
		numbers{math.MaxInt8, math.MaxInt16, math.MaxInt32, math.MaxUint8, math.MaxUint16, math.MaxUint32, nil},
		texts{A: 1, D: "2"},
		texts{A: 1, B: new(2), C: new(true), D: "2", E: new(1.5), F: new(json.Number("5"))},
		choice{"y", 2, []string{"x", "y"}},
	} {
		s, err := For(reflect.TypeOf(of))
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(of)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(data); err != nil {
			t.Errorf("%s: %v\n%s", data, err, s.JSON())
		}
	}
	s, err := For(reflect.TypeFor[numbers]())
	if err != nil {
		t.Fatal(err)
	}
	const fine = `{"A":0,"B":0,"C":0,"D":0,"E":0,"F":0}`
	if err := s.Validate(json.RawMessage(fine)); err != nil {
		t.Error(err)
	}
	for name, limits := range map[string][2]float64{
		"A": {math.MinInt8, math.MaxInt8}, "B": {math.MinInt16, math.MaxInt16}, "C": {math.MinInt32, math.MaxInt32},
		"D": {0, math.MaxUint8}, "E": {0, math.MaxUint16}, "F": {0, math.MaxUint32},
	} {
		for _, n := range []float64{limits[0] - 1, limits[1] + 1} {
			value := strings.Replace(fine, fmt.Sprintf(`%q:0`, name), fmt.Sprintf(`%q:%.0f`, name, n), 1)
			if err := s.Validate(json.RawMessage(value)); err == nil {
				t.Errorf("%s fits", value)
			}
			if err := json.Unmarshal([]byte(value), new(numbers)); err == nil {
				t.Errorf("%s can be decoded", value)
			}
		}
	}
}
