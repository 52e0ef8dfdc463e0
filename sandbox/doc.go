// Package sandbox runs the whole CLI somewhere else than in a plain child process:
// in a sandbox of its own, or on another machine. Options.Sandbox, in contrast, is the CLI's own sandbox
// around the commands of its Bash tool.
//
// Each form is a [claude.Transport]. The CLI, its shell commands and the MCP servers
// that it starts run inside. Hooks, permission callbacks, policies and in-process
// tools still run in your program, outside: that is the point. The program that
// decides is out of reach of the one it decides about.
//
//	opts := &claude.Options{
//		Cwd:       work,
//		Transport: &sandbox.Bubblewrap{Helper: helper},
//	}
//
// # What is inside a sandbox
//
// The root directory is read-only and has the system's programs, not your home.
// The working directory is there under its own path and can be written. The files of the launch
// ([claude.Launch.Files]) lie in /run/claude. The home directory and /tmp are empty,
// and are gone when the CLI ends. The CLI runs as a user without rights, sees only
// its own processes, and has no network.
//
// Of the environment, only the variables that a CLI needs are passed on: see
// [Environment]. Values travel by inheritance, never on a command line, where every
// user of the machine could read them.
//
// # The API
//
// Without a network the CLI still has to reach the API. If ANTHROPIC_BASE_URL names
// a port of this machine's loopback interface, as it does with the proxy of package egress, the
// form carries connections to that port, and to no other, through a unix socket. A helper
// inside listens on the same port: see [Init].
//
// # Another machine
//
// [SSH] starts the CLI on another machine, through the same helper. The files of the
// launch and the secrets in its environment travel over the connection's standard input,
// not on a command line. A connection that is cut, or silent for six seconds, ends the
// CLI there with everything it has started.
package sandbox
