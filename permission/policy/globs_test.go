package policy

import (
	"slices"
	"testing"
)

// Where names are the same in any case, only globs in both cases leave files out.
func TestExclusion(t *testing.T) {
	for _, tt := range []struct {
		path    string
		anyCase bool
		want    string // "": no such glob
	}{
		{"**/*.pem", false, "**/*.pem"}, {"/a/**", false, "/a/**"}, {"/A1/**/b", false, "/A1/**/b"},
		{"**/*.pem", true, "**/*.[pP][eE][mM]"}, {"/A-1_/**", true, "/[aA]-1_/**"},
		{"**/a?", false, ""}, {"**/[ab]", false, ""}, {"**/a**", false, ""}, {"/a/../b", false, ""}, {"/a//b", false, ""}, {"/a/", false, ""},
		{"**/é", false, ""}, {"**/a b", false, ""}, {"**/{a,b}", false, ""}, {"**/!a", false, ""}, {`**/\a`, false, ""},
	} {
		got, ok := exclusion(tt.path, tt.anyCase)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s in any case %t: %q %t, want %q", tt.path, tt.anyCase, got, ok, tt.want)
		}
		if ok && !slices.Equal(excluded(got), []string{got}) {
			t.Errorf("%s is read as %q", got, excluded(got))
		}
	}
}
