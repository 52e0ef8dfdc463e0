package main

import (
	"context"
	"os"

	"github.com/claude-agent-go/claude/internal/test/npm"
	"github.com/claude-agent-go/claude/internal/test/officialsdk"
)

// declarations returns the text of sdk.d.ts. It is fetched by npm if it is not
// there.
func declarations(ctx context.Context) (string, error) {
	sdk := officialsdk.Package()
	dir, err := npm.Install(ctx, sdk)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(sdk.Path(dir, "sdk.d.ts"))
	return string(text), err
}
