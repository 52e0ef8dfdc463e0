module github.com/claude-agent-go/claude

go 1.26.0

require (
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3
	github.com/google/jsonschema-go v0.4.3
	golang.org/x/sys v0.49.0
)
