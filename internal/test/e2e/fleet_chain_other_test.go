//go:build !linux

package e2e

// playChainWorker has nothing to do: bubblewrap needs Linux.
func playChainWorker() {}
