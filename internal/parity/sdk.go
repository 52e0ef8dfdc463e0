package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const (
	sdkPackage = "@anthropic-ai/claude-agent-sdk"
	// sdkVersion is the one whose CLI the project is tested with.
	sdkVersion = "0.3.325"
)

var errNotInstalled = errors.New("needs " + sdkPackage + ": go run ./internal/parity")

// declarations returns the text of sdk.d.ts, from the cache below the root of
// the module. It is fetched by npm if it is not there and install is set.
func declarations(ctx context.Context, root string, install bool) (string, error) {
	cache := filepath.Join(root, ".cache", "claude-agent-sdk")
	path := filepath.Join(cache, sdkVersion, "node_modules", filepath.FromSlash(sdkPackage), "sdk.d.ts")
	text, err := os.ReadFile(path)
	if err == nil || !errors.Is(err, os.ErrNotExist) {
		return string(text), err
	}
	if !install {
		return "", errNotInstalled
	}
	if err := fetch(ctx, cache); err != nil {
		return "", fmt.Errorf("install %s %s: %w", sdkPackage, sdkVersion, err)
	}
	text, err = os.ReadFile(path)
	return string(text), err
}

// fetch installs the package. It appears in its folder by one rename, so that
// a folder that exists is complete.
func fetch(ctx context.Context, cache string) error {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(cache, ".gitignore"), []byte("*\n"), 0o644); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(cache, sdkVersion+".tmp-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	// The optional packages hold the CLI itself, which is not needed here.
	npm := exec.CommandContext(ctx, "npm", "install", "--prefix", tmp, "--no-save", "--ignore-scripts",
		"--no-audit", "--no-fund", "--omit=optional", sdkPackage+"@"+sdkVersion)
	npm.Dir = tmp
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	dir := filepath.Join(cache, sdkVersion)
	if err := os.Rename(tmp, dir); err != nil {
		if _, missing := os.Stat(dir); missing != nil { // another process may have been faster
			return err
		}
	}
	return nil
}
