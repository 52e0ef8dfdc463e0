package claudetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// differs returns where two JSON values first differ, "" if they do not.
func differs(path string, want, got any) string {
	if path == "" {
		path = "the line"
	}
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %s, want an object", path, brief(got))
		}
		return differObjects(path, w, g)
	case []any:
		g, ok := got.([]any)
		if !ok {
			return fmt.Sprintf("%s is %s, want a list", path, brief(got))
		}
		for i := range min(len(w), len(g)) {
			if d := differs(fmt.Sprintf("%s[%d]", path, i), w[i], g[i]); d != "" {
				return d
			}
		}
		if len(w) != len(g) {
			return fmt.Sprintf("%s has %d entries, want %d", path, len(g), len(w))
		}
		return ""
	}
	if !reflect.DeepEqual(want, got) {
		return fmt.Sprintf("%s is %s, want %s", path, brief(got), brief(want))
	}
	return ""
}

func differObjects(path string, want, got map[string]any) string {
	inside := func(name string) string {
		if path == "the line" {
			return name
		}
		return path + "." + name
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		g, ok := got[name]
		if !ok {
			return fmt.Sprintf("%s is missing, want %s", inside(name), brief(want[name]))
		}
		if d := differs(inside(name), want[name], g); d != "" {
			return d
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			return fmt.Sprintf("%s is %s, want it absent", inside(name), brief(got[name]))
		}
	}
	return ""
}

// brief is a value for an error.
func brief(v any) string {
	const most = 100
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(data) > most {
		return string(data[:most]) + "..."
	}
	return string(data)
}
