// Package restore writes a session that is in a store into a configuration
// directory, from which the CLI resumes it: under any working directory, home
// and machine.
//
// # What is written
//
// The transcript is written byte for byte, since the model's prompt cache
// depends on every byte, with those of the session's subagents beside it, where
// the CLI looks for them. The user's own configuration directory contributes the
// few files that make the CLI behave as usual: its state, the settings, and the
// credentials without the refresh token. A token can be refreshed once; a copy
// that did so would sign out the user. A CLI whose key is held by a proxy gets the
// settings only, without what signs in.
//
// # Copies
//
// [Source.Copy] and [Source.Save] copy whole sessions between a store and the
// configuration directory of a user, for people who begin to use a store, or
// stop. Neither overwrites anything.
//
// # Trust
//
// A store may be damaged, or written by others. Nothing is written outside the
// directory, whatever names the store gives, and an entry that is not one line of
// JSON, or that follows its own successor, is an error. A session is resumed
// whole or not at all: later, a gap in the middle would go unnoticed.
package restore
