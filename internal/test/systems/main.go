package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	only := flag.String("only", "", "check only `SYSTEM`, such as windows/amd64")
	root := flag.String("C", ".", "the `FOLDER` whose modules are checked")
	with := flag.String("with", "", "check also what they import of modules whose path begins with `PATH`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	some := systems()
	if *only != "" {
		some = slices.DeleteFunc(some, func(s system) bool { return s.String() != *only })
	}
	mods, err := modules(*root)
	if err == nil && len(some) == 0 {
		err = fmt.Errorf("%s is not one of %v", *only, systems())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "systems:", err)
		os.Exit(1)
	}
	if !checkAll(ctx, os.Stdout, mods, some, *with) {
		os.Exit(1)
	}
}

// modules lists the folders of the modules in root. That of the tools has no package.
func modules(root string) (dirs []string, err error) {
	root, err = filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "tools"):
			return filepath.SkipDir
		case d.Name() == "go.mod":
			dirs = append(dirs, filepath.Dir(path))
		}
		return nil
	})
	return dirs, err
}

// checkAll checks all modules on all systems, with what they import of others whose path
// begins with the prefix. It prints what is wrong, and a line for each system.
func checkAll(ctx context.Context, w io.Writer, mods []string, some []system, with string) bool {
	files, fine := newSources(), true
	var mu sync.Mutex
	var wait sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, s := range some {
		wait.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			begin := time.Now()
			var complaints []string
			for _, dir := range mods {
				some, err := check(ctx, files, scope{dir, with}, s)
				if err != nil {
					some = append(some, err.Error())
				}
				complaints = append(complaints, some...)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, c := range complaints {
				fmt.Fprintf(w, "%s: %s\n", s, c)
			}
			fine = fine && len(complaints) == 0
			fmt.Fprintf(w, "%-14s %d modules, %d errors, %.0f s\n", s, len(mods), len(complaints), time.Since(begin).Seconds())
		})
	}
	wait.Wait()
	return fine
}
