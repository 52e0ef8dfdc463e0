// Schemagen writes the Go types of the Agent Client Protocol from its JSON
// Schema, which the npm package of the protocol's own SDK carries:
//
//	go run ./acp/internal/schemagen
//
// The schema is fetched when the types are generated and is not committed.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/claude-agent-go/claude/internal/test/npm"
)

// output is the generated file, below the root of the module.
const output = "internal/acp/schema/types.go"

// sdk is the package that carries the schema.
func sdk() npm.Package {
	return npm.Package{Name: "@agentclientprotocol/sdk", Version: "2.4.0", Has: "schema/v1/schema.json"}
}

func main() {
	if err := write(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "schemagen:", err)
		os.Exit(1)
	}
}

func write(ctx context.Context) error {
	dir, err := npm.Install(ctx, sdk())
	if err != nil {
		return err
	}
	code, err := generated(dir)
	if err != nil {
		return err
	}
	root, err := npm.Root()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, filepath.FromSlash(output)), code, 0o644)
}

// generated returns the types for the schema of an installed package.
func generated(dir string) ([]byte, error) {
	data, err := os.ReadFile(sdk().Path(dir, sdk().Has))
	if err != nil {
		return nil, err
	}
	return Generate(data, sdk().Name+" "+sdk().Version)
}
