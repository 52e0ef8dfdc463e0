package serve

import (
	"reflect"

	"github.com/claude-agent-go/claude"
)

// detached returns a deep copy of options, which must not be nil.
func detached(o *claude.Options) *claude.Options {
	return detach(reflect.ValueOf(o)).Interface().(*claude.Options)
}

// detach copies lists, maps and plain structs, and what they hold. Functions, channels
// and pointers to anything with members of its own, such as a store, are shared.
func detach(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || !isPlain(v.Type().Elem()) {
			return v
		}
		own := reflect.New(v.Type().Elem())
		own.Elem().Set(detach(v.Elem()))
		return own
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		return detach(v.Elem())
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			own.Index(i).Set(detach(v.Index(i)))
		}
		return own
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		own := reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, value := range v.Seq2() {
			own.SetMapIndex(key, detach(value))
		}
		return own
	case reflect.Struct:
		own := reflect.New(v.Type()).Elem()
		own.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				own.Field(i).Set(detach(v.Field(i)))
			}
		}
		return own
	}
	return v
}

// isPlain reports whether a type only describes: a struct whose members are all exported,
// or a value of a basic kind.
func isPlain(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return t.Kind() < reflect.Array || t.Kind() == reflect.String
	}
	for i := range t.NumField() {
		if !t.Field(i).IsExported() {
			return false
		}
	}
	return true
}
