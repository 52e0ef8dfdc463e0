// Package conformance holds the scripted CLI against a client that is not ours:
// the official TypeScript SDK. It has tests only.
//
//	CI=true go test -v -run TestConformance ./conformance
//
// installs the SDK from npm at a pinned version, builds the scripted CLI and
// runs the scenarios of suite.mjs, each a session of the SDK with it. The table
// of scenarios and outcomes is printed.
package conformance
