// Package conformance tests the scripted CLI with a client that is not ours, the
// official TypeScript SDK. It has tests only.
//
//	LONG_TESTS=1 go test -v -run TestConformance ./internal/test/conformance
//
// installs the SDK from npm at a pinned version, builds the scripted CLI and
// runs the scenarios of suite.mjs, each a session of the SDK with it. The table
// of scenarios and outcomes is printed.
package conformance
