package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/claude-agent-go/claude/internal/test/officialsdk"
)

var errNotInstalled = errors.New("needs " + officialsdk.Package + ": go run ./internal/test/parity")

// declarations returns the text of sdk.d.ts, from the cache below the root of
// the module. It is fetched by npm if it is not there and install is set.
func declarations(ctx context.Context, root string, install bool) (string, error) {
	if _, installed := officialsdk.Find(root); !installed && !install {
		return "", errNotInstalled
	}
	dir, err := officialsdk.Install(ctx, root)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(dir, "node_modules", filepath.FromSlash(officialsdk.Package), "sdk.d.ts"))
	return string(text), err
}
