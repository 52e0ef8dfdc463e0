package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	only := flag.Bool("demo", false, "run only the demo")
	pkgs := flag.String("packages", ".,./internal/proc,./internal/private,./internal/scratch,./claudetest,./internal/test/wine", "test these `PACKAGES`, with commas between them")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	list := strings.Split(*pkgs, ",")
	if *only {
		list = nil
	}
	fine, err := run(ctx, os.Stdout, list)
	if err != nil {
		fmt.Fprintln(os.Stderr, "wine:", err)
	}
	if err != nil || !fine {
		os.Exit(1)
	}
}

// run runs the demo, and the tests of packages if there are any. It reports whether all
// is fine but what wine cannot do.
func run(ctx context.Context, w io.Writer, pkgs []string) (fine bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := install(ctx); err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "wine-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	begin := time.Now()
	m, err := newMachine(ctx, dir)
	if err != nil {
		return false, err
	}
	defer m.close(context.WithoutCancel(ctx))
	fmt.Fprintf(w, "a machine of wine: %.1f s\n", time.Since(begin).Seconds())
	took, err := m.demo(ctx)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(w, "claudectl.exe demo: %.1f s\n", took.Seconds())
	if len(pkgs) == 0 {
		return true, nil
	}
	begin = time.Now()
	res, err := m.test(ctx, pkgs, exceptions())
	if err != nil {
		return false, err
	}
	v := judge(res, exceptions())
	v.report(w, res, exceptions())
	fmt.Fprintf(w, "%s: %.0f s\n", strings.Join(pkgs, " "), time.Since(begin).Seconds())
	return len(v.ours) == 0, nil
}
