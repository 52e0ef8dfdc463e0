// Package realcli gives tests the real Claude Code CLI at a pinned version,
// and an environment in which it touches neither an account nor the network.
//
// # Installing
//
// A CLI is installed from npm into <module root>/.cache/claude-code/<version>,
// which git ignores:
//
//	go run ./internal/test/realcli/install            # the pinned version
//	go run ./internal/test/realcli/install 1.0.63     # any other
//
// Newer versions are published as one native binary per platform, in packages
// named @anthropic-ai/claude-code-<os>-<arch>. Older ones, such as 1.0.63, 2.0.0
// and 2.1.0, exist only as @anthropic-ai/claude-code, whose cli.js runs on
// node. [Install] tries the first and falls back to the second, so a caller
// gets a path to execute and need not know which it was.
//
// An installation appears in its folder by one rename, so a folder that exists
// is complete. Test binaries that install at the same time wait for each
// other; where the system offers no file lock, the one that finishes last
// throws its copy away.
//
// # Using
//
// [Need] returns the path, for tests of the long level: see package long. A CLI that
// is missing is installed. [Env] is the environment to run it in.
//
// Tests run with the newest version, or with the one that the environment
// variable CLAUDE_CLI_VERSION names: see [Tested]. A test that shows something
// newer begins with [Needs], and does not apply to older ones.
//
// The package takes a small [TB] instead of testing.TB because its install
// command must not link the testing package.
package realcli
