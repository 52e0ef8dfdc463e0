// Package feed passes on what happens to watchers, each at its own pace. What waits for a
// watcher is bounded: a slow one learns that it has missed something, and nothing ever
// waits for it.
package feed
