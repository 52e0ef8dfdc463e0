package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// pinned are the versions that are measured.
func pinned() []string { return append([]string{"1.0.59"}, realcli.Pinned()...) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	whole := flag.Bool("suite", false, "run the tests with the real CLI and write docs/suite.md")
	flag.Parse()
	do := run
	if *whole {
		do = runSuite
	}
	if err := do(ctx, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, versions []string) error {
	write := len(versions) == 0
	if write {
		versions = pinned()
	}
	var all []*measured
	for _, version := range versions {
		path, err := realcli.Install(ctx, version, os.Stderr)
		if err != nil {
			return err
		}
		m, err := measure(ctx, version, path)
		if err != nil {
			return fmt.Errorf("%s: %w", version, err)
		}
		all = append(all, m)
	}
	page := render(all)
	if !write {
		_, err := fmt.Print(page)
		return err
	}
	return os.WriteFile(filepath.Join("docs", "compatibility.md"), []byte(page), 0o644)
}

// runSuite writes the page also when tests have failed, for it shows them.
func runSuite(ctx context.Context, versions []string) error {
	write := len(versions) == 0
	if write {
		versions = realcli.Pinned()
	}
	page, err := suite(ctx, versions)
	switch {
	case page == "":
		return err
	case !write:
		fmt.Print(page)
		return err
	}
	return errors.Join(err, os.WriteFile(filepath.Join("docs", "suite.md"), []byte(page), 0o644))
}

func render(all []*measured) string {
	var b strings.Builder
	b.WriteString("# What each version of the CLI can do\n\nMade by `go run ./internal/test/compat`, which starts each version with a scripted model and looks at what happens. \"yes\" was seen; \"-\" was not: the CLI refused it, ignored it or never answered; \"?\" took too long to tell.\n")
	features, operations := probes(), operations()
	table(&b, "Features", "feature", all, func(yield func(string, func(*measured) string) bool) {
		for _, p := range features {
			if !yield(p.name, func(m *measured) string { return m.features[p.name] }) {
				return
			}
		}
	})
	table(&b, "Control operations", "request", all, func(yield func(string, func(*measured) string) bool) {
		for _, op := range operations {
			if !yield("`"+op.Subtype+"`", func(m *measured) string { return m.operations[op.Subtype] }) {
				return
			}
		}
	})
	return b.String()
}

func table(b *strings.Builder, title, what string, all []*measured, rows func(func(string, func(*measured) string) bool)) {
	fmt.Fprintf(b, "\n## %s\n\n| %s |", title, what)
	for _, m := range all {
		fmt.Fprintf(b, " %s |", m.version)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(all)) + "\n")
	for name, value := range rows {
		fmt.Fprintf(b, "| %s |", name)
		for _, m := range all {
			fmt.Fprintf(b, " %s |", value(m))
		}
		b.WriteString("\n")
	}
}
