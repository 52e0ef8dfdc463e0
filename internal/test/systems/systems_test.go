package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The errors of each kind are found on the systems that have them, and on no other.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":         "module example.com/m\n\ngo 1.26.0\n",
		"m.go":           "package m\n\nconst Size = 2 << 30\n",
		"n_windows.go":   "package m\n\nfunc f() { missing() }\n",
		"m_test.go":      "package m\n\nvar unfit int = Size\n",
		"x_test.go":      "package m_test\n\nimport \"example.com/m\"\n\nvar _ = m.Fits\n",
		"fits_test.go":   "package m\n\nconst Fits = true\n",
		"sub/s_linux.go": "package sub\n\nimport \"unicode/utf8\"\n\nvar _ = utf8.RuneError\n",
	} {
		write(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	for s, want := range map[system]string{
		{"linux", "amd64"}:   "",
		{"linux", "386"}:     "overflows",
		{"windows", "amd64"}: "undefined: missing",
		{"freebsd", "arm64"}: "",
	} {
		var out bytes.Buffer
		if fine := checkAll(t.Context(), &out, []string{dir}, []system{s}, ""); fine != (want == "") || !strings.Contains(out.String(), want) {
			t.Errorf("%s: fine is %v, want %q, in\n%s", s, fine, want, &out)
		}
	}
}

// What a module imports is checked as it is itself if its path has the prefix.
func TestImported(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":          "module example.com/m\n\ngo 1.26.0\n\nrequire other.org/p/q v1.0.0\n\nreplace other.org/p/q => ./vendored\n",
		"m.go":            "package m\n\nimport _ \"other.org/p/q\"\n",
		"vendored/q.go":   "package q\n\nfunc f() { missing() }\n",
		"vendored/go.mod": "module other.org/p/q\n\ngo 1.26.0\n",
	} {
		write(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	for with, want := range map[string]bool{"": true, "other.org/x": true, "other.org/p": false} {
		var out bytes.Buffer
		if fine := checkAll(t.Context(), &out, []string{dir}, systems()[:1], with); fine != want {
			t.Errorf("with %q fine is %v, in\n%s", with, fine, &out)
		}
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestModules(t *testing.T) {
	mods, err := modules("../../..")
	if err != nil || len(mods) < 6 {
		t.Errorf("%q, %v", mods, err)
	}
}
