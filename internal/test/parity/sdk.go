package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/claude-agent-go/claude/internal/test/npm"
	"github.com/claude-agent-go/claude/internal/test/officialsdk"
)

// declarations returns the declarations of each entry point of the official SDK, as
// its package.json names them: "." for the main one, "./bridge" and so on. The
// package is fetched by npm if it is not there.
func declarations(ctx context.Context) (map[string]string, error) {
	sdk := officialsdk.Package()
	dir, err := npm.Install(ctx, sdk)
	if err != nil {
		return nil, err
	}
	about, err := os.ReadFile(sdk.Path(dir, "package.json"))
	if err != nil {
		return nil, err
	}
	var pkg struct {
		Exports map[string]struct{ Types string }
	}
	if err := json.Unmarshal(about, &pkg); err != nil {
		return nil, err
	}
	all := make(map[string]string)
	for entry, files := range pkg.Exports {
		text, err := os.ReadFile(sdk.Path(dir, files.Types))
		if err != nil {
			return nil, fmt.Errorf("entry point %s: %w", entry, err)
		}
		all[entry] = string(text)
	}
	return all, nil
}
