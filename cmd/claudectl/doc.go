// Claudectl drives the Claude Code CLI from a shell, shows what the CLI and an
// SDK say to each other, and can play the CLI itself.
//
//	claudectl demo                  a whole session with a simulated agent
//	claudectl run "Fix the test"    a prompt to the real one
//	claudectl sessions list         the conversations on this machine, or in a store
//	claudectl serve --demo          a web page with an inbox for approvals
//	claudectl doctor                what is installed, and whether it works
//	claudectl record -- claude      what an SDK and the CLI say to each other
//	claudectl inspect FILE          the same, for people
//	claudectl fake session.json     a scripted CLI for SDKs of any language
//	claudectl parity                what this build offers of the official SDKs
//	claudectl completion bash       completion for bash, zsh or fish
//	claudectl versions              what each version of the CLI can do
//
// # How it is built
//
// Each command is a file with a struct that kong fills and a method Run. It
// reaches the outside world only through a console: streams, environment,
// whether to print JSON. So every command runs in a test as it does in a shell,
// and only main touches the process.
//
// A command that fails returns an error; run prints it as one line and exit.go
// turns it into an exit code. Only the console prints text from models, tools
// and files: it removes secrets and shows control characters instead of sending
// them.
package main
