package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// shape holds the measurements of a package.
type shape struct {
	name    string
	inside  bool // programs elsewhere cannot use it
	testing bool // only tests of this repository use it
	files   int
	lines   int
	names   int      // that are public
	knot    []string // files of the largest strongly connected component
	types   []methods
}

// methods holds the measurements of a type.
type methods struct {
	name          string
	count, public int
	files         int // that have methods of it
}

// listed is the part of the output of "go list" that is needed.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles, CgoFiles       []string
	DepOnly                 bool
	Module                  *struct{ Path string }
	Error                   *struct{ Err string }
}

// measure measures packages of the module in dir.
func measure(ctx context.Context, dir string, patterns []string) ([]shape, error) {
	packages, err := list(ctx, dir, patterns)
	if err != nil {
		return nil, err
	}
	exports := make(map[string]string)
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		file, ok := exports[path]
		if !ok || file == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(file)
	})
	var shapes []shape
	for _, p := range packages {
		if p.DepOnly || len(p.GoFiles) == 0 {
			continue
		}
		s, err := examine(fset, imports, p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.ImportPath, err)
		}
		shapes = append(shapes, s)
	}
	return shapes, nil
}

// list asks Go for the packages and for the compiled form of all they import.
func list(ctx context.Context, dir string, patterns []string) ([]listed, error) {
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,CgoFiles,DepOnly,Module,Error", "--"}, patterns...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, &problems)
	}
	var packages []listed
	for dec := json.NewDecoder(&out); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		if p.Error != nil {
			return nil, errors.New(p.Error.Err)
		}
		packages = append(packages, p)
	}
}

func examine(fset *token.FileSet, imports types.Importer, p listed) (shape, error) {
	var files []*ast.File
	s := shape{name: p.ImportPath, files: len(p.GoFiles)}
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.ParseComments)
		if err != nil {
			return s, err
		}
		files = append(files, f)
		s.lines += fset.File(f.FileStart).LineCount()
	}
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	config := types.Config{Importer: imports}
	pkg, err := config.Check(p.ImportPath, fset, files, info)
	if err != nil {
		return s, err
	}
	path := p.ImportPath + "/"
	s.inside = strings.Contains(path, "/internal/") || pkg.Name() == "main" || strings.Contains(path, "/examples/")
	s.testing = strings.Contains(path, "/internal/test/") || strings.Contains(path, "/testdata/")
	s.knot = knot(references(fset, info, pkg, p.GoFiles))
	s.types = receivers(fset, pkg, files)
	if !s.inside {
		s.names = exported(pkg)
	}
	return s, nil
}

// references maps each file to the other files of its package that declare what it uses.
func references(fset *token.FileSet, info *types.Info, pkg *types.Package, files []string) map[string][]string {
	edges := make(map[string][]string)
	for _, file := range files {
		edges[file] = nil
	}
	for use, object := range info.Uses {
		if object.Pkg() != pkg {
			continue
		}
		from := filepath.Base(fset.Position(use.Pos()).Filename)
		to := filepath.Base(fset.Position(object.Pos()).Filename)
		if from != to && !slices.Contains(edges[from], to) {
			edges[from] = append(edges[from], to)
		}
	}
	return edges
}

// receivers counts the methods that the source of a package declares, by type.
func receivers(fset *token.FileSet, pkg *types.Package, files []*ast.File) []methods {
	counts := make(map[string]*methods)
	homes := make(map[string]map[string]bool)
	for _, f := range files {
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv == nil {
				continue
			}
			name := receiver(fn.Recv.List[0].Type)
			if counts[name] == nil {
				counts[name] = &methods{name: pkg.Name() + "." + name}
				homes[name] = make(map[string]bool)
			}
			counts[name].count++
			if fn.Name.IsExported() {
				counts[name].public++
			}
			homes[name][fset.Position(fn.Pos()).Filename] = true
		}
	}
	var all []methods
	for name, m := range counts {
		m.files = len(homes[name])
		all = append(all, *m)
	}
	slices.SortFunc(all, func(a, b methods) int { return strings.Compare(a.name, b.name) })
	return all
}

func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// exported counts the names that programs can use: those of the package, methods, and
// the methods of interfaces.
func exported(pkg *types.Package) int {
	count := 0
	for _, name := range pkg.Scope().Names() {
		object := pkg.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		count++
		declared, isType := object.(*types.TypeName)
		if !isType || declared.IsAlias() {
			continue
		}
		named, ok := declared.Type().(*types.Named)
		if !ok {
			continue
		}
		for method := range named.Methods() {
			if method.Exported() {
				count++
			}
		}
		if i, ok := named.Underlying().(*types.Interface); ok {
			for method := range i.ExplicitMethods() {
				if method.Exported() {
					count++
				}
			}
		}
	}
	return count
}
