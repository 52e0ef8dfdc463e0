// Package officialsdk fetches the official TypeScript SDK from npm, at the
// version that this project is compared with.
//
// It is installed into <module root>/.cache/claude-agent-sdk/<version>, which
// git ignores, and appears there by one rename: a folder that exists is
// complete. The conformance tests run it against the scripted CLI, the parity
// report reads its declarations, the benchmarks race it.
package officialsdk
