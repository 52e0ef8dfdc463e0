package hook

import (
	"reflect"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/permission"
)

// Whatever a hook returns, the part that all outputs share reaches the CLI, with
// and without a part of the event's own.
func TestEveryOutputKeepsItsCommonPart(t *testing.T) {
	for _, info := range Events() {
		if info.Output == nil {
			continue
		}
		for _, filled := range []bool{false, true} {
			out := reflect.New(info.Output)
			out.Elem().FieldByName("Common").Set(reflect.ValueOf(Common{SystemMessage: "to the user"}))
			if filled {
				fill(out.Elem())
			}
			reply, err := typedOutput{info.Event, out.Interface().(structOutput)}.Encode()
			if err != nil || !strings.Contains(string(reply), `"systemMessage":"to the user"`) {
				t.Errorf("%s: %s, %v", info.Event, reply, err)
			}
		}
	}
}

// fill gives the text and the decision of an output a value.
func fill(v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case f.Kind() == reflect.String:
			f.SetString("x")
		case f.Type() == reflect.TypeFor[permission.Decision]():
			f.Set(reflect.ValueOf(permission.Deny("no")))
		}
	}
}
