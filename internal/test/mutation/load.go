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
)

// source is a package with its types.
type source struct {
	dir   string // absolute
	name  string
	fset  *token.FileSet
	files []*file
	info  *types.Info
}

// file is one file of a package.
type file struct {
	path string // absolute
	text []byte
	ast  *ast.File
}

// listed is the output of go list about a package.
type listed struct {
	ImportPath string
	Name       string
	Dir        string
	Export     string
	GoFiles    []string
	DepOnly    bool
}

// load reads a package and checks its types. The imports come from the export
// data that the compiler has made of them.
func load(ctx context.Context, pattern string) (*source, error) {
	exports := make(map[string]string)
	var own *listed
	out, err := output(ctx, "go", "list", "-export", "-deps", "-json=ImportPath,Name,Dir,Export,GoFiles,DepOnly", "./"+pattern)
	if err != nil {
		return nil, err
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			own = &p
		}
	}
	if own == nil {
		return nil, fmt.Errorf("%s: no such package", pattern)
	}
	s := &source{dir: own.Dir, name: own.Name, fset: token.NewFileSet(), info: &types.Info{
		Types: make(map[ast.Expr]types.TypeAndValue),
		Uses:  make(map[*ast.Ident]types.Object),
	}}
	var parsed []*ast.File
	for _, name := range own.GoFiles {
		path := filepath.Join(own.Dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(s.fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, &file{path, text, f})
		parsed = append(parsed, f)
	}
	conf := types.Config{Importer: importer.ForCompiler(s.fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(exports[path])
	})}
	_, err = conf.Check(own.ImportPath, s.fset, parsed, s.info)
	return s, err
}

// output runs a command and returns what it printed; an error has its stderr.
func output(ctx context.Context, name string, args ...string) ([]byte, error) {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, args[0], err, exit.Stderr)
	}
	return out, err
}
