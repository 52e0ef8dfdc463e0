package main

import (
	"bytes"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// place is a declaration in a file, from its first byte on.
type place struct {
	file       *source
	begin, end int
}

// sources are the files of packages on this system, without their tests, by folder. They
// are read once for all bugs of a package.
type sources map[string][]*source

// source is a file.
type source struct {
	path string
	text []byte
	fset *token.FileSet
	file *ast.File // nil until a name in it is looked for
}

// files reads the files of a package.
func (s sources) files(dir string) ([]*source, error) {
	if known, ok := s[dir]; ok {
		return known, nil
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var all []*source
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		if ours, err := build.Default.MatchFile(dir, filepath.Base(path)); err != nil || !ours {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		all = append(all, &source{path: path, text: text})
	}
	s[dir] = all
	return all, nil
}

// declarations finds what a package declares under a name: a function, a method
// as "Type.Method", or a type, variable or constant. Files for other systems do
// not count, so there is one in most cases.
func (s sources) declarations(dir, name string) ([]place, error) {
	files, err := s.files(dir)
	if err != nil {
		return nil, err
	}
	var found []place
	for _, f := range files {
		if !bytes.Contains(f.text, []byte(name[strings.LastIndexByte(name, '.')+1:])) {
			continue // to parse it would be for nothing
		}
		if f.file == nil {
			f.fset = token.NewFileSet()
			if f.file, err = parser.ParseFile(f.fset, f.path, f.text, parser.SkipObjectResolution); err != nil {
				return nil, err
			}
		}
		for _, node := range declared(f.file, name) {
			found = append(found, place{f, f.fset.Position(node.Pos()).Offset, f.fset.Position(node.End()).Offset})
		}
	}
	return found, nil
}

// declared returns the declarations of a name in a file.
func declared(file *ast.File, name string) (found []ast.Node) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if functionName(d) == name {
				found = append(found, d)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if specifies(spec, name) {
					found = append(found, spec)
				}
			}
		}
	}
	return found
}

// functionName is the name of a function, with its type before that of a method.
func functionName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if generic, ok := t.(*ast.IndexExpr); ok {
		t = generic.X
	}
	if owner, ok := t.(*ast.Ident); ok {
		return owner.Name + "." + d.Name.Name
	}
	return d.Name.Name
}

func specifies(spec ast.Spec, name string) bool {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		return s.Name.Name == name
	case *ast.ValueSpec:
		for _, n := range s.Names {
			if n.Name == name {
				return true
			}
		}
	}
	return false
}
