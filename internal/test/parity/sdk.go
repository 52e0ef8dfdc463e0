package main

import (
	"context"
	"errors"
	"os"

	"github.com/claude-agent-go/claude/internal/test/npm"
	"github.com/claude-agent-go/claude/internal/test/officialsdk"
)

var errNotInstalled = errors.New("needs " + officialsdk.Name + ": go run ./internal/test/parity")

// declarations returns the text of sdk.d.ts. It is fetched by npm if it is not
// there and install is set.
func declarations(ctx context.Context, install bool) (string, error) {
	sdk := officialsdk.Package()
	dir, installed, err := npm.Find(sdk)
	if err == nil && !installed {
		if !install {
			return "", errNotInstalled
		}
		dir, err = npm.Install(ctx, sdk)
	}
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(sdk.Path(dir, "sdk.d.ts"))
	return string(text), err
}
