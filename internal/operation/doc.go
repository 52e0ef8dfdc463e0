// Package operation has the table of control operations: what a program can ask
// the CLI for over the control channel. Code that has to know all of them reads it:
// a session refuses what its CLI is too old for, the inspector decodes replies,
// and the tools that measure versions and compare SDKs walk through it.
package operation
