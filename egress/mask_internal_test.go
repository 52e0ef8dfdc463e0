package egress

import (
	"strings"
	"testing"
)

// A secret does not get through in any spelling that an API may give it, and other texts
// stay as they are.
func TestMasked(t *testing.T) {
	t.Parallel()
	const secret = `a/b+c"d%e`
	for name, c := range map[string]struct {
		text, want string
		cut        bool
	}{
		"as it is":            {text: "key " + secret + "!", want: "key [redacted]!"},
		"twice":               {text: secret + secret, want: "[redacted][redacted]"},
		"in JSON":             {text: `{"key":"a/b+c\"d%e"}`, want: unreadable},
		"with slashes":        {text: `{"key":"a\/b+c\"d%e"}`, want: unreadable},
		"with codes":          {text: `{"key":"a\u002Fb\u002bc\u0022d%e"}`, want: unreadable},
		"in a URL":            {text: `/login?key=a%2Fb%2bc%22d%25e&x=1`, want: unreadable},
		"a URL in JSON":       {text: `{"at":"\/login?key=a%2Fb%2bc%22d%25e\u0026x=1"}`, want: unreadable},
		"cut off":             {text: "12345678901234567890 a/b+c", want: "12345678901234567", cut: true},
		"shorter than it":     {text: "a/b", want: "", cut: true},
		"another text":        {text: `{"path":"\/tmp\u002Fx 100%"}\`, want: `{"path":"\/tmp\u002Fx 100%"}\`},
		"escapes that break":  {text: `\u00 %2 \uzzzz %zz \`, want: `\u00 %2 \uzzzz %zz \`},
		"only its characters": {text: `a/b+c"d %e`, want: `a/b+c"d %e`},
	} {
		got, whole := masked([]byte(c.text), secret, c.cut)
		if string(got) != c.want || whole != (c.want != unreadable) {
			t.Errorf("%s: %q, %v, want %q", name, got, whole, c.want)
		}
	}
	if long := strings.Repeat(`\u0061`, 1<<20); repeats(long, secret) {
		t.Error("it is not there")
	}
}
