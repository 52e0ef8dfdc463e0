package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"sync"
)

// sources holds parsed files, most of which are the same on all systems. Goroutines
// may share it.
type sources struct {
	fset *token.FileSet

	mu    sync.Mutex
	files map[extent]*source
}

// extent is a file, and how much of it is parsed.
type extent struct {
	name  string
	whole bool
}

type source struct {
	once sync.Once
	file *ast.File
	err  error
}

func newSources() *sources {
	return &sources{fset: token.NewFileSet(), files: make(map[extent]*source)}
}

// parse parses a file. Unless the whole file is wanted, it drops the bodies of functions.
func (s *sources) parse(name string, whole bool) (*ast.File, error) {
	s.mu.Lock()
	f := s.files[extent{name, whole}]
	if f == nil {
		f = new(source)
		s.files[extent{name, whole}] = f
	}
	s.mu.Unlock()
	f.once.Do(func() {
		f.file, f.err = parser.ParseFile(s.fset, name, nil, parser.SkipObjectResolution)
		if f.file == nil || whole {
			return
		}
		for _, d := range f.file.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				d.Body = nil
			}
		}
	})
	return f.file, f.err
}

// check checks the types of the packages in a scope, and of their tests, on a system. It
// returns what is wrong.
func check(ctx context.Context, files *sources, within scope, s system) (complaints []string, err error) {
	packages, err := list(ctx, within.dir, s)
	if err != nil {
		return nil, err
	}
	c := &checker{
		files: files, within: within, sizes: types.SizesFor("gc", s.arch),
		listed: make(map[string]*listed), known: make(map[string]*types.Package), checked: make(map[string]int),
	}
	for _, p := range packages {
		c.listed[p.ImportPath] = p
	}
	ours := 0
	for _, p := range packages {
		if p.generated() || !within.has(p) {
			continue
		}
		ours++
		if p.Error != nil {
			c.complaints = append(c.complaints, p.Error.Err)
		}
		c.types(p)
	}
	if ours == 0 {
		return nil, fmt.Errorf("no package of %s is compiled on %s", within.dir, s)
	}
	return c.complaints, ctx.Err()
}

// checker checks packages on one system, one after the other. A package that
// they import is checked when it is needed: one that only the main package of a test
// imports costs nothing.
type checker struct {
	files      *sources
	within     scope
	sizes      types.Sizes
	listed     map[string]*listed        // by their path
	known      map[string]*types.Package // by their path, which names the test they are compiled for
	checked    map[string]int            // how many files of a package were checked to the end
	complaints []string
}

// types returns the types of a package, which it checks the first time.
func (c *checker) types(p *listed) *types.Package {
	if c.known[p.ImportPath] == nil {
		c.check(p, c.within.has(p))
	}
	return c.known[p.ImportPath]
}

// check checks a package. It skips the bodies of functions in a package that is not ours,
// and in one that is compiled again for a test from the same files.
func (c *checker) check(p *listed, ours bool) {
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		f, err := c.files.parse(filepath.Join(p.Dir, name), ours)
		if err != nil && ours {
			c.complaints = append(c.complaints, err.Error())
		}
		if f != nil {
			parsed = append(parsed, f)
		}
	}
	again := c.checked[p.Dir] == len(parsed)
	conf := types.Config{
		Importer:         &importer{c, p.ImportMap},
		Sizes:            c.sizes,
		IgnoreFuncBodies: !ours || again,
		Error: func(err error) {
			if ours {
				c.complaints = append(c.complaints, err.Error())
			}
		},
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		conf.GoVersion = "go" + p.Module.GoVersion
	}
	// Errors were reported one by one.
	c.known[p.ImportPath], _ = conf.Check(p.ImportPath, c.files.fset, parsed, nil)
	if ours && p.ForTest == "" {
		c.checked[p.Dir] = len(parsed)
	}
}

// importer finds what a package imports among those that are listed.
type importer struct {
	*checker
	renamed map[string]string
}

func (i *importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if other := i.renamed[path]; other != "" {
		path = other
	}
	if p := i.listed[path]; p != nil {
		return i.types(p), nil
	}
	return nil, fmt.Errorf("%s is not among the packages", path)
}
