package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/release/platform"
)

func main() {
	version := flag.String("version", "", "the `version` to release, such as 0.2.0")
	write := flag.Bool("write", false, "write the files that change")
	out := flag.String("binaries", "", "build claudectl of the tree's own version for all systems into a new `folder`")
	only := flag.String("only", "", "the `systems` to build for, such as linux/amd64,darwin/arm64; all by default")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := errors.New("-version or -binaries is needed, see go doc ./internal/release")
	switch {
	case *out != "":
		var systems []platform.Platform
		if systems, err = chosen(*only); err == nil {
			err = binaries(ctx, os.Stdout, ".", *out, systems)
		}
	case *version != "":
		err = run(os.Stdout, ".", *version, *write)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		stop()
		os.Exit(1)
	}
}

// chosen returns the systems in a list, all of them if it is empty.
func chosen(list string) ([]platform.Platform, error) {
	if list == "" {
		return platform.Supported(), nil
	}
	var some []platform.Platform
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(platform.Supported(), func(p platform.Platform) bool { return p.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("%s is not one of %v", name, platform.Supported())
		}
		some = append(some, platform.Supported()[i])
	}
	return some, nil
}

// run prints the plan for the repository in root and, if asked, writes its files.
func run(w io.Writer, root, version string, write bool) error {
	tags, err := exec.Command("git", "-C", root, "tag", "--list").Output()
	if err != nil {
		return fmt.Errorf("git tag: %w", err)
	}
	p, err := prepare(os.DirFS(root), version, time.Now(), strings.Fields(string(tags)))
	if err != nil {
		return err
	}
	if err := p.compareAPI(root, version, strings.Fields(string(tags))); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(p.edits)) {
		fmt.Fprintln(w, "changes", name)
	}
	for _, problem := range p.problems {
		fmt.Fprintln(w, "in the way:", problem)
	}
	if len(p.problems) > 0 {
		return fmt.Errorf("%s cannot be released yet", version)
	}
	if write {
		for name, text := range p.edits {
			if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	fmt.Fprint(w, p.next(version, write))
	return nil
}

// compareAPI adds the problems of a version that breaks programs although its number
// promises not to.
func (p *plan) compareAPI(root, version string, tags []string) error {
	before := previous(tags, version)
	if before == "" {
		return nil
	}
	was, err := exec.Command("git", "-C", root, "show", "v"+before+":"+apiFile).Output()
	if err != nil {
		return fmt.Errorf("git show v%s:%s: %w", before, apiFile, err)
	}
	is, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(apiFile)))
	if err != nil {
		return err
	}
	page, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(stabilityFile)))
	if err != nil {
		return err
	}
	kept, err := readPromise(string(page))
	if err != nil {
		return err
	}
	p.problems = append(p.problems, kept.objections(before, version, breaks(string(was), string(is)))...)
	return nil
}

// next are the commands that follow. All tags are pushed at once: a module whose
// requirement has no tag yet cannot be downloaded.
func (p *plan) next(version string, written bool) string {
	var b strings.Builder
	if len(p.edits) > 0 && !written {
		fmt.Fprintf(&b, "\nNothing is written yet: add -write. Then:\n")
	}
	fmt.Fprintf(&b, "\n.ci/run\n")
	if len(p.edits) > 0 {
		fmt.Fprintf(&b, "git commit -am 'Release %s'\n", version)
	}
	for _, tag := range p.tags {
		fmt.Fprintf(&b, "git tag -a %s -m %s\n", tag, tag)
	}
	fmt.Fprintf(&b, "git push --atomic origin HEAD %s\n", strings.Join(p.tags, " "))
	return b.String()
}
