package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// runProgram builds a program of another module, which links what this one does not,
// runs it, and decodes the JSON object that it prints.
func runProgram(ctx context.Context, module, pkg string, report any, args ...string) error {
	dir, err := os.MkdirTemp("", "bench-program-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "program")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, pkg)
	build.Dir = module
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", pkg, err)
	}
	if err := json.Unmarshal(out, report); err != nil {
		return fmt.Errorf("%s printed %.200q: %w", pkg, out, err)
	}
	return nil
}
