// Package schema has the types of the Agent Client Protocol, version 1: what
// editors and agents say to each other.
//
// The types are generated from the stable schema of the protocol; package
// [github.com/claude-agent-go/claude/acp] speaks it. Every object keeps the
// members that it does not know in Extra and writes them again. An object that
// is one of several has a pointer for each of them. Sets of words are open: a
// value without a constant stays as it is.
//
// All types are plain values: several goroutines may read one, and nothing in
// this package keeps a reference to it.
package schema

//go:generate go run github.com/claude-agent-go/claude/acp/internal/schemagen
