package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// library is code of others in the program: a module, or Go's standard library.
type library struct {
	path, version string
	sum           string // of go.sum, "" for the standard library
	licence       string // by its SPDX identifier
	texts         []string
}

// standardLibrary is the name of the one that comes with Go itself.
const standardLibrary = "stdlib"

// linked returns the libraries of a program by its build information, with their licences
// from the module cache. A library without one that is known is an error: it could not be
// passed on.
func linked(ctx context.Context, root string, info *debug.BuildInfo) ([]library, error) {
	goroot, err := goOutput(ctx, root, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	std := library{path: standardLibrary, version: strings.TrimPrefix(info.GoVersion, "go")}
	if err := std.read(strings.TrimSpace(goroot)); err != nil {
		return nil, err
	}
	dirs, err := moduleDirs(ctx, root)
	if err != nil {
		return nil, err
	}
	parts := []library{std}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			return nil, fmt.Errorf("%s is replaced: nobody else could build this", dep.Path)
		}
		p := library{path: dep.Path, version: dep.Version, sum: dep.Sum}
		if err := p.read(dirs[dep.Path+"@"+dep.Version]); err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)(\..*)?$`)

// read finds the licence of a library in its folder.
func (p *library) read(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", p.path, err)
	}
	for _, f := range files {
		if f.IsDir() || !licenceFile.MatchString(f.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		p.texts = append(p.texts, string(text))
		if id := licenceOf(string(text)); p.licence == "" {
			p.licence = id
		}
	}
	if p.licence == "" {
		return fmt.Errorf("%s %s has no licence that is known", p.path, p.version)
	}
	return nil
}

// licencePhrases tell licences apart by words that only they have. The order matters:
// a text for several licences begins with the one for new code.
var licencePhrases = []struct{ id, phrase string }{
	{"Apache-2.0", "apache license version 2.0"},
	{"MPL-2.0", "mozilla public license version 2.0"},
	{"BSD-3-Clause", "neither the name of"},
	{"BSD-2-Clause", "redistributions in binary form must reproduce"},
	{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose"},
	{"ISC", "permission to use, copy, modify, and distribute this software for any purpose with or without fee is hereby granted"},
	{"MIT", "permission is hereby granted, free of charge"},
}

// licenceOf returns the SPDX identifier of a text, "" if it is not known. Licences that
// ask users to publish their programs are not in the list on purpose.
func licenceOf(text string) string {
	words := strings.ToLower(strings.Join(strings.Fields(text), " "))
	words = strings.NewReplacer("license, version", "license version").Replace(words)
	for _, l := range licencePhrases {
		if strings.Contains(words, l.phrase) {
			return l.id
		}
	}
	return ""
}

// licenceTexts are the texts that must be passed on with the program.
func licenceTexts(parts []library) string {
	var b strings.Builder
	b.WriteString("claudectl contains code of others, under these licences.\n")
	rule := strings.Repeat("=", 80)
	for _, p := range parts {
		fmt.Fprintf(&b, "\n%s\n%s %s (%s)\n%s\n\n%s", rule, p.path, p.version, p.licence, rule, strings.Join(p.texts, "\n"))
	}
	return b.String()
}

// moduleDirs are the folders of all modules that the root module needs, by path and
// version.
func moduleDirs(ctx context.Context, root string) (map[string]string, error) {
	if _, err := goOutput(ctx, root, "mod", "download"); err != nil {
		return nil, err
	}
	out, err := goOutput(ctx, root, "list", "-m", "-json", "all")
	if err != nil {
		return nil, err
	}
	dirs := make(map[string]string)
	for d := json.NewDecoder(strings.NewReader(out)); ; {
		var m struct{ Path, Version, Dir string }
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			return dirs, nil
		} else if err != nil {
			return nil, err
		}
		dirs[m.Path+"@"+m.Version] = m.Dir
	}
}

// goOutput runs the go command in a folder.
func goOutput(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(slices.Clone(os.Environ()), "GOWORK=off", "GOFLAGS=")
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, complaint.String())
	}
	return string(out), nil
}
