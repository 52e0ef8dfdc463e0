package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestKnot(t *testing.T) {
	tests := map[string]struct {
		edges string // "a>b" for "a refers to b"
		want  string
	}{
		"none":                   {"a>b b>c", "a"},
		"two files":              {"a>b b>a b>c", "a b"},
		"a way round":            {"a>b b>c c>a d>a", "a b c"},
		"the larger of two":      {"a>b b>a c>d d>e e>c b>c", "c d e"},
		"two that share a file":  {"a>b b>a b>c c>b", "a b c"},
		"one inside another":     {"a>b b>c c>d d>b d>a", "a b c d"},
		"a cross edge joins not": {"a>b a>c c>b b>d d>b", "b d"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			edges := make(map[string][]string)
			for edge := range strings.FieldsSeq(tt.edges) {
				from, to, _ := strings.Cut(edge, ">")
				edges[from] = append(edges[from], to)
				edges[to] = append(edges[to], []string(nil)...)
			}
			if got := knot(edges); !slices.Equal(got, strings.Fields(tt.want)) {
				t.Errorf("knot of %s: %v, want %s", tt.edges, got, tt.want)
			}
		})
	}
}

func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	module := fstest.MapFS{
		"go.mod":                    {Data: []byte("module example.com/module\n\ngo 1.26\n")},
		"a.go":                      {Data: []byte("package module\n\nimport \"example.com/module/internal/hidden\"\n\ntype Box[E any] struct{ content E }\n\nfunc (b *Box[E]) Open() E { return b.look() }\n\nconst Limit = hidden.Limit\n")},
		"b.go":                      {Data: []byte("package module\n\nfunc (b *Box[E]) look() E { return b.content }\n")},
		"c.go":                      {Data: []byte("package module\n\ntype Opener interface {\n\tOpen() int\n\tshut()\n}\n\nvar _ = (*Box[int]).Open\n")},
		"internal/hidden/hidden.go": {Data: []byte("package hidden\n\nconst Limit = 3\n")},
	}
	if err := os.CopyFS(dir, module); err != nil {
		t.Fatal(err)
	}
	shapes, err := measure(t.Context(), dir, []string{"./..."})
	if err != nil {
		t.Fatal(err)
	}
	if len(shapes) != 2 {
		t.Fatalf("measured %d packages, want 2", len(shapes))
	}
	hidden, shown := shapes[0], shapes[1]
	if !hidden.inside || hidden.names != 0 {
		t.Errorf("an internal package has public names: %+v", hidden)
	}
	if shown.names != 5 {
		t.Errorf("%d public names, want 5: Box, Box.Open, Opener, Opener.Open, Limit", shown.names)
	}
	if want := []string{"a.go", "b.go"}; !slices.Equal(shown.knot, want) || shown.files != 3 {
		t.Errorf("knot %v of %d files, want %v of 3", shown.knot, shown.files, want)
	}
	if want := (methods{name: "module.Box", count: 2, public: 1, files: 2}); !slices.Contains(shown.types, want) {
		t.Errorf("types %+v lack %+v", shown.types, want)
	}
}
