package jsonx_test

import (
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

func TestScannerSkip(t *testing.T) {
	many := `{` + strings.Repeat(`"a":{`, 70) + strings.Repeat(`}`, 71)
	for name, tt := range map[string]struct {
		in   string
		want bool
	}{
		"object":                {`{"a":[1,-2.5e+3,true,false,null,"x"],"b":{}}`, true},
		"blanks":                {" { \"a\" : [ ] } \n", true},
		"escapes":               {`"a\n\"\\\/\b\f\r\t\u00e9\ud83d\ude00"`, true},
		"other than ASCII":      {`{"a":"é😀"}`, true},
		"lone surrogate":        {`"\ud83d"`, false},
		"half a pair":           {`"\ud83d\u0041"`, false},
		"low half first":        {`"\ude00\ud83d"`, false},
		"broken UTF-8":          {"\"a\xff\"", false},
		"broken before escape":  {"\"a\xff\\n\"", false},
		"broken after escape":   {"\"a\\n\xff\"", false},
		"control character":     {"\"aaaaaaaaaaaa\tb\"", false},
		"unknown escape":        {`"\x"`, false},
		"escape cut":            {`"\u00`, false},
		"repeated name":         {`{"a":1,"b":2,"a":3}`, false},
		"same name below":       {`{"a":{"a":1},"b":{"a":1}}`, true},
		"escaped name":          {`{"\u0061":1}`, false},
		"trailing comma":        {`{"a":1,}`, false},
		"trailing comma, array": {`[1,]`, false},
		"no comma":              {`[1 2]`, false},
		"only a comma":          {`[,]`, false},
		"octal":                 {`[01]`, false},
		"plus":                  {`+1`, false},
		"no digits":             {`-`, false},
		"half a fraction":       {`1.`, false},
		"half an exponent":      {`1e`, false},
		"half a word":           {`nul`, false},
		"word and more":         {`nulls`, false},
		"two values":            {`1 2`, false},
		"nothing":               {``, false},
		"cut":                   {`{"a":"b`, false},
		"very deep":             {many, false},
	} {
		t.Run(name, func(t *testing.T) {
			var s jsonx.Scanner
			s.Start([]byte(tt.in))
			s.Skip()
			if got := s.End(); got != tt.want {
				t.Errorf("%s: %v, want %v", tt.in, got, tt.want)
			}
			skimmed(t, []byte(tt.in))
		})
	}
}

// skimmed fails when the Scanner accepts what the general way refuses, or
// reads it in another way.
func skimmed(t *testing.T, data []byte) {
	t.Helper()
	var s jsonx.Scanner
	s.Start(data)
	value := s.Skip()
	if !s.End() {
		return
	}
	if !jsonx.Valid(data) {
		t.Fatalf("%q was accepted", data)
	}
	if strings.TrimSpace(string(data)) != string(value) {
		t.Errorf("%q was read as %q", data, value)
	}
	for _, long := range []bool{false, true} { // with and without a copy of the text
		in := data
		if long {
			in = append(append([]byte{}, data...), strings.Repeat(" ", 5<<10)...)
		}
		for _, read := range []struct {
			name string
			fast func(*jsonx.Scanner) any
			slow func() (any, error)
		}{
			{"text", func(s *jsonx.Scanner) any { return s.Text() }, slowly[string](in)},
			{"known", func(s *jsonx.Scanner) any { return s.KnownText("abc", "a", "") }, slowly[string](in)},
			{"int", func(s *jsonx.Scanner) any { return s.Int() }, slowly[int](in)},
			{"float", func(s *jsonx.Scanner) any { return s.Float() }, slowly[float64](in)},
			{"bool", func(s *jsonx.Scanner) any { return s.Bool() }, slowly[bool](in)},
		} {
			s.Start(in)
			got := read.fast(&s)
			if !s.End() {
				continue
			}
			if want, err := read.slow(); err != nil || got != want {
				t.Errorf("%s of %q: %v, want %v, %v", read.name, data, got, want, err)
			}
		}
	}
}

// Texts of many lengths, with escapes everywhere: even where a page of the scanner
// (2 KiB) ends.
func TestScannerLongText(t *testing.T) {
	for _, part := range []string{`\n`, `a\"`, `\u00e9é`, `\ud83d\ude00abc`, `plain text, \\`} {
		one, _ := slowly[string]([]byte(`"` + part + `"`))()
		var counts []int
		for _, length := range []int{0, 2 << 10, 4 << 10} {
			for near := -10; near <= 10; near++ {
				counts = append(counts, max(1, length/len(one.(string))+near))
			}
		}
		for _, n := range counts {
			for pad := range 9 {
				in := []byte(`"` + strings.Repeat("x", pad) + strings.Repeat(part, n) + `"`)
				var s jsonx.Scanner
				s.Start(in)
				got := s.Text()
				want, err := slowly[string](in)()
				if !s.End() || err != nil || got != want {
					t.Fatalf("%d times %s after %d: %d bytes, %v, want %d", n, part, pad, len(got), s.OK(), len(want.(string)))
				}
			}
		}
	}
	for _, bad := range []string{`\x`, "\xff", "\x01", `\ud83d`} {
		for _, n := range []int{10, 2030, 2040, 2048, 5000} {
			var s jsonx.Scanner
			s.Start([]byte(`"\n` + strings.Repeat("x", n) + bad + `"`))
			if s.Text(); s.End() {
				t.Errorf("%q after %d characters was read", bad, n)
			}
		}
	}
}

func slowly[T any](data []byte) func() (any, error) {
	return func() (any, error) {
		var v T
		err := jsonx.Unmarshal(data, &v)
		return v, err
	}
}

func FuzzScanner(f *testing.F) {
	for _, in := range []string{`"a"`, `"ab"`, `"abc"`, `""`, `{"a":[1,-2.5e+3,true,false,null,"x\n"],"b":{}}`, `"\ud83d\ude00é"`, `-0`, `123456789`, `1e400`, ` null `, `"a\u0000b"`} {
		f.Add([]byte(in))
	}
	f.Fuzz(skimmed)
}
