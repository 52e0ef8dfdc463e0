// Package harness has what the root package's tests and those with the real CLI
// ([internal/test/e2e]) both need: an MCP server made of one function, a
// description of a stream, a logger, a program made of a shell script.
package harness
