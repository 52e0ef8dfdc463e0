package schema

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

type color string

func (color) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"type":"string","enum":["red","blue"]}`)
}

type broken struct{}

func (*broken) JSONSchema() json.RawMessage { return json.RawMessage(`{`) }

type tree struct {
	Label string
	Sub   []tree `json:"sub,omitempty"`
}

type list []list

type even struct{ Odd *odd }
type odd struct{ Even *even }

type self struct{}

func (*self) UnmarshalJSON([]byte) error { return nil }

type base struct {
	ID    string `json:"id"`
	Same  int
	Twice int
}

type other struct{ Twice int }

type outer struct {
	base
	*other
	Same bool `json:"Same"`
}

func TestFor(t *testing.T) {
	const object = `{"type":"object","properties":{`
	tests := []struct {
		name string
		of   any
		want string
	}{
		{"numbers", struct {
			A int
			B uint8
			C float32
			D json.Number
			E uint
			F int64
		}{}, object + `"A":{"type":"integer"},"B":{"type":"integer","minimum":0,"maximum":255},"C":{"type":"number"},"D":{"type":"number"},"E":{"type":"integer","minimum":0},"F":{"type":"integer"}},"required":["A","B","C","D","E","F"],"additionalProperties":false}`},
		{"optional", struct {
			A string  `json:"a,omitempty"`
			B bool    `json:"b,omitzero"`
			C *string `json:"c"`
			D **int   `json:"d"`
			e int
			F int `json:"-"`
		}{}, object + `"a":{"type":"string"},"b":{"type":"boolean"},"c":{"type":["string","null"]},"d":{"type":["integer","null"]}},"additionalProperties":false}`},
		{"slices", struct {
			A []string
			B [2]int
			C []byte
			D [][]bool
		}{}, object + `"A":{"type":"array","items":{"type":"string"}},"B":{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":2},"C":{"type":"string","contentEncoding":"base64"},"D":{"type":"array","items":{"type":"array","items":{"type":"boolean"}}}},"required":["A","B","C","D"],"additionalProperties":false}`},
		{"special", struct {
			A time.Time
			B json.RawMessage
			C any
			D time.Duration
			E netip.Addr
			F self
			G int `json:",string"`
		}{}, object + `"A":{"type":"string","description":"a time by RFC 3339, such as 2006-01-02T15:04:05Z","pattern":"^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?(Z|[+-]\\d\\d:\\d\\d)$"},"B":true,"C":true,"D":{"type":"integer","description":"a duration in nanoseconds"},"E":{"type":"string"},"F":true,"G":{"type":"string"}},"required":["A","B","C","D","E","F","G"],"additionalProperties":false}`},
		{"tags", struct {
			A string   `json:"a" jsonschema:"who it is" enum:"me,you"`
			B []string `enum:"x,y"`
			C int      `enum:"1,2"`
			D *string  `enum:"x"`
			E color
			F *color `jsonschema:"of the wall"`
		}{}, object + `"a":{"type":"string","description":"who it is","enum":["me","you"]},"B":{"type":"array","items":{"type":"string","enum":["x","y"]}},"C":{"type":"integer","enum":[1,2]},"D":{"type":["string","null"],"enum":["x",null]},"E":{"type":"string","enum":["red","blue"]},"F":{"description":"of the wall","anyOf":[{"type":"string","enum":["red","blue"]},{"type":"null"}]}},"required":["a","B","C","E"],"additionalProperties":false}`},
		{"embedded", outer{}, object + `"id":{"type":"string"},"Same":{"type":"boolean"}},"required":["id","Same"],"additionalProperties":false}`},
		{"map", map[string]int{}, `{"type":"object","additionalProperties":{"type":"integer"}}`},
		{"map of anything", map[int]any{}, `{"type":"object"}`},
		{"pointer", &struct{}{}, `{"type":"object","properties":{},"additionalProperties":false}`},
		{"recursive", tree{}, object + `"Label":{"type":"string"},"sub":{"type":"array","items":{"$ref":"#/definitions/tree"}}},"required":["Label"],"additionalProperties":false,"definitions":{"tree":` +
			object + `"Label":{"type":"string"},"sub":{"type":"array","items":{"$ref":"#/definitions/tree"}}},"required":["Label"],"additionalProperties":false}}}`},
		{"recursive list", list{}, `{"type":"array","items":{"$ref":"#/definitions/list"},"definitions":{"list":{"type":"array","items":{"$ref":"#/definitions/list"}}}}`},
		{"mutually recursive", even{}, object + `"Odd":{"type":["object","null"],"properties":{"Even":{"anyOf":[{"$ref":"#/definitions/even"},{"type":"null"}]}},"additionalProperties":false}},"additionalProperties":false,"definitions":{"even":` +
			object + `"Odd":{"type":["object","null"],"properties":{"Even":{"anyOf":[{"$ref":"#/definitions/even"},{"type":"null"}]}},"additionalProperties":false}},"additionalProperties":false}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := For(reflect.TypeOf(tt.of))
			if err != nil {
				t.Fatal(err)
			}
			got, want := normal(t, s.JSON()), normal(t, []byte(tt.want))
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %s\nwant %s", s.JSON(), tt.want)
			}
			if s.Dialect() != "" {
				t.Errorf("dialect %q", s.Dialect())
			}
		})
	}
}

func normal(t *testing.T, data []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return v
}

func TestOrderOfFields(t *testing.T) {
	s, err := For(reflect.TypeFor[struct{ Zeta, Alpha, Mid int }]())
	if err != nil {
		t.Fatal(err)
	}
	text := string(s.JSON())
	if !(strings.Index(text, `"Zeta":`) < strings.Index(text, `"Alpha":`) && strings.Index(text, `"Alpha":`) < strings.Index(text, `"Mid":`)) {
		t.Errorf("%s", text)
	}
}

func TestRefused(t *testing.T) {
	type node struct{ Next struct{ Signal chan int } }
	for want, of := range map[string]any{
		"field Next: field Signal: chan int cannot be JSON": node{},
		"func() cannot be JSON":                             struct{ F func() }{},
		"has keys that cannot be text":                      map[[2]int]string{},
		"unexpected end of JSON input":                      broken{},
		"is not a number": struct {
			A int `enum:"x"`
		}{},
		"an enum tag needs": struct {
			A bool `enum:"x"`
		}{},
		"cannot be JSON": []complex64{},
	} {
		if _, err := For(reflect.TypeOf(of)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v, want %q", of, err, want)
		}
	}
}

func TestForObject(t *testing.T) {
	if _, err := ForObject(reflect.TypeFor[int]()); err == nil || !strings.Contains(err.Error(), "use a struct or a map") {
		t.Errorf("int: %v", err)
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[any](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[map[string]any]()} {
		s, err := ForObject(typ)
		if err != nil || string(s.JSON()) != `{"type":"object"}` {
			t.Errorf("%v: %v, %v", typ, s, err)
		}
	}
}

func TestForAnswer(t *testing.T) {
	s, wrapped, err := ForAnswer(reflect.TypeFor[list]())
	if err != nil || !wrapped || !s.Object() {
		t.Fatalf("%v, %v", wrapped, err)
	}
	if err := s.Validate(json.RawMessage(`{"value":[[],[[]]]}`)); err != nil {
		t.Error(err)
	}
	if err := s.Validate(json.RawMessage(`{"value":[1]}`)); err == nil {
		t.Error("a number for a list")
	}
	value, err := Unwrap(json.RawMessage(`{"value":[]}`))
	if err != nil || string(value) != "[]" {
		t.Errorf("%s, %v", value, err)
	}
	if _, err := Unwrap(json.RawMessage(`{}`)); err == nil {
		t.Error("nothing was unwrapped")
	}
	if _, wrapped, err := ForAnswer(reflect.TypeFor[*tree]()); err != nil || wrapped {
		t.Errorf("%v, %v", wrapped, err)
	}
}

func TestValidate(t *testing.T) {
	s, err := For(reflect.TypeFor[struct {
		Name string    `json:"name"`
		Tags []string  `json:"tags,omitempty"`
		Kind string    `json:"kind,omitempty" enum:"a,b"`
		At   time.Time `json:"at,omitzero"`
		Tree *tree     `json:"tree"`
	}]())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ value, problem string }{
		{`{"name":"x"}`, ""},
		{`{"name":"x","tags":[],"kind":"b","tree":{"Label":"a","sub":[{"Label":"b"}]}}`, ""},
		{`{"name":"x","tree":null}`, ""},
		{`{}`, "name"},
		{`{"name":1}`, "name"},
		{`{"name":"x","tags":null}`, "tags"},
		{`{"name":"x","kind":"c"}`, "kind"},
		{`{"name":"x","more":1}`, "more"},
		{`{"name":"x","tree":{"Label":"a","sub":[{"Label":2}]}}`, "Label"},
		{`[]`, "object"},
		{`{`, "unexpected end"},
	} {
		err := s.Validate(json.RawMessage(tt.value))
		if (err == nil) != (tt.problem == "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("%s: %v, want %q", tt.value, err, tt.problem)
		}
		if err != nil {
			t.Logf("%s: %v", tt.value, err)
		}
	}
}

func TestParse(t *testing.T) {
	s, err := Parse(json.RawMessage(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"array"}`))
	if err != nil || s.Object() || s.Dialect() == "" {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []string{`{`, `{"type":7}`, `{"$ref":"#/nowhere"}`} {
		if _, err := Parse(json.RawMessage(bad)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}
