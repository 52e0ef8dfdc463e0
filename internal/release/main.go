package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	version := flag.String("version", "", "the `version` to release, such as 0.2.0")
	write := flag.Bool("write", false, "write the files that change")
	flag.Parse()
	if err := run(os.Stdout, ".", *version, *write); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
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
