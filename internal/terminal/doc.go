// Package terminal makes text that others wrote safe to print, and knows whether
// a stream is a terminal.
//
// The text of an agent, the output of a tool and the name of a file are
// untrusted. A terminal obeys control characters in such text: they move the
// cursor, rename the window, put text into the clipboard or hide half of the
// command that a person is asked to approve. [Clean] and [Line] show such
// characters instead of sending them; [JSON] escapes them.
//
// A program that colours its output adds its own sequences after cleaning,
// never before.
package terminal
