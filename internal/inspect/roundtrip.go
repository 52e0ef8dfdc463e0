package inspect

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// changes returns the members of a document that come out of its decoder in
// another form than they went in, unknown ones aside. A zero member (null, false,
// 0 and anything empty) may be left out, and others may be added.
func changes(d document, unknown []string) []string {
	if d.decode == nil {
		return nil
	}
	again, err := d.decode(d.body)
	if err != nil {
		return nil // the builder reports what does not fit
	}
	var was, is any
	if jsonx.Unmarshal(d.body, &was) != nil || jsonx.Unmarshal(again, &is) != nil {
		return nil
	}
	c := &comparison{unknown: unknown}
	c.values(d.name, was, is)
	return c.found
}

type comparison struct {
	unknown, found []string
}

func (c *comparison) report(name, what string) { c.found = append(c.found, name+": "+what) }

func (c *comparison) values(name string, was, is any) {
	switch was := was.(type) {
	case map[string]any:
		if is, ok := is.(map[string]any); ok {
			c.objects(name, was, is)
			return
		}
	case []any:
		if is, ok := is.([]any); ok && len(is) == len(was) {
			c.lists(name, was, is)
			return
		}
	default:
		if reflect.DeepEqual(was, is) {
			return
		}
	}
	c.report(name, fmt.Sprintf("%s became %s", kindOf(was), kindOf(is)))
}

// lists compares element by element. A text among objects is not the CLI's: it
// marks a place where a recording was cut short.
func (c *comparison) lists(name string, was, is []any) {
	cut := slices.ContainsFunc(was, func(v any) bool { _, ok := v.(map[string]any); return ok })
	for i := range was {
		if _, text := was[i].(string); !text || !cut {
			c.values(element(name, was[i]), was[i], is[i])
		}
	}
}

func (c *comparison) objects(name string, was, is map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(was)) {
		at := name + "." + key
		v, kept := is[key]
		switch {
		case kept:
			c.values(at, was[key], v)
		case !empty(was[key]) && !slices.Contains(c.unknown, at) && key != "subtype":
			c.report(at, "is lost")
		}
	}
}

// element names an element of a list, as the search for unknown names does.
func element(list string, v any) string {
	obj, _ := v.(map[string]any)
	kind, _ := obj["type"].(string)
	return list + "[" + kind + "]"
}

// empty reports whether a value is a zero value.
func empty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			if !empty(inner) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return v == nil || reflect.ValueOf(v).IsZero()
}

// kindOf returns the kind of a value in a word, never the value: it may be a
// secret.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprint(v)
	case float64:
		return "a number"
	case string:
		if v == "" {
			return "an empty text"
		}
		return "a text"
	case []any:
		return "a list"
	}
	return "an object"
}
