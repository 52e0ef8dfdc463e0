// Package translate turns messages of the CLI (package message) into the
// updates of the Agent Client Protocol that editors show. It is pure: a
// [Machine] takes messages one by one and returns the updates of each.
package translate
