package serve

import (
	"reflect"
	"testing"

	"github.com/claude-agent-go/claude"
)

// A copy of options with every list, map and plain struct filled, several levels deep, is
// equal to its original and shares none of them.
func TestDetached(t *testing.T) {
	t.Parallel()
	o := new(claude.Options)
	fill(reflect.ValueOf(o).Elem(), 4)
	o.Settings = map[string]any{"env": map[string]any{"KEY": "a"}, "list": []any{map[string]any{"deep": true}}}
	own := detached(o)
	if !reflect.DeepEqual(own, o) {
		t.Error("the copy differs from its original")
	}
	compared := compareDetached(t, "Options", reflect.ValueOf(o), reflect.ValueOf(own))
	if compared < 40 {
		t.Errorf("only %d lists, maps and structs were compared", compared)
	}
	own.Settings["env"].(map[string]any)["KEY"] = "b"
	if got := o.Settings["env"].(map[string]any)["KEY"]; got != "a" {
		t.Errorf("a change of the copy reached the original: %v", got)
	}
}

// fill puts something into every list, map, struct and text.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), depth)
			}
		}
	case reflect.Pointer:
		if depth > 0 && isPlain(v.Type().Elem()) {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), depth-1)
		}
	case reflect.Slice:
		if depth > 0 {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(v.Index(0), depth-1)
		}
	case reflect.Map:
		if depth > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(key, depth-1)
			fill(value, depth-1)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		v.SetString("x")
	}
}

// compareDetached reports what two values share, and returns how many lists, maps and
// structs they do not.
func compareDetached(t *testing.T, path string, a, b reflect.Value) int {
	n := 0
	switch a.Kind() {
	case reflect.Interface:
		if !a.IsNil() {
			return compareDetached(t, path, a.Elem(), b.Elem())
		}
	case reflect.Pointer:
		if a.IsNil() || !isPlain(a.Type().Elem()) {
			return 0
		}
		if a.Pointer() == b.Pointer() && a.Type().Elem().Size() > 0 {
			t.Errorf("%s is shared", path)
		}
		return 1 + compareDetached(t, path, a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if f := a.Type().Field(i); f.IsExported() {
				n += compareDetached(t, path+"."+f.Name, a.Field(i), b.Field(i))
			}
		}
	case reflect.Slice:
		if a.Len() == 0 {
			return 0
		}
		if a.Pointer() == b.Pointer() && a.Type().Elem().Size() > 0 {
			t.Errorf("%s is shared", path)
		}
		n++
		for i := range a.Len() {
			n += compareDetached(t, path+"[]", a.Index(i), b.Index(i))
		}
	case reflect.Map:
		if a.IsNil() {
			return 0
		}
		if a.Pointer() == b.Pointer() {
			t.Errorf("%s is shared", path)
		}
		n++
		for key, value := range a.Seq2() {
			n += compareDetached(t, path+"{}", value, b.MapIndex(key))
		}
	}
	return n
}
