// Command knots measures how easily a reader can take this repository in, so that
// its shape is a number that a change can be held to:
//
//   - Types: how many methods each has, and over how many files they are spread.
//   - Knots: the largest set of files of a package in which each file refers,
//     directly or by way of others, to all the rest (a strongly connected component).
//     Anyone who changes one of them must know them all.
//   - Public names: types, functions, constants, variables and methods that programs
//     can use, fields aside.
//   - Lines of code outside tests.
//
// It looks at every module of the repository, and counts as Go does for this system:
// tests and files of other systems are left out.
//
//	go run ./internal/test/knots          the largest of each
//	go run ./internal/test/knots -all     everything
//	go run ./internal/test/knots ./fleet  some packages of the module here
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// shown is how many types and packages are printed without -all.
const shown = 15

func main() {
	all := flag.Bool("all", false, "print every type and package, not only the largest")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, flag.Args(), *all); err != nil {
		fmt.Fprintln(os.Stderr, "knots:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, patterns []string, all bool) error {
	modules := []string{"."}
	if len(patterns) == 0 {
		patterns = []string{"./..."}
		var err error
		if modules, err = moduleDirs("."); err != nil {
			return err
		}
	}
	var packages []shape
	for _, dir := range modules {
		found, err := measure(ctx, dir, patterns)
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		packages = append(packages, found...)
	}
	print(out, packages, all)
	return nil
}

// moduleDirs returns the folders of all modules of a repository, in order.
func moduleDirs(root string) ([]string, error) {
	dirs := []string{root}
	for _, depth := range []string{"*", filepath.Join("*", "*")} {
		files, err := filepath.Glob(filepath.Join(root, depth, "go.mod"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			dirs = append(dirs, filepath.Dir(file))
		}
	}
	slices.Sort(dirs)
	return dirs, nil
}

// print writes the figures as tables, the largest first.
func print(out io.Writer, packages []shape, all bool) {
	var types []methods
	var names, lines, tests int
	for _, p := range packages {
		types = append(types, p.types...)
		if !p.inside {
			names += p.names
		}
		if p.testing {
			tests += p.lines
		} else {
			lines += p.lines
		}
	}
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	defer table.Flush()

	slices.SortStableFunc(types, func(a, b methods) int { return cmp.Compare(b.count, a.count) })
	fmt.Fprintf(table, "TYPE\tMETHODS\tPUBLIC\tFILES\n")
	for _, t := range head(types, all) {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\n", t.name, t.count, t.public, t.files)
	}

	slices.SortStableFunc(packages, func(a, b shape) int { return cmp.Compare(len(b.knot), len(a.knot)) })
	fmt.Fprintf(table, "\nPACKAGE\tFILES\tIN THE KNOT\tLINES\n")
	for _, p := range head(packages, all) {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\n", p.name, p.files, len(p.knot), p.lines)
		if all && len(p.knot) > 1 {
			fmt.Fprintf(table, "\t%s\n", strings.Join(p.knot, " "))
		}
	}

	public := slices.DeleteFunc(slices.Clone(packages), func(p shape) bool { return p.inside || p.names == 0 })
	slices.SortStableFunc(public, func(a, b shape) int { return cmp.Compare(b.names, a.names) })
	fmt.Fprintf(table, "\nPACKAGE\tPUBLIC NAMES\n")
	for _, p := range head(public, all) {
		fmt.Fprintf(table, "%s\t%d\n", p.name, p.names)
	}
	fmt.Fprintf(table, "\npublic names in all\t%d\nlines of code\t%d\nlines of packages for tests\t%d\n", names, lines, tests)
}

func head[E any](list []E, all bool) []E {
	if all || len(list) <= shown {
		return list
	}
	return list[:shown]
}
