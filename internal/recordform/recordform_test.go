package recordform_test

import (
	"errors"
	"testing"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/recordform"
	"github.com/claude-agent-go/claude/store"
)

type thing struct {
	Name    string        `json:"name,omitzero"`
	Unknown jsonx.Unknown `json:",embed"`
}

// Records say their version; those of programs that knew none are read as ever, newer
// ones are refused, and members that are not known survive a change.
func TestForm(t *testing.T) {
	for stored, want := range map[string]string{
		`{"v":1,"name":"a"}`:               `{"v":1,"name":"b"}`,
		`{"v":1}`:                          `{"v":1,"name":"b"}`,
		`{}`:                               `{"v":1,"name":"b"}`,
		`{"name":"a"}`:                     `{"v":1,"name":"b"}`,
		`{"name":"a","v":1}`:               `{"v":1,"name":"b"}`,
		`{"name":"a","more":{"x":[1, 2]}}`: `{"v":1,"name":"b","more":{"x":[1,2]}}`,
		`{"v":1,"more":true,"name":"a","last":0}`: `{"v":1,"name":"b","more":true,"last":0}`,
		`{"a \"b\"":1,"name":"a"}`:                `{"v":1,"name":"b","a \"b\"":1}`,
		` { "v" : 1 , "name" : "a" } `:            `{"v":1,"name":"b"}`,
	} {
		var v thing
		if err := recordform.Decode(store.Record{Value: []byte(stored)}, &v); err != nil {
			t.Errorf("%s: %v", stored, err)
			continue
		}
		v.Name = "b"
		if got, err := recordform.Encode(&v); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", stored, got, err, want)
		}
	}
	for stored, want := range map[string]error{
		`{"v":2,"name":"a"}`:  store.ErrNewer,
		`{"v":12,"name":"a"}`: store.ErrNewer,
		`{"name":"a","v":2}`:  store.ErrNewer,
		`{"v":"1"}`:           store.ErrDamaged,
		`{"v":0}`:             store.ErrDamaged,
		`{"v":1.5}`:           store.ErrDamaged,
		`{"v":1,`:             store.ErrDamaged,
		`{"v":1`:              store.ErrDamaged,
		``:                    store.ErrDamaged,
		`[]`:                  store.ErrDamaged,
	} {
		if err := recordform.Decode(store.Record{Value: []byte(stored)}, new(thing)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", stored, err, want)
		}
	}
	if _, err := recordform.Encode([]int{1}); err == nil {
		t.Error("a list is not an object")
	}
}
