package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	stages, err := suite(ctx, ".")
	if err != nil {
		fmt.Println("FAILED:", err)
		os.Exit(1)
	}
	if !gate(ctx, os.Stdout, stages) {
		os.Exit(1)
	}
}

// gate runs and judges the tests.
func gate(ctx context.Context, w io.Writer, stages [][]run) bool {
	res := all(ctx, stages, w)
	return judge(w, res, func(id testID) bool { return alone(ctx, w, res.of[id.pkg], id) })
}

// alone runs one test three times, as r does but without any others.
func alone(ctx context.Context, w io.Writer, r run, id testID) bool {
	res := r.test(ctx, "-count=3", "-timeout=10m", "-run=^"+id.name+"$", id.pkg)
	for _, bad := range append(res.died(), res.tests("fail")...) {
		for _, line := range res.output[bad] {
			fmt.Fprint(w, line)
		}
	}
	return len(res.broken) == 0 && !res.explained() && !res.raced && res.outcome[id] == "pass"
}
