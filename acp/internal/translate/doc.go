// Package translate turns what the CLI says into what an editor shows: messages
// of package message into updates of the Agent Client Protocol. It is pure: a
// [Machine] takes messages one by one and returns the updates of each.
package translate
