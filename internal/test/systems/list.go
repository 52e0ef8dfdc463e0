package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/claude-agent-go/claude/internal/release/platform"
)

// system is an operating system and an architecture.
type system struct{ os, arch string }

func (s system) String() string { return s.os + "/" + s.arch }

// systems are those that are supported.
func systems() (all []system) {
	for _, s := range platform.Supported() {
		all = append(all, system{s.OS, s.Arch})
	}
	return all
}

// listed is a package as the go command lists it. For a test there are more: the
// package with the files of its tests, and packages that are compiled again because
// they import that one.
type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	ImportMap  map[string]string
	ForTest    string
	Standard   bool
	Module     *struct {
		Path, Dir, GoVersion string
	}
	DepOnly bool
	Error   *struct{ Err string }
}

// generated reports whether a package is the main package of a test, which the go
// command writes.
func (p *listed) generated() bool { return strings.HasSuffix(p.ImportPath, ".test") }

// scope is the code that is checked to the last statement: the module in a folder,
// and what it imports of modules whose path begins with a prefix, if there is one.
// Of all other packages only the names matter.
type scope struct{ dir, prefix string }

// has reports whether a package is in the scope.
func (s scope) has(p *listed) bool {
	return p.Module != nil && (p.Module.Dir == s.dir || s.prefix != "" && strings.HasPrefix(p.Module.Path, s.prefix))
}

// list lists the packages of the module in dir, their tests, and whatever they import.
// What is imported comes first.
func list(ctx context.Context, dir string, s system) ([]*listed, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-e", "-deps", "-test",
		"-json=ImportPath,Dir,GoFiles,ImportMap,ForTest,Standard,Module,DepOnly,Error", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS="+s.os, "GOARCH="+s.arch, "CGO_ENABLED=0")
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	packages, err := decode(out)
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return nil, fmt.Errorf("go list in %s: %w\n%s", dir, err, complaint.String())
	}
	return packages, nil
}

func decode(r io.Reader) (packages []*listed, err error) {
	d := json.NewDecoder(r)
	for {
		p := new(listed)
		if err := d.Decode(p); err == io.EOF {
			return packages, nil
		} else if err != nil {
			return packages, err
		}
		packages = append(packages, p)
	}
}
