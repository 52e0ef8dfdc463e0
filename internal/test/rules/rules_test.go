package rules

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

const (
	modulePath = "github.com/claude-agent-go/claude"
	root       = "../../.."
)

// rule is one rule of the repository. Its example must make it complain once for each of
// want, and about nothing else.
type rule struct {
	name  string
	check func(*module) []string
	bad   fstest.MapFS
	want  []string
}

func rules() []rule {
	var all []rule
	for _, some := range [][]rule{layerRules(), docRules(), sizeRules(), conductRules(), snippetRules(), tableRules(), documentRules(), apiRules(), namedRules(), wordRules(), moduleRules(), commandRules(), programRules(), reasonRules(), patienceRules(), storeRules()} {
		all = append(all, some...)
	}
	return all
}

// With -update the parts of documents that are taken from the source are
// written before they are checked.
var update = flag.Bool("update", false, "write docs/api.txt, the snippets and tables of documents, and the pages in internal/docs")

func TestModule(t *testing.T) {
	// The syntax trees are needed until the end: a collector that looks through all of
	// them again and again takes half of the time.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	m := load(t, os.DirFS(root))
	if len(m.files) < 50 {
		t.Fatalf("only %d Go files found: is this the module's root?", len(m.files))
	}
	if *update {
		writeDocuments(t, m)
	}
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			for _, complaint := range r.check(m) {
				t.Error(complaint)
			}
		})
	}
}

// writeDocuments writes what is made from the source.
func writeDocuments(t *testing.T, m *module) {
	files := map[string]string{apiFile: strings.Join(m.wholeAPI(), "\n") + "\n"}
	for _, name := range m.documents() {
		text, _ := m.filled(name)
		files[name], _ = tabled(name, text)
	}
	for _, t := range tables() {
		if text, err := fs.ReadFile(m.fsys, t.file); err == nil {
			files[t.file], _ = tabled(t.file, string(text))
		}
	}
	for _, page := range m.embeddedPages() {
		if text, err := fs.ReadFile(m.fsys, path.Join("docs", path.Base(page))); err == nil {
			files[page] = string(text)
		}
	}
	for name, text := range files {
		old, err := fs.ReadFile(m.fsys, name)
		if err == nil && string(old) == text {
			continue
		}
		if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Log("wrote", name)
	}
}

func TestRulesCanFail(t *testing.T) {
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			got := r.check(load(t, r.bad))
			for _, want := range r.want {
				found := 0
				for _, complaint := range got {
					if strings.Contains(complaint, want) {
						found++
					}
				}
				if found != 1 {
					t.Errorf("%d complaints contain %q, want one, in:\n%s", found, want, strings.Join(got, "\n"))
				}
			}
			if len(got) != len(r.want) {
				t.Errorf("%d complaints, want %d:\n%s", len(got), len(r.want), strings.Join(got, "\n"))
			}
		})
	}
}

// module is the source of a module, without modules nested in it.
type module struct {
	fsys  fs.FS
	fset  *token.FileSet
	files []*file

	nested func() (map[string]*module, error) // the modules inside of it, by their folders
	api    func() []string                    // what the public packages export
}

type file struct {
	path  string // from the module's root, with slashes
	test  bool
	lines int
	src   []byte
	ast   *ast.File
}

// dir is the package's folder, "." for the root package.
func (f *file) dir() string { return path.Dir(f.path) }

// sources yields the files that are not tests, whatever system they are for.
func (m *module) sources() []*file { return m.some(false) }

func (m *module) tests() []*file { return m.some(true) }

func (m *module) some(test bool) []*file {
	var some []*file
	for _, f := range m.files {
		if f.test == test {
			some = append(some, f)
		}
	}
	return some
}

// at is a position as editors understand it.
func (m *module) at(n ast.Node) string { return m.fset.Position(n.Pos()).String() }

// lines counts the lines of a node.
func (m *module) lines(n ast.Node) int {
	return m.fset.Position(n.End()).Line - m.fset.Position(n.Pos()).Line + 1
}

func load(t *testing.T, fsys fs.FS) *module {
	t.Helper()
	m, err := read(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func read(fsys fs.FS) (*module, error) {
	m := &module{fsys: fsys, fset: token.NewFileSet()}
	m.nested, m.api = sync.OnceValues(m.readNested), sync.OnceValue(m.listAPI)
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return enter(fsys, name, d.Name())
		}
		if path.Ext(name) == ".go" {
			return m.add(name)
		}
		return nil
	})
	return m, err
}

// readNested reads the modules inside of a module.
func (m *module) readNested() (map[string]*module, error) {
	all := make(map[string]*module)
	err := fs.WalkDir(m.fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || enter(m.fsys, name, d.Name()) == nil {
			return err
		}
		if _, err := fs.Stat(m.fsys, path.Join(name, "go.mod")); err != nil {
			return fs.SkipDir
		}
		sub, err := fs.Sub(m.fsys, name)
		if err != nil {
			return err
		}
		if all[name], err = read(sub); err != nil {
			return err
		}
		return fs.SkipDir
	})
	return all, err
}

// enter skips what the go command skips: hidden folders, test data and other
// modules.
func enter(fsys fs.FS, name, base string) error {
	if name == "." {
		return nil
	}
	if base[0] == '.' || base[0] == '_' || base == "testdata" {
		return fs.SkipDir
	}
	if _, err := fs.Stat(fsys, path.Join(name, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func (m *module) add(name string) error {
	src, err := fs.ReadFile(m.fsys, name)
	if err != nil {
		return err
	}
	parsed, err := parser.ParseFile(m.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	m.files = append(m.files, &file{
		path: name, test: strings.HasSuffix(name, "_test.go"),
		lines: bytes.Count(src, []byte("\n")), src: src, ast: parsed,
	})
	return nil
}

// source is one file of an example.
func source(lines ...string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(strings.Join(lines, "\n") + "\n")}
}
