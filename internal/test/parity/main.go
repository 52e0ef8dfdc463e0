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
)

func main() {
	write := flag.Bool("write", false, "write docs/parity.md")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *write); err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, write bool) error {
	page, problems, err := compare(ctx, ".")
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "\n"))
	}
	if write {
		return os.WriteFile(filepath.Join("docs", "parity.md"), []byte(page), 0o644)
	}
	return nil
}

// compare reads both sides, from the root of the module.
func compare(ctx context.Context, root string) (page string, problems []string, err error) {
	text, err := declarations(ctx)
	if err != nil {
		return "", nil, err
	}
	theirs, err := readSurface(text)
	if err != nil {
		return "", nil, err
	}
	ours, err := readSource(os.DirFS(root))
	if err != nil {
		return "", nil, err
	}
	page, problems = report(theirs, ours)
	return page, problems, nil
}
