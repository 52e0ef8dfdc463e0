// Package officialsdk names the version of the official TypeScript SDK that this
// project is compared with. The conformance tests run it against the scripted
// CLI, the parity report reads its declarations, the benchmarks measure it.
package officialsdk
