package officialsdk

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Package is the name of the SDK in npm.
const Package = "@anthropic-ai/claude-agent-sdk"

// Version is the one whose CLI the project is tested with.
const Version = "0.3.325"

// Find returns the folder whose node_modules hold the SDK, below the root of
// the module, and whether it is installed there.
func Find(root string) (dir string, installed bool) {
	dir = filepath.Join(root, ".cache", "claude-agent-sdk", Version)
	_, err := os.Stat(filepath.Join(dir, "node_modules", filepath.FromSlash(Package), "sdk.mjs"))
	return dir, err == nil
}

// Install returns the folder of Find. The SDK is fetched by npm unless it is
// there already. Several processes may install at once.
func Install(ctx context.Context, root string) (dir string, err error) {
	if root, err = filepath.Abs(root); err != nil { // npm runs elsewhere
		return "", err
	}
	dir, installed := Find(root)
	if installed {
		return dir, nil
	}
	if err := fetch(ctx, dir); err != nil {
		return "", fmt.Errorf("install %s %s: %w", Package, Version, err)
	}
	return dir, nil
}

func fetch(ctx context.Context, dir string) error {
	cache := filepath.Dir(dir)
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(cache, ".gitignore"), []byte("*\n"), 0o644); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(cache, Version+".tmp-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	// The optional packages hold the CLI itself, which is not needed.
	npm := exec.CommandContext(ctx, "npm", "install", "--prefix", tmp, "--no-save", "--ignore-scripts",
		"--no-audit", "--no-fund", "--omit=optional", Package+"@"+Version)
	npm.Dir = tmp
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install: %w\n%s", err, out)
	}
	if err := os.Rename(tmp, dir); err != nil {
		if _, missing := os.Stat(dir); missing != nil { // another process may have been faster
			return err
		}
	}
	return nil
}
