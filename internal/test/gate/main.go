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
	lanes, err := suite(ctx, ".")
	if err != nil {
		fmt.Println("FAILED:", err)
		os.Exit(1)
	}
	if !gate(ctx, os.Stdout, lanes) {
		os.Exit(1)
	}
}

// gate runs and judges the tests.
func gate(ctx context.Context, w io.Writer, lanes [][]run) bool {
	return judge(w, all(ctx, lanes, w))
}
