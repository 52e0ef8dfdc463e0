// Package e2e holds the tests of the SDK with the real CLI. Each starts it in a
// home of its own, with a scripted model on loopback behind it: they show what
// the CLI does, not what we believe. They are named TestReal, so that one pattern
// runs them all, in every package.
package e2e
