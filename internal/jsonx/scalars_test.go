package jsonx_test

import (
	"fmt"
	"testing"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Numbers are found at their place; literals and the content of texts do not
// count.
func TestMapScalars(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{"a":-1.5e+3,"b":[1, 2],"c":{"d":3},"e":true}`, `{"a":<-1.5e+3 a/>,"b":[<1 b/>, <2 b/>],"c":{"d":<3 d/c>},"e":true}`},
		{`12`, `<12 />`},
		{`{"1":"2"} 3 "4`, `{"1":"2"} <3 /> "4`},
	} {
		got := jsonx.MapScalars([]byte(tt.in), func(value []byte, at jsonx.Place) []byte {
			if !at.Number {
				return value
			}
			return fmt.Appendf(nil, "<%s %s/%s>", value, at.Member, at.Parent)
		})
		if string(got) != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.in, got, tt.want)
		}
	}
}

func TestMapTexts(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{"a":"x"}`, `{<name ""/"">:<"a"/"">}`},
		{`"x"`, `<""/"">`},
		{`{"a" : ["x",["y"],{"b":"z"},"w"], "c":1, "d":"v"}`,
			`{<name ""/""> : [<"a"/"">,[<"a"/"">],{<name ""/"a">:<"b"/"a">},<"a"/"">], <name ""/"">:1, <name ""/"">:<"d"/"">}`},
		{`{"a\"":"b\\"}`, `{<name ""/"">:<"a\""/"">}`},
		{`{"a":{"b":"c"}}}}"d" "e`, `{<name ""/"">:{<name ""/"a">:<"b"/"a">}}}}<""/""> "e`},
	} {
		got := jsonx.MapTexts([]byte(tt.in), func(_ []byte, at jsonx.Place) []byte {
			if at.Name {
				return fmt.Appendf(nil, "<name %q/%q>", at.Member, at.Parent)
			}
			return fmt.Appendf(nil, "<%q/%q>", at.Member, at.Parent)
		})
		if string(got) != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.in, got, tt.want)
		}
	}
}
