package form_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/claude-agent-go/claude/internal/form"
)

// The fields of a form have the order of the CLI, and take what fits them.
func TestFields(t *testing.T) {
	fields, err := form.Fields(json.RawMessage(`{"type":"object","required":["name","size"],"properties":{
		"name":{"type":"string","minLength":2,"title":"Name"},
		"size":{"type":"integer","minimum":1},
		"price":{"type":"number"},
		"gift":{"type":"boolean"},
		"colour":{"type":"string","enum":["r","b"],"enumNames":["Red","Blue"]},
		"tags":{"type":"array","items":{"oneOf":[{"const":"x","title":"X"},{"const":"y"}]},"minItems":1},
		"odd":7}}`), []string{"size", "nothing", "name", "size"})
	if err != nil {
		t.Fatal(err)
	}
	var order string
	by := make(map[string]*form.Field)
	for i := range fields {
		order += fields[i].Name + " "
		by[fields[i].Name] = &fields[i]
	}
	if order != "size name colour gift odd price tags " {
		t.Errorf("the order is %s", order)
	}
	if got := fmt.Sprint(by["colour"].Options(), by["tags"].Options(), by["name"].Options()); got != "[{r Red} {b Blue}] [{x X} {y y}] []" {
		t.Errorf("the options are %s", got)
	}
	for _, c := range []struct {
		field string
		texts []string
		want  string // JSON, or an error after a !
	}{
		{"name", []string{"Ada"}, `"Ada"`},
		{"name", []string{"A"}, "!"},
		{"name", nil, "!it is needed"},
		{"name", []string{"  "}, "!it is needed"},
		{"size", []string{" 3 "}, "3"},
		{"size", []string{"0"}, "!"},
		{"size", []string{"3.5"}, "!"},
		{"size", []string{"0x3"}, "!it is not a number"},
		{"size", []string{"NaN"}, "!it is not a number"},
		{"price", []string{"0.10000000000000000001"}, "0.10000000000000000001"},
		{"price", nil, "null"},
		{"gift", []string{"true"}, "true"},
		{"gift", []string{"maybe"}, "!it is neither true nor false"},
		{"colour", []string{"b"}, `"b"`},
		{"colour", []string{"Blue"}, `!"Blue" is not one of the options`},
		{"tags", []string{"x", "y"}, `["x","y"]`},
		{"tags", []string{"x", "z"}, `!"z" is not one of the options`},
		{"odd", []string{"text"}, `"text"`},
	} {
		value, err := by[c.field].Value(c.texts...)
		got, _ := json.Marshal(value)
		if c.want[0] == '!' {
			if err == nil || len(c.want) > 1 && err.Error() != c.want[1:] {
				t.Errorf("%s %q: %s, %v", c.field, c.texts, got, err)
			}
			continue
		}
		if err != nil || string(got) != c.want {
			t.Errorf("%s %q: %s, %v", c.field, c.texts, got, err)
		}
	}
	if _, err := form.Fields(json.RawMessage(`[]`), nil); err == nil {
		t.Error("a list is a form")
	}
}
