package terminal

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	tests := []struct{ name, in, clean, line string }{
		{"plain", "a b", "a b", "a b"},
		{"other alphabets", "é 日本 🙂", "é 日本 🙂", "é 日本 🙂"},
		{"line feed and tab", "a\n\tb", "a\n\tb", `a\n\tb`},
		{"colour", "\x1b[31mred", `\x1b[31mred`, `\x1b[31mred`},
		{"window title", "\x1b]0;x\a", `\x1b]0;x\a`, `\x1b]0;x\a`},
		{"overwritten line", "rm -rf /\rls", `rm -rf /\rls`, `rm -rf /\rls`},
		{"line end of another system", "a\r\nb", "a\nb", `a\r\nb`},
		{"eight-bit control", "\u009b31m", `\u009b31m`, `\u009b31m`},
		{"backspace and delete", "a\b\x7f", `a\b\x7f`, `a\b\x7f`},
		{"direction", "a\u202eb\u2069", `a\u202eb\u2069`, `a\u202eb\u2069`},
		{"no UTF-8", "a\xff\x9bb", `a\xff\x9bb`, `a\xff\x9bb`},
		{"replacement character itself", "\ufffd", "\ufffd", "\ufffd"},
		{"not seen", "a\u200bb\ufeff\u00ad\U000e0041\u3164", `a\u200bb\ufeff\u00ad\U000e0041\u3164`, `a\u200bb\ufeff\u00ad\U000e0041\u3164`},
		{"joined", "👩\u200d💻 می\u200cخواهم \u0600", "👩\u200d💻 می\u200cخواهم \u0600", "👩\u200d💻 می\u200cخواهم \u0600"},
		{"separators", "a\u2028b", `a\u2028b`, `a\u2028b`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Clean(tt.in); got != tt.clean {
				t.Errorf("Clean(%q) = %q, want %q", tt.in, got, tt.clean)
			}
			if got := Line(tt.in); got != tt.line {
				t.Errorf("Line(%q) = %q, want %q", tt.in, got, tt.line)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{"a":"é 日本"}`, `{"a":"é 日本"}`},
		{"{\"a\":\"\u009b31m\x7f\u202e\U000e0041\"}", `{"a":"\u009b31m\u007f\u202e\udb40\udc41"}`},
		{"\"a\xffb\"", `"a\ufffdb"`},
	} {
		got := JSON([]byte(tt.in))
		if string(got) != tt.want {
			t.Errorf("JSON(%q) = %q, want %q", tt.in, got, tt.want)
		}
		var before, after any
		if err := json.Unmarshal([]byte(tt.in), &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(got, &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Errorf("%q says %v (%v), want %v as before", got, after, err, before)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b]52;c;aGk=\a")
	f.Add("\r\n\r")
	f.Add("\xc2\x9b\u202e")
	f.Fuzz(func(t *testing.T, text string) {
		for _, out := range []string{Clean(text), Line(text)} {
			if !utf8.ValidString(out) {
				t.Fatalf("%q became invalid UTF-8: %q", text, out)
			}
			if i := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }); i >= 0 {
				t.Fatalf("%q keeps a control character: %q", text, out)
			}
		}
		if strings.ContainsAny(Line(text), "\n\t") {
			t.Fatalf("Line(%q) = %q", text, Line(text))
		}
	})
}
