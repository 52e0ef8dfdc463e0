package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every shortcut is still where it is taken out, and the code without it is Go.
func TestShortcuts(t *testing.T) {
	costs, err := os.ReadFile("../../../cost_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range shortcuts() {
		dir := t.TempDir()
		if _, err := s.takenOut("../../..", dir); err != nil {
			t.Error(err)
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, "changed.go"), nil, parser.SkipObjectResolution); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		name, frame, _ := strings.Cut(strings.NewReplacer("^", "", "$", "", "_", " ").Replace(s.benchmark), "/")
		if !strings.Contains(string(costs), "func "+name+"(") || frame != "" && !strings.Contains(string(costs), `"`+frame+`":`) {
			t.Errorf("%s: cost_test.go has no %s", s.name, s.benchmark)
		}
	}
}

// A shortcut whose code has moved is not measured as if it were still there.
func TestShortcutThatMoved(t *testing.T) {
	s := shortcut{name: "gone", file: "cost_test.go", text: "never was there"}
	if _, err := s.takenOut("../../..", t.TempDir()); err == nil || !strings.Contains(err.Error(), "0 times") {
		t.Errorf("got %v, want an error that counts the places", err)
	}
}
