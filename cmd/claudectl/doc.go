// Claudectl drives the Claude Code CLI from a shell, shows what is going on
// between the CLI and an SDK, and plays the CLI where there is none.
//
//	claudectl demo                  a whole session with a simulated agent
//	claudectl run "Fix the test"    a prompt to the real one
//	claudectl doctor                what is installed, and whether it works
//	claudectl record -- claude      what an SDK and the CLI say to each other
//	claudectl inspect FILE          the same, for people
//	claudectl fake session.json     a scripted CLI for SDKs of any language
//	claudectl parity                what this build offers of the official SDKs
//	claudectl completion bash       completion for bash, zsh or fish
//	claudectl versions              what it knows of versions of the CLI
//
// # How it is built
//
// Each command is a file with a struct that kong fills and a method Run. What a
// command has of the world comes in a console: streams, environment, the wish
// for JSON. So every command runs in a test as it does in a shell, and nothing
// but main touches the process.
//
// A command that fails returns an error; run prints it as one line and exit.go
// turns it into an exit code. Text that somebody else wrote, a model, a tool or
// a file, is printed by the console alone, which takes out secrets and shows
// control characters instead of sending them.
package main
