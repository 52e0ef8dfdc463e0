// Package acp makes a Go program an agent that editors can use: it speaks the
// Agent Client Protocol, version 1, with Zed, JetBrains IDEs, Neovim, Emacs and
// others.
//
//	err := acp.Serve(ctx, acp.Stdio(), &acp.Local{Options: &claude.Options{…}})
//
// [Serve] speaks the protocol over one connection. It offers a [Backend]: [Local]
// starts a Claude Code CLI for each session, with your own tools, hooks and policies
// if you want, and the sessions of [Remote] are conversations of a server, shared with
// its page.
//
// Editors are not trusted: lines that cannot be read, unknown methods, requests
// out of order and prompts that overlap are answered with an error that says what
// to do, and never end the connection. When the editor is gone, all sessions are
// closed, and no process is left. A session can be loaded again afterwards, and
// asks again what was open: permissions are questions of package
// [github.com/claude-agent-go/claude/approval] and outlive both programs.
//
// Package [github.com/claude-agent-go/claude/acp/acptest] is an editor for tests.
package acp
